"""An interaction with labels: what a faultless judge would say of it, as far as that is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Literal, Self, get_args

from pydantic import model_validator

from monitor.records import Claims, Frozen, Interaction, Passage, Source

VerdictKind = Literal[
    "response_by_passage",
    "response_by_context",
    "response_by_reference",
    "reference_by_passage",
    "reference_by_response",
]
KINDS: Final[tuple[VerdictKind, ...]] = get_args(VerdictKind)

Label = bool | None
LabelledList = tuple[Label, ...]
LabelledMatrix = tuple[LabelledList, ...]

#: Files of labels have no time of their own, and nothing of a judgement depends on it.
_NO_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


class LabelledVerdicts(Frozen):
    """The verdicts that are right; None where nobody said. Shapes as in ``Verdicts``."""

    response_by_passage: LabelledMatrix
    response_by_context: LabelledList
    response_by_reference: LabelledList
    reference_by_passage: LabelledMatrix
    reference_by_response: LabelledList

    def whole(self, kind: VerdictKind) -> bool:
        """Whether no verdict of this kind is missing."""
        return None not in flat(getattr(self, kind))


class Labelled(Frozen):
    """One interaction, the claims that were labelled, and their right verdicts.

    ``place`` is where it was read (``FILE:LINE``), ``cluster`` what its errors are correlated in:
    the interaction, unless several were made from one text. ``claims_complete`` says that the
    claims are all that the two texts make, so that an extraction can be held against them.
    ``judged_by`` is the judge (``name@version``) whose verdicts these are; None: they are labels.
    """

    place: str
    cluster: str
    interaction: Interaction
    claims: Claims
    verdicts: LabelledVerdicts
    language: str
    phenomenon: str | None = None
    claims_complete: bool = False
    judged_by: str | None = None

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        c, r = len(self.claims.response), len(self.claims.reference)
        passages = len(self.interaction.retrieved_contexts)
        has_reference = self.interaction.reference is not None
        if r and not has_reference:
            raise ValueError(f"claims.reference: found {r}, but the interaction has no reference")
        shapes: dict[VerdictKind, tuple[int, int | None]] = {
            "response_by_passage": (c, passages),
            "response_by_context": (c, None),
            "response_by_reference": (c * has_reference, None),
            "reference_by_passage": (r, passages),
            "reference_by_response": (r, None),
        }
        for kind, (rows, columns) in shapes.items():
            _require(kind, getattr(self.verdicts, kind), rows, columns)
        return self


def _require(kind: VerdictKind, found: Sequence[object], rows: int, columns: int | None) -> None:
    what = "one for each claim"
    if len(found) != rows:
        raise ValueError(f"verdicts.{kind}: found {len(found)}, expected {rows}, {what}")
    for i, row in enumerate(found):
        if columns is not None and isinstance(row, tuple) and len(row) != columns:
            raise ValueError(
                f"verdicts.{kind}[{i}]: found {len(row)}, expected {columns}, one for each passage"
            )


def flat(found: Sequence[object]) -> list[object]:
    """The entries of a list or of a matrix.

    >>> flat(((True, None), (False, True))), flat((True, None))
    ([True, None, False, True], [True, None])
    """
    return [entry for row in found for entry in (row if isinstance(row, tuple) else (row,))]


def labelled_verdicts(
    interaction: Interaction,
    claims: Claims,
    *,
    response_by_passage: LabelledMatrix | None = None,
    response_by_context: LabelledList | None = None,
    response_by_reference: LabelledList | None = None,
    reference_by_passage: LabelledMatrix | None = None,
    reference_by_response: LabelledList | None = None,
) -> LabelledVerdicts:
    """Labels of the kinds that a file has; of the others, None in the right shape."""
    c, r = len(claims.response), len(claims.reference)
    row = (None,) * len(interaction.retrieved_contexts)
    has_reference = interaction.reference is not None

    def or_none(found: LabelledList | None, n: int) -> LabelledList:
        return (None,) * n if found is None else found

    return LabelledVerdicts(
        response_by_passage=(row,) * c if response_by_passage is None else response_by_passage,
        response_by_context=or_none(response_by_context, c),
        response_by_reference=or_none(response_by_reference, c * has_reference),
        reference_by_passage=(row,) * r if reference_by_passage is None else reference_by_passage,
        reference_by_response=or_none(reference_by_response, r),
    )


def interaction_of(
    interaction_id: str,
    *,
    file: str,
    line: int,
    user_input: str,
    response: str,
    passages: Sequence[Passage],
    reference: str | None = None,
) -> Interaction:
    """An interaction that came from a file: its source is the file and the line."""
    return Interaction(
        interaction_id=interaction_id,
        event_time=_NO_TIME,
        application="judge-check",
        user_input=user_input,
        response=response,
        retrieved_contexts=tuple(passages),
        reference=reference,
        source=Source(topic=file, partition=0, offset=line),
    )


def script(text: str) -> str:
    """The language of a text that does not say it, as far as its letters tell: its script.

    >>> script("退款需要14天。"), script("Refunds take 14 days."), script("Возврат"), script("14")
    ('Han script', 'Latin script', 'other script', 'no script')
    """
    letters = [character for character in text if character.isalpha()]
    if not letters:
        return "no script"
    han = sum("\u4e00" <= c <= "\u9fff" or "\u3400" <= c <= "\u4dbf" for c in letters)
    latin = sum(c <= "\u024f" for c in letters)
    # A Han character says about as much as a word: a few names in Latin letters change nothing.
    if 3 * han >= len(letters) - han and han:
        return "Han script"
    return "Latin script" if 2 * latin >= len(letters) else "other script"
