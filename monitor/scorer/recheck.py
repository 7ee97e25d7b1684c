"""The recheck: a share of the judged interactions is judged again, after its record.

The recheck takes the same claims, asks about one passage a call (``single``), and shows
passages in the opposite order. So where the two differ, batching or the order has cost accuracy.
It changes no score and no record, and is dropped at shutdown.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Protocol

from monitor.errors import JudgeFailed
from monitor.judge.allowance import Allowance
from monitor.judge.ceiling import Demand
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits
from monitor.judge.manner import WHOSE_TURN
from monitor.judge.pipeline.recheck_choice import Equal, MatrixKind, agreement, is_chosen
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Judgement, Usage
from monitor.runtime.logs import logger
from monitor.stats.clustered import proportion
from monitor.telemetry import AsideTelemetry, RecheckTelemetry

#: Interactions that the agreement is taken over, the latest ones: a judge may change.
LATEST = 1_000
#: Judgements that may wait for their turn; what comes on top is dropped.
MOST_WAITING = 16
#: Judges that are shown, with every version one. One model has at most nine at a time
#: (``model_ids``); those of ``applications`` and fallbacks come on top.
MOST_JUDGES = 16
#: For those under way to end at shutdown; then they are left to themselves.
GRACE_S = 1.0


NO_USAGE = Usage()


class SecondJudge(Protocol):
    """A judge that can be given the claims."""

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        """The verdicts on these claims; raises ``JudgeFailed``."""

    async def aclose(self) -> None:
        """Give back connections."""


class AgreementTracker:
    """How far the latest judgements agree with other ones, as gauges by judge and kind.

    Judges never mix, and neither do versions of one: a judge here is ``name@version``. Of those
    only the ``judges`` that were judged again last are shown: old versions go.
    """

    def __init__(
        self, telemetry: AsideTelemetry, latest: int = LATEST, judges: int = MOST_JUDGES
    ) -> None:
        self._telemetry, self._latest, self._judges = telemetry, latest, judges
        self._kept: OrderedDict[str, dict[MatrixKind, deque[Equal]]] = OrderedDict()

    def add(self, judge: str, found: Mapping[MatrixKind, Equal]) -> None:
        """One more interaction that ``judge`` has judged, by kind of verdict."""
        of_judge = self._kept.setdefault(judge, {})
        self._kept.move_to_end(judge)
        for kind, equal in found.items():
            kept = of_judge.setdefault(kind, deque(maxlen=self._latest))
            kept.append(equal)
            # Verdicts of one interaction are no independent ones, hence by interaction.
            estimate = proportion([e.equal for e in kept], [e.verdicts for e in kept])
            verdicts = sum(e.verdicts for e in kept)
            self._telemetry.show(judge, kind, *estimate, verdicts=verdicts, interactions=len(kept))
        if len(self._kept) > self._judges:
            self.forget(next(iter(self._kept)))

    def forget(self, judge: str) -> None:
        """What is known of a judge says nothing more; it may be none."""
        self._telemetry.hide(judge, self._kept.pop(judge, ()))


class Rechecks:
    """The rechecks of one judge: one at a time, in a place that nobody else waits for.

    And none when the day's money is gone, as ``budget`` says.
    """

    def __init__(
        self,
        share: float,
        judge: SecondJudge,
        limits: Limits,
        tracker: AgreementTracker,
        telemetry: RecheckTelemetry,
        budget: Budget | None = None,
    ) -> None:
        self._budget = budget
        self._share, self._judge, self._limits = share, judge, limits
        self._tracker, self._telemetry = tracker, telemetry
        self._turn = asyncio.Semaphore(1)
        self._tasks: set[asyncio.Task[None]] = set()

    def offer(
        self, interaction: Interaction, judgement: Judgement, asked: Usage = NO_USAGE
    ) -> None:
        """An interaction has been judged and recorded; the chosen ones are judged again, later.

        What was ``asked`` for its first judgement counts: both together keep to the ceiling.
        """
        if not judgement.claims.response or not is_chosen(interaction.interaction_id, self._share):
            return
        if len(self._tasks) > MOST_WAITING:
            self._telemetry.results.labels("dropped").inc()
            return
        task = asyncio.create_task(self._counted(interaction, judgement, asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Drop what has not ended, and give back connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_S)
        await self._judge.aclose()

    async def _counted(self, interaction: Interaction, first: Judgement, asked: Usage) -> None:
        WHOSE_TURN.set("rechecks")
        result = "dropped"
        try:
            result = await self._judged(interaction, first, _cost_meter(asked))
        except Exception:  # noqa: BLE001 - nobody waits for this task: its bugs must show here
            result = "internal_error"
            logger().exception("recheck_bug", interaction_id=interaction.interaction_id)
        finally:
            self._telemetry.results.labels(result).inc()

    async def _judged(
        self, interaction: Interaction, first: Judgement, cost_meter: CostMeter
    ) -> str:
        async with self._turn, self._limits.admitted_last():
            if self._budget is not None and not self._budget.has_money():
                return "over_budget"
            try:
                async with self._limits.deadline():
                    second = await self._judge.judge(interaction, cost_meter, first.claims)
            except TimeoutError:
                return "deadline"
            except JudgeFailed as failure:
                return failure.reason
        self._tracker.add(first.judge.label, agreement(first, second))
        return "done"


def _cost_meter(asked: Usage) -> CostMeter:
    """That of a recheck, after so much was asked for the first."""
    return CostMeter(allowance=Allowance(Demand(asked.calls, asked.prompt_tokens)))
