"""Strings with and without what redaction looks for, and texts made of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from monitor.config import Settings
from monitor.ingest.redaction.redactor import RedactionRules, Redactor

#: Values and what may stand between them.
PIECES = (
    *("bob@example.com", "+49 30 901820", "030/901820", "4111 1111 1111 1111", "138 1234 5678"),
    *("DE89 3704 0044 0532 0130 00", "password: hunter2hunter2", "<EMAIL:3f2a91>", "sk-"),
    *(" ", ",", "-", ".", "(", "@", "+", "0", "17", "中", "a", "://", ":", "/", "\n", "<", ">"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=40)


STRINGS = Path(__file__).parents[1] / "data/redaction/strings.txt"
REDACTOR = Redactor(RedactionRules(regions=Settings().redaction.regions))
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
