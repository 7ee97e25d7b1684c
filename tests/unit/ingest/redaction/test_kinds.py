"""What is found of each kind, and what only looks like it: precision and recall, value by value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from monitor.config import Settings
from monitor.ingest.redaction.redactor import Redactor, Rules

STRINGS = Path(__file__).parents[3] / "data/redaction/strings.txt"
REDACTOR = Redactor(Rules(regions=Settings().redaction.regions))
TOKEN = re.compile("(<[A-Z]+:[0-9a-f]{6}>)")
KINDS = ("email", "phone", "card", "iban", "key")


class String(NamedTuple):
    """A text, and the values of its kind in it; none where it only looks like that kind."""

    kind: str
    language: str
    text: str
    values: tuple[str, ...]


def strings() -> Iterator[String]:
    for line in STRINGS.read_text(encoding="utf-8").replace("¦", "").splitlines():
        if not line.startswith("#"):
            kind, language, text, values = (part.strip() for part in f"{line} ".split(" | ")[:4])
            yield String(kind, language, text, tuple(filter(None, values.split(";;"))))


ALL = tuple(strings())


def found(text: str) -> list[tuple[str, str]]:
    """Kind and value of all that is replaced, read off from what is left of the text."""
    parts = TOKEN.split(REDACTOR.text(text))
    pattern = "(.+?)".join(re.escape(part) for part in parts[::2])
    match = re.fullmatch(pattern, text, re.DOTALL)
    assert match
    kinds = [token[1:].partition(":")[0].lower() for token in parts[1::2]]
    return list(zip(kinds, match.groups(), strict=True))


class Counts(NamedTuple):
    """Of one kind over all strings: rightly found, wrongly found, missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed)


def counts(kind: str) -> Counts:
    """Over the strings of all kinds: an IBAN that is taken for a card counts against cards."""
    right = wrong = missed = 0
    for one in ALL:
        expected = Counter(one.values if one.kind == kind else ())
        given = Counter(value for each, value in found(one.text) if each == kind)
        right += (expected & given).total()
        wrong += (given - expected).total()
        missed += (expected - given).total()
    return Counts(right, wrong, missed)


def test_there_are_enough_strings() -> None:
    """At least 200, of each kind at least 12 with a value and 12 that only look like it."""
    assert len(ALL) >= 200
    assert {"en", "zh", "de", "fr", "es"} <= {one.language for one in ALL}
    for kind in KINDS:
        given = [bool(one.values) for one in ALL if one.kind == kind]
        assert min(sum(given), len(given) - sum(given)) >= 12, kind


@pytest.mark.parametrize("kind", KINDS)
def test_precision_and_recall(kind: str) -> None:
    """Both at least 0.95 for every kind; the figures stand in the output with -s."""
    figures = counts(kind)
    print(f"\n{kind:6} {figures} precision {figures.precision:.3f} recall {figures.recall:.3f}")
    assert figures.precision >= 0.95
    assert figures.recall >= 0.95


def test_the_page_shows_these_figures() -> None:
    """docs/redaction.md says what is measured here, and nothing better."""
    page = (Path(__file__).parents[4] / "docs/redaction.md").read_text(encoding="utf-8")
    assert f"[{len(ALL)} strings]" in page
    assert f"{sum(not one.values for one in ALL)} of them only look" in page
    for kind in KINDS:
        found = counts(kind)
        row = f"| `{kind}` | {found.right} | {found.wrong} | {found.missed} "
        assert f"{row}| {found.precision:.3f} | {found.recall:.3f} |" in page
