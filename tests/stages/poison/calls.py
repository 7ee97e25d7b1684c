"""Whose calls they are that a judge gets: every question bears the mark of its interaction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property

from aiohttp import web

from tests.servers.judge_labels import Labels

_MARK = re.compile(r"\[\[([a-z0-9_]+)\]\]")
_SENTENCE = re.compile(r"[^.!?。…\n]*[^.!?。…\s][^.!?。…\n]*")


def marked(question: str, name: str) -> str:
    """The question with the mark."""
    return f"{question} [[{name}]]"


class Tally:
    """Counts the requests by their marks; they all go on to the judge."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    async def __call__(self, text: str) -> web.Response | None:
        """A request, as its body reads."""
        found = _MARK.search(text)
        self.calls[found[1] if found else ""] += 1
        return None

    def answered(self, prompt: int, completion: int) -> None:
        """Tokens do not matter here."""

    def most(self) -> tuple[str, int]:
        """Whose calls are the most, and how many."""
        return max(self.calls.items(), key=lambda each: each[1], default=("", 0))


class _Sentences(Mapping[tuple[str, str], tuple[str, ...]]):
    """Every sentence of whatever text is a claim, once."""

    def __getitem__(self, asked: tuple[str, str]) -> tuple[str, ...]:
        found = (match[0].strip() for match in _SENTENCE.finditer(asked[1]))
        return tuple(dict.fromkeys(found))

    def __contains__(self, asked: object) -> bool:
        return True

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Everything(frozenset[tuple[str, str]]):
    def __contains__(self, one: object) -> bool:
        return True


class _EveryClaim(frozenset[str]):
    def __contains__(self, one: object) -> bool:
        return True


class Obliging(Labels):
    """A judge that finds a claim in every sentence, and support for it everywhere."""

    def __init__(self) -> None:
        super().__init__(_Sentences(), _Everything(), frozenset(), _Everything())

    @cached_property
    def known_claims(self) -> frozenset[str]:
        """All that there can be."""
        return _EveryClaim()
