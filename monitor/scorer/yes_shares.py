"""How the verdicts on traffic are spread: what says the same to everything does not judge."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Final

from monitor.judge.canaries import KINDS
from monitor.records import Judgement
from monitor.runtime.logs import logger
from monitor.telemetry import CanaryTelemetry

#: Verdicts on traffic that a share is taken over: the latest ones, by kind.
LATEST_VERDICTS: Final = 1_000
#: Whether several passages support a claim that none supports alone: where a + is allowed.
TOGETHER: Final = "together"
YES_KINDS: Final = (*KINDS, TOGETHER)


class YesShares:
    """The share of y among one model's latest verdicts, by kind; constant ones are reported."""

    def __init__(
        self, model: str, telemetry: CanaryTelemetry, latest: int = LATEST_VERDICTS
    ) -> None:
        self._model = model
        self._ratios = {kind: telemetry.yes_ratio.part(kind, model) for kind in YES_KINDS}
        self._constants = {kind: telemetry.constant.part(kind, model) for kind in YES_KINDS}
        self._kept = defaultdict[str, deque[bool]](lambda: deque(maxlen=latest))
        #: How many of those are y: to count them anew for each judgement took most of its time.
        self._yes = defaultdict[str, int](int)
        self._constant = set[str]()

    def add(self, judgement: Judgement) -> None:
        """The verdicts of one more judgement."""
        for kind, verdict in _verdicts(judgement):
            kept = self._kept[kind]
            self._yes[kind] += verdict - (len(kept) == kept.maxlen and kept[0])
            kept.append(verdict)
        for kind, kept in self._kept.items():
            yes = self._yes[kind]
            self._ratios[kind].set(yes, len(kept))
            self._tell(kind, kept, constant=_is_constant(kind, kept, yes))

    def _tell(self, kind: str, kept: deque[bool], *, constant: bool) -> None:
        self._constants[kind].set(constant)
        if constant and kind not in self._constant:
            fields = {"kind": kind, "verdicts": len(kept), "verdict": "y" if kept[0] else "n"}
            logger().warning("judge_verdicts_constant", model=self._model, **fields)
        (self._constant.add if constant else self._constant.discard)(kind)


def _is_constant(kind: str, kept: deque[bool], yes: int) -> bool:
    """Whether all are the same, and as many as are kept.

    That several passages never support a claim together is nothing odd; that they always do is.
    """
    if len(kept) < (kept.maxlen or 0):
        return False
    return yes == len(kept) or (kind != TOGETHER and yes == 0)


def _verdicts(judgement: Judgement) -> Iterator[tuple[str, bool]]:
    """The kind and value of each verdict on traffic; ``together`` where a + was allowed."""
    found = judgement.verdicts
    for row in found.response_by_passage + found.reference_by_passage:
        yield from (("passage", verdict) for verdict in row)
    yield from (("reference", verdict) for verdict in found.response_by_reference)
    yield from (("response", verdict) for verdict in found.reference_by_response)
    for row, together in zip(found.response_by_passage, found.response_by_context, strict=True):
        if len(row) > 1 and not any(row):
            yield TOGETHER, together
