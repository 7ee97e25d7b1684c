"""Small interactions whose verdicts are known: does a judge judge, or only answer? Pure.

The 48 of ``canaries.jsonl`` are in English and Chinese, with two passages each; every one has as
many pairs that hold as pairs that do not, but for what a reference adds. Nothing in them says that
they are none of the traffic. A judge that says the same always, or takes turns, is right about half
of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Final, Self

from monitor.judge.pipeline.parsing import REFERENCE, RESPONSE
from monitor.judge.pipeline.recheck_choice import Equal, MatrixKind
from monitor.records import Claims, Flags, Interaction, Judgement, Passage, Source

#: The kinds of verdicts that are compared. Whether several passages support a claim together is
#: none: wherever one of them does, that is no verdict of its own.
KINDS: Final[tuple[MatrixKind, ...]] = ("passage", "reference", "response")
_NOWHERE: Final = Source(topic="none", partition=0, offset=0)


@dataclass(frozen=True)
class Canary:
    """One of them; ``truth`` has the right verdicts by kind, in the order of the judgement's."""

    language: str
    question: str
    passages: tuple[str, ...]
    response: str
    reference: str | None
    claims: Claims
    truth: Mapping[MatrixKind, Flags]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From a line of the file; verdicts are written as in the judge's wire format."""
        lines = {
            claim: {pair[:-1]: pair.endswith("y") for pair in tokens.split()}
            for claim, tokens in found["verdicts"].items()
        }
        columns = [str(j) for j, _ in enumerate(found["passages"], 1)]
        of_response = [line for claim, line in lines.items() if claim.startswith("c")]
        of_reference = [line for claim, line in lines.items() if claim.startswith("r")]
        truth: dict[MatrixKind, Flags] = {
            "passage": tuple(line[column] for line in lines.values() for column in columns),
            "reference": tuple(line[REFERENCE] for line in of_response if REFERENCE in line),
            "response": tuple(line[RESPONSE] for line in of_reference),
        }
        texts = list(found["claims"].values())
        claims = Claims(
            response=tuple(texts[: len(of_response)]), reference=tuple(texts[len(of_response) :])
        )
        return cls(
            found["language"],
            found["question"],
            tuple(found["passages"]),
            found["response"],
            found.get("reference"),
            claims,
            truth,
        )

    def interaction(self, interaction_id: str, now: datetime) -> Interaction:
        """The same as an interaction; its id decides number and order on the wire."""
        return Interaction(
            interaction_id=interaction_id,
            event_time=now,
            application="canary",
            user_input=self.question,
            response=self.response,
            retrieved_contexts=tuple(Passage(text=text) for text in self.passages),
            reference=self.reference,
            source=_NOWHERE,
        )

    def graded(self, judgement: Judgement) -> dict[MatrixKind, Equal]:
        """How many verdicts are right, of how many, by kind; kinds without any are left out.

        ``judgement`` is on the canary's own claims.
        """
        found = judgement.verdicts
        rows = found.response_by_passage + found.reference_by_passage
        given: dict[MatrixKind, Flags] = {
            "passage": tuple(verdict for row in rows for verdict in row),
            "reference": found.response_by_reference,
            "response": found.reference_by_response,
        }
        return {
            kind: Equal(sum(map(bool.__eq__, given[kind], self.truth[kind])), len(self.truth[kind]))
            for kind in KINDS
            if self.truth[kind]
        }

    @property
    def verdicts(self) -> int:
        """How many there are."""
        return sum(map(len, self.truth.values()))


@cache
def canaries() -> tuple[Canary, ...]:
    """All that come with the package."""
    lines = files(__package__).joinpath("canaries.jsonl").read_text(encoding="utf-8")
    return tuple(Canary.of(json.loads(line)) for line in lines.splitlines())


def in_turn(seed: str) -> Iterator[Canary]:
    """All of them in an order that depends on the seed, again and again."""
    order = sorted(canaries(), key=lambda each: blake2b((seed + each.response).encode()).digest())
    while True:
        yield from order
