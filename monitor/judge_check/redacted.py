"""Labelled interactions as production would show them to the judge: redacted. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from monitor.judge_check.labelled import Labelled
from monitor.records import Interaction


class Redacts(Protocol):
    """What puts tokens in the place of personal data; the same value gets the same token."""

    def text(self, text: str) -> str:
        """One text, redacted."""

    def interaction(self, found: Interaction) -> Interaction:
        """An interaction whose texts are redacted."""


def redacted(labelled: Iterable[Labelled], redactor: Redacts) -> list[Labelled]:
    """The same with tokens in texts and claims, alike in both; labels, ids and places stay."""
    return [_redacted(each, redactor) for each in labelled]


def _redacted(about: Labelled, redactor: Redacts) -> Labelled:
    claims = about.claims.model_copy(
        update={
            "response": tuple(map(redactor.text, about.claims.response)),
            "reference": tuple(map(redactor.text, about.claims.reference)),
        }
    )
    interaction = redactor.interaction(about.interaction)
    return about.model_copy(update={"interaction": interaction, "claims": claims})
