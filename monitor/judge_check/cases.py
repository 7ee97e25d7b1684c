"""One labelled verdict beside the judge's, and where and among what it was asked. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from monitor.judge.offline.overlap import Scores
from monitor.judge_check.labelled import KINDS, Labelled, VerdictKind
from monitor.records import Judgement, Verdicts


class Spot(NamedTuple):
    """Where a pair stood in its call: numbers from 1; ``passage`` is None for A and R."""

    claim: int
    passage: int | None


@dataclass(slots=True)
class AskedPairs:
    """Where each pair of (claim id, document) was first asked, read off the messages sent."""

    spots: dict[tuple[str, str], Spot] = field(default_factory=dict)

    def hear(self, message: str) -> None:
        """Take in one user message of the wire format; an extraction asks no pairs."""
        body: Mapping[str, Any] = json.loads(message)
        documents = list(body.get("documents", {}))
        passages = [name for name in documents if name.isdigit()]
        for place, claim in enumerate(body.get("claims", {}), 1):
            for name in documents:
                passage = passages.index(name) + 1 if name in passages else None
                self.spots.setdefault((claim, name), Spot(place, passage))

    def of(self, claim: str, document: str | None) -> Spot | None:
        """The spot of a pair; without a document, that of the claim before any passage."""
        if document is not None:
            return self.spots.get((claim, document))
        places = (s for (c, name), s in self.spots.items() if c == claim and name.isdigit())
        found = next(places, None)
        return Spot(found.claim, None) if found else None


class MatrixEntry(NamedTuple):
    """One entry of a matrix: its kind, row and column (None for a list), numbered from 0."""

    kind: VerdictKind
    row: int
    column: int | None

    @property
    def claim(self) -> str:
        """The claim's id on the wire."""
        return f"{'r' if self.kind.startswith('reference') else 'c'}{self.row + 1}"

    @property
    def document(self) -> str | None:
        """The document's name on the wire; None for all passages together."""
        if self.column is not None:
            return str(self.column + 1)
        return {"response_by_reference": "R", "reference_by_response": "A"}.get(self.kind)


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """A label and the verdict on it.

    ``claims`` is how many the interaction has, ``spot`` where the pair was asked (None: it was not
    asked of a model), ``score`` what the verdict hangs on, if the judge has scores.
    """

    about: Labelled
    pair: MatrixEntry
    label: bool
    verdict: bool
    claims: int
    spot: Spot | None = None
    score: float | None = None

    @property
    def right(self) -> bool:
        """Whether the judge agrees with the label."""
        return self.label == self.verdict

    @property
    def key(self) -> tuple[str, MatrixEntry]:
        """What makes it the same case in another run."""
        return self.about.place + self.about.interaction.interaction_id, self.pair


def entries(verdicts: object) -> Iterator[tuple[MatrixEntry, Any]]:
    """Every entry of the five fields of verdicts, labels or scores."""
    for kind in KINDS:
        for i, row in enumerate(getattr(verdicts, kind)):
            if isinstance(row, tuple):
                yield from ((MatrixEntry(kind, i, j), found) for j, found in enumerate(row))
            else:
                yield MatrixEntry(kind, i, None), row


def weighed(judgement: Judgement) -> Scores | None:
    """What its verdicts hang on, where the judgement says it; 0 for what nobody was asked about."""
    said = judgement.probabilities
    if not said:
        return None

    def of(letter: str, count: int, name: str) -> tuple[float, ...]:
        return tuple(said.get(f"{letter}{i + 1}", {}).get(name, 0.0) for i in range(count))

    def by_passage(letter: str, count: int) -> tuple[tuple[float, ...], ...]:
        columns = [of(letter, count, str(j + 1)) for j in range(judgement.passages)]
        return tuple(tuple(column[i] for column in columns) for i in range(count))

    c, r = len(judgement.claims.response), len(judgement.claims.reference)
    passages = by_passage("c", c)
    whole = zip(passages, of("c", c, "+"), strict=True)
    return Scores(
        response_by_passage=passages,
        response_by_context=tuple(max((*row, together)) for row, together in whole),
        response_by_reference=of("c", c * judgement.has_reference, "R"),
        reference_by_passage=by_passage("r", r),
        reference_by_response=of("r", r, "A"),
    )


def cases(
    about: Labelled,
    verdicts: Verdicts,
    seen: AskedPairs | None = None,
    scores: Scores | None = None,
) -> list[LabelledCase]:
    """The labelled pairs of one interaction. The verdicts are on its labelled claims."""
    said = dict(entries(verdicts))
    scored = dict(entries(scores)) if scores is not None else {}
    count = len(about.claims.response) + len(about.claims.reference)
    return [
        LabelledCase(
            about,
            pair,
            label,
            said[pair],
            count,
            seen.of(pair.claim, pair.document) if seen is not None else None,
            scored.get(pair),
        )
        for pair, label in entries(about.verdicts)
        if label is not None
    ]


#: 9 to 12 are the batches that the default of eight claims a call avoids.
_SIZES = ((1, 1), (2, 4), (5, 8), (9, 12), (13, 10**9))


def size(n: int) -> str:
    """The bucket of a number of claims.

    >>> [size(n) for n in (1, 3, 8, 9, 40)]
    ['1', '2–4', '5–8', '9–12', '13+']
    """
    low, high = next(bounds for bounds in _SIZES if bounds[0] <= n <= bounds[1])
    if low == high:
        return str(low)
    return f"{low}+" if high == 10**9 else f"{low}–{high}"


_FAR = 10


def _position(number: int | None) -> str | None:
    if number is None:
        return None
    return str(number) if number <= _FAR else f"{_FAR + 1}+"


DIMENSIONS: Mapping[str, Callable[[LabelledCase], str | None]] = {
    "claims": lambda case: size(case.claims),
    "place_in_call": lambda case: size(case.spot.claim) if case.spot else None,
    "position_shown": lambda case: _position(case.spot.passage) if case.spot else None,
    "rank": lambda case: _position(None if case.pair.column is None else case.pair.column + 1),
    "language": lambda case: case.about.language,
    "phenomenon": lambda case: case.about.phenomenon,
}
"""By what the verdicts are told apart; None leaves a case out of a dimension."""


def by_cluster(found: Sequence[LabelledCase]) -> dict[str, list[LabelledCase]]:
    """The cases by what their errors are correlated in."""
    clusters: dict[str, list[LabelledCase]] = {}
    for case in found:
        clusters.setdefault(case.about.cluster, []).append(case)
    return clusters
