"""What a model is asked: labelled pairs, groups of them, interactions with references, canaries.

Pure.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from monitor.judge.canaries import canaries
from monitor.judge_check.shipped import shipped_pairs
from monitor.records import Claims, Interaction, Judgement, Passage, Source
from tests.benchmarks.judging.cases import Case, short_set
from tests.benchmarks.judging.truth import true_judgement

#: Passages of a group; each has four claims of its own.
IN_GROUP: Final = 3
_WHEN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TOGETHER: Final = "+"

Flags = tuple[bool, ...]


@dataclass(frozen=True)
class Labelled:
    """An interaction with its claims; ``labels`` are right verdicts, in the order of ``read``.

    ``asked`` has a document and its claims for whoever is asked about one text at a time: the
    labels run through them in this order. Empty where labels are of several kinds.
    """

    interaction: Interaction
    claims: Claims
    labels: Flags
    read: Callable[[Judgement], Flags]
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    scored: Callable[[Judgement], tuple[float, ...]] = lambda _judgement: ()


def pairs(n: int) -> list[Labelled]:
    """So many of the pairs that come with the package, at equal distances."""
    rows = _rows()
    step = max(1, len(rows) // max(1, n))
    return [_pair(row) for row in rows[::step][:n]]


def _pair(row: dict[str, Any]) -> Labelled:
    return Labelled(
        _interaction(row["id"], row["claim"], row["passages"]),
        Claims(response=(row["claim"],)),
        (row["supported"],),
        lambda judgement: judgement.verdicts.response_by_context,
        (("\n".join(row["passages"]), (row["claim"],)),),
        _by_context,
    )


def _by_context(judgement: Judgement) -> tuple[float, ...]:
    """How probable it is that the passages support the claim; empty where nobody says it."""
    found = judgement.probabilities.get("c1", {})
    weights = [value for name, value in found.items() if name.isdigit() or name == _TOGETHER]
    return (max(weights),) if weights else ()


def groups(n: int) -> list[Labelled]:
    """So many interactions of three passages with the four claims of each."""
    by_passage: dict[str, list[dict[str, Any]]] = {}
    for row in _rows():
        if len(row["passages"]) == 1:
            by_passage.setdefault(row["passages"][0], []).append(row)
    chunks = [list(by_passage)[i : i + IN_GROUP] for i in range(0, len(by_passage), IN_GROUP)]
    whole = [chunk for chunk in chunks if len(chunk) == IN_GROUP]
    # At equal distances: a half of the file is of one language.
    step = max(1, len(whole) // max(1, n))
    return [_group(i, chunk, by_passage) for i, chunk in enumerate(whole)][::step][:n]


def _group(i: int, chosen: list[str], by_passage: dict[str, list[dict[str, Any]]]) -> Labelled:
    claims = [(row, passage) for passage in chosen for row in by_passage[passage]]
    texts = tuple(row["claim"] for row, _ in claims)
    return Labelled(
        _interaction(f"group-{i}", " ".join(texts), chosen),
        Claims(response=texts),
        tuple(own == passage and row["supported"] for passage in chosen for row, own in claims),
        lambda judgement: _by_column(judgement.verdicts.response_by_passage),
        tuple((passage, texts) for passage in chosen),
        lambda judgement: _weights(judgement, len(texts)),
    )


def _by_column(matrix: Sequence[Flags]) -> Flags:
    return tuple(itertools.chain.from_iterable(zip(*matrix, strict=True)))


def _weights(judgement: Judgement, claims: int) -> tuple[float, ...]:
    found = judgement.probabilities
    if not found:
        return ()
    rows = [found[f"c{i}"] for i in range(1, claims + 1)]
    return tuple(row[str(j)] for j in range(1, judgement.passages + 1) for row in rows)


def referenced(n: int) -> list[Labelled]:
    """So many interactions with references; labels of all five kinds of verdicts."""
    cases = short_set()
    return list(map(_referenced, cases[:: max(1, len(cases) // max(1, n))][:n]))


def _referenced(case: Case) -> Labelled:
    truth = true_judgement(case)
    given = {**case.interaction, "event_time": _WHEN}
    interaction = _interaction(
        case.id,
        given["response"],
        given["retrieved_contexts"],
        question=given["user_input"],
        reference=given["reference"],
    )
    return Labelled(interaction, truth.claims, _all_kinds(truth), _all_kinds)


def _all_kinds(judgement: Judgement) -> Flags:
    found = judgement.verdicts
    rows = found.response_by_passage + found.reference_by_passage
    columns = found.response_by_context + found.response_by_reference + found.reference_by_response
    return (*itertools.chain.from_iterable(rows), *columns)


def mixed(n: int) -> list[Labelled]:
    """So many of each of the three, as far as there are, in turns, as traffic has them."""
    placed = [
        ((k + 0.5) / len(of_kind), which, each)
        for which, of_kind in enumerate((pairs(n), groups(n), referenced(n)))
        for k, each in enumerate(of_kind)
    ]
    return [each for *_, each in sorted(placed, key=lambda place: place[:2])]


def asked_canaries(n: int) -> list[Labelled]:
    """So many of the canaries, in the order of their file."""
    return [
        Labelled(
            canary.interaction(f"canary-{i}", _WHEN),
            canary.claims,
            tuple(itertools.chain.from_iterable(canary.truth.values())),
            _canary_kinds,
        )
        for i, canary in enumerate(canaries()[:n])
    ]


def _canary_kinds(judgement: Judgement) -> Flags:
    """In the order of ``Canary.truth``: passages, reference, response."""
    found = judgement.verdicts
    rows = found.response_by_passage + found.reference_by_passage
    passages = itertools.chain.from_iterable(rows)
    return (*passages, *found.response_by_reference, *found.reference_by_response)


def _rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in shipped_pairs().splitlines()]


def _interaction(
    name: str,
    response: str,
    passages: Iterable[str],
    question: str = "",
    reference: str | None = None,
) -> Interaction:
    return Interaction(
        interaction_id=name,
        event_time=_WHEN,
        application="real-model",
        user_input=question,
        response=response,
        retrieved_contexts=tuple(Passage(text=text) for text in passages),
        reference=reference,
        source=Source(topic="none", partition=0, offset=0),
    )
