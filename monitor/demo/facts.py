"""The hand-written facts of the demo's made-up shop, read once from the package's own files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

LANGUAGES = ("en", "zh")
PHRASINGS = 4
"""Wordings that every fact has at least: one each for response, reference and passages."""

SLOT = "{v}"


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """Something that has one true value; each phrasing states a value in its slot.

    Compared by identity (a handbook is loaded once): traffic looks facts up all the time.
    Raises ``ValueError`` for fewer than ``PHRASINGS`` phrasings, fewer than two wrong values, a
    phrasing without exactly one slot, or values that are not all different.
    """

    id: str
    question: str
    value: str
    wrong: tuple[str, ...]
    phrasings: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a fact that traffic could not be made from."""
        values = (self.value, *self.wrong)
        if len(set(values)) < len(values) or len(values) < 3:
            raise ValueError(f"{self.id}: needs a value and two or more other wrong values")
        if len(set(self.phrasings)) < PHRASINGS:
            raise ValueError(f"{self.id}: needs {PHRASINGS} different phrasings")
        if any(phrasing.count(SLOT) != 1 for phrasing in self.phrasings):
            raise ValueError(f"{self.id}: every phrasing needs {SLOT} exactly once")


@dataclass(frozen=True, slots=True)
class Topic:
    """Facts that one passage may speak of together, and sentences that state none of them."""

    name: str
    facts: tuple[Fact, ...]
    fillers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Handbook:
    """All that the shop knows in one language."""

    language: str
    separator: str
    topics: tuple[Topic, ...]
    refusals: tuple[str, ...]
    archive_notes: tuple[str, ...]


@cache
def handbook(language: str) -> Handbook:
    """The facts in ``language`` (one of ``LANGUAGES``)."""
    if language not in LANGUAGES:
        raise ValueError(f"no facts in {language!r}, only in {', '.join(LANGUAGES)}")
    text = files("monitor.demo").joinpath(f"facts_{language}.yaml").read_text(encoding="utf-8")
    return _handbook(yaml.safe_load(text))


def _handbook(raw: dict[str, Any]) -> Handbook:
    return Handbook(
        language=raw["language"],
        separator=raw["separator"],
        topics=tuple(_topic(name, topic) for name, topic in raw["topics"].items()),
        refusals=tuple(raw["refusals"]),
        archive_notes=tuple(raw["archive_notes"]),
    )


def _topic(name: str, raw: dict[str, Any]) -> Topic:
    facts = tuple(_fact(key, fact) for key, fact in raw["facts"].items())
    return Topic(name=name, facts=facts, fillers=tuple(raw["fillers"]))


def _fact(key: str, raw: dict[str, Any]) -> Fact:
    return Fact(
        id=key,
        question=raw["question"],
        value=raw["value"],
        wrong=tuple(raw["wrong"]),
        phrasings=tuple(raw["phrasings"]),
    )
