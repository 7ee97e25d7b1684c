"""Labelled interactions as production would show them to the judge: redacted. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.checking.labelled import Labelled
from monitor.ingest.redaction.redactor import Redactor


def redacted(labelled: Iterable[Labelled], redactor: Redactor) -> list[Labelled]:
    """The same with tokens in texts and claims, alike in both; labels, ids and places stay."""
    return [_redacted(each, redactor) for each in labelled]


def _redacted(about: Labelled, redactor: Redactor) -> Labelled:
    if not redactor.is_on:
        return about
    claims = about.claims.model_copy(
        update={
            "response": tuple(map(redactor.text, about.claims.response)),
            "reference": tuple(map(redactor.text, about.claims.reference)),
        }
    )
    interaction = redactor.interaction(about.interaction)
    return about.model_copy(update={"interaction": interaction, "claims": claims})
