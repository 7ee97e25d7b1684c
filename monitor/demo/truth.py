"""What is true of a made-up interaction, derived from how it was built and not from its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from monitor.demo.facts import Fact
from monitor.demo.mix import ResponseKind
from monitor.records import Claims, Flags, Verdicts


class Statement(NamedTuple):
    """That a fact has a value; the same statement in whichever wording."""

    fact: Fact
    value: str

    @property
    def is_true(self) -> bool:
        """Whether the value is the fact's own."""
        return self.value == self.fact.value


@dataclass(frozen=True, slots=True)
class Truth:
    """The known truth of one interaction; it never travels with the interaction.

    ``claims`` are the sentences of response and reference. ``verdicts`` are those of a perfect
    judge. ``values`` has the value of each of the five metrics of ``monitor.demo.mix.expected``,
    None where it is undefined: without claims, or (all but ``faithfulness``) without a reference.
    """

    interaction_id: str
    kind: ResponseKind
    claims: Claims
    verdicts: Verdicts
    values: dict[str, float | None]


def verdicts_of(
    response: Sequence[Statement],
    reference: Sequence[Statement] | None,
    passages: Sequence[Sequence[Statement]],
) -> Verdicts:
    """The verdicts of a perfect judge: a text supports exactly the statements it was built from."""
    sources = [frozenset(passage) for passage in passages]
    truths = reference or ()
    return Verdicts(
        response_by_passage=tuple(tuple(s in stated for stated in sources) for s in response),
        response_by_context=tuple(any(s in stated for stated in sources) for s in response),
        response_by_reference=(() if reference is None else tuple(s in truths for s in response)),
        reference_by_passage=tuple(tuple(s in stated for stated in sources) for s in truths),
        reference_by_response=tuple(s in response for s in truths),
    )


def values_of(verdicts: Verdicts, *, has_reference: bool) -> dict[str, float | None]:
    """The five metrics, counted claim by claim.

    Written apart from ``monitor.metrics`` on purpose: it is what those are checked against.
    """
    fates = _fates(verdicts) if has_reference else ()
    return {
        "faithfulness": _share(verdicts.response_by_context),
        "noise_sensitivity_relevant": _share([fate == "relevant" for fate in fates]),
        "noise_sensitivity_irrelevant": _share([fate == "irrelevant" for fate in fates]),
        "incorrect_claims": _share([fate != "correct" for fate in fates]),
        "hallucination": _share([fate == "invented" for fate in fates]),
    }


def _fates(verdicts: Verdicts) -> tuple[str, ...]:
    relevant = [any(column) for column in zip(*verdicts.reference_by_passage, strict=True)]
    rows = zip(verdicts.response_by_passage, verdicts.response_by_reference, strict=True)
    return tuple("correct" if correct else _fate(row, relevant) for row, correct in rows)


def _fate(row: Flags, relevant: Sequence[bool]) -> str:
    supporters = {is_relevant for stated, is_relevant in zip(row, relevant, strict=True) if stated}
    if not supporters:
        return "invented"
    return "relevant" if True in supporters else "irrelevant"


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
