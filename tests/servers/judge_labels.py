"""The truth from which the simulated judge answers, and its file format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

Together = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Labels:
    """What a faultless judge would say.

    ``claims``: (question, text) → the claims of that text. ``supported``: the (claim, text) pairs
    that hold; all others do not. ``together``: (claim, passage texts), where only those passages
    together support the claim. ``relevant``: the (question, text) pairs where the text is relevant.

    The file is JSONL with one label a line::

        {"kind": "claims", "question": "…", "text": "…", "claims": ["…"]}
        {"kind": "supported", "claim": "…", "text": "…"}
        {"kind": "together", "claim": "…", "texts": ["…", "…"]}
        {"kind": "relevant", "question": "…", "text": "…"}
    """

    claims: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    supported: frozenset[tuple[str, str]] = frozenset()
    together: frozenset[Together] = frozenset()
    relevant: frozenset[tuple[str, str]] = frozenset()

    @cached_property
    def known_claims(self) -> frozenset[str]:
        """Every claim that occurs in a label: the judge refuses to rule on any other."""
        return frozenset(
            [claim for claims in self.claims.values() for claim in claims]
            + [claim for claim, _ in self.supported]
            + [claim for claim, _ in self.together]
        )

    @cached_property
    def _sets(self) -> Mapping[str, tuple[frozenset[str], ...]]:
        sets: dict[str, tuple[frozenset[str], ...]] = {}
        for claim, texts in sorted(self.together):
            sets[claim] = (*sets.get(claim, ()), frozenset(texts))
        return sets

    def holds_together(self, claim: str, passages: Iterable[str]) -> bool:
        """Whether a labelled set of passages that supports ``claim`` is among ``passages``."""
        present = frozenset(passages)
        return any(texts <= present for texts in self._sets.get(claim, ()))

    def __or__(self, other: Labels) -> Labels:
        """Both sets of labels; on the same (question, text), the claims of ``other``."""
        return Labels(
            {**self.claims, **other.claims},
            self.supported | other.supported,
            self.together | other.together,
            self.relevant | other.relevant,
        )

    def lines(self) -> Iterator[str]:
        """The labels as JSONL lines without newlines, in a fixed order."""
        for (question, text), claims in self.claims.items():
            yield _line(kind="claims", question=question, text=text, claims=claims)
        for claim, text in sorted(self.supported):
            yield _line(kind="supported", claim=claim, text=text)
        for claim, texts in sorted(self.together):
            yield _line(kind="together", claim=claim, texts=texts)
        for question, text in sorted(self.relevant):
            yield _line(kind="relevant", question=question, text=text)

    def write(self, path: Path) -> None:
        """Write the labels to ``path`` as JSONL."""
        path.write_text("".join(f"{line}\n" for line in self.lines()), encoding="utf-8")

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Self:
        """Labels from JSONL lines; ``ValueError`` names the line that is not a label."""
        claims: dict[tuple[str, str], tuple[str, ...]] = {}
        supported: set[tuple[str, str]] = set()
        together: set[Together] = set()
        relevant: set[tuple[str, str]] = set()
        for number, line in enumerate(lines, start=1):
            match json.loads(line):
                case {"kind": "claims", "question": str(q), "text": str(t), "claims": list(found)}:
                    claims[q, t] = tuple(str(claim) for claim in found)
                case {"kind": "supported", "claim": str(claim), "text": str(text)}:
                    supported.add((claim, text))
                case {"kind": "together", "claim": str(claim), "texts": list(texts)}:
                    together.add((claim, tuple(str(text) for text in texts)))
                case {"kind": "relevant", "question": str(question), "text": str(text)}:
                    relevant.add((question, text))
                case _:
                    raise ValueError(f"line {number} is not a label: {line.strip()[:200]}")
        return cls(claims, frozenset(supported), frozenset(together), frozenset(relevant))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Labels from a JSONL file."""
        with path.open(encoding="utf-8") as file:
            return cls.parse(file)


def _line(**label: Any) -> str:
    return json.dumps(label, ensure_ascii=False)
