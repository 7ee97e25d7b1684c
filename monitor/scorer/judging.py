"""One pick: judged within its deadline, and scored; the same for live traffic and for a file."""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Mapping,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from monitor.errors import TOO_LARGE, JudgeFailed, TooLarge
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.deadline import Deadline
from monitor.judge.limits.limits import Limits, chosen
from monitor.judge.pipeline.complaints import commonest
from monitor.judge.pipeline.parsing import has_words
from monitor.judge.protocol import CostMeter, Judge
from monitor.metrics.catalogue import CATALOGUE, compared, score_all
from monitor.metrics.redacted import hides_all, redacted_metrics, sees_passage, without_redacted
from monitor.metrics.relevance import labelled
from monitor.records import Interaction, Outcome, Reason, Unscored, Usage
from monitor.runtime.logs import logger
from monitor.sampling.hashing import Sampler
from monitor.scorer.canaries import CanaryWatch
from monitor.scorer.recheck import Rechecks
from monitor.scorer.score_records import JudgingResult


@dataclass(frozen=True)
class ScoringPolicy:
    """How an interaction is treated; policies with the same judge share it and its limits.

    ``metrics`` are the names of those that are recorded; None: all of the catalogue. Where
    ``labels_win``, the log's labels of relevance outdo what follows from the reference. ``recheck``
    judges some of them again. ``budget`` is that of all policies together. ``canaries`` say whether
    the judge judges.
    """

    sampler: Sampler
    judge: Judge
    limits: Limits
    segment_by: tuple[str, ...] = ()
    metrics: tuple[str, ...] | None = None
    labels_win: bool = False
    recheck: Rechecks | None = None
    budget: Budget | None = None
    canaries: CanaryWatch | None = None

    def at(self, share: float) -> ScoringPolicy:
        """The same at a share of its rate."""
        if share == 1.0:
            return self
        return replace(self, sampler=self.sampler.at(share))


class JudgingInput:
    """An interaction, with what its log hides worked out once: for judge, record and recheck."""

    def __init__(self, interaction: Interaction) -> None:
        self.interaction = interaction

    def of(self, interaction: Interaction) -> JudgingInput:
        """That of the same interaction, in which values may have been replaced since: or itself."""
        return self if interaction == self.interaction else JudgingInput(interaction)

    @cached_property
    def redacted(self) -> frozenset[str]:
        """The metrics that need a text which is hidden."""
        return redacted_metrics(self.interaction)

    @cached_property
    def shown(self) -> Interaction:
        """What the judge is shown of it."""
        return judge_input(self.interaction)

    @cached_property
    def known(self) -> Mapping[str, float | Unscored]:
        """What no judge has to say: whether a passage is there, and what nobody can see."""
        retrieved = float(sees_passage(self.interaction))
        return {"retrieved": retrieved, **dict.fromkeys(self.redacted, Unscored.REDACTED)}


def all_redacted(judging_input: JudgingInput, policy: ScoringPolicy) -> JudgingResult | None:
    """What becomes of it where the log hides all that could be judged, so nobody is asked."""
    if not hides_all(judging_input.redacted, policy.metrics):
        return None
    scores = _chosen(dict.fromkeys(CATALOGUE, Unscored.REDACTED), policy.metrics)
    reason, judge = _why_unscorable(scores), policy.judge.identity
    return JudgingResult(Outcome.UNSCORABLE, reason, judge, Usage(), None, scores, {})


def judge_input(interaction: Interaction) -> Interaction:
    """What can be judged of it: nothing that is hidden, and no reference without words.

    Passages that all lack words are no passages: an empty text in their place is how some log that
    nothing was retrieved.
    """
    found = without_redacted(interaction)
    update: dict[str, object] = {}
    passages = found.retrieved_contexts
    if passages and not any(has_words(passage.text) for passage in passages):
        update["retrieved_contexts"] = ()
    if found.reference is not None and not has_words(found.reference):
        update["reference"] = None
    return found.model_copy(update=update) if update else found


@asynccontextmanager
async def admitted(policy: ScoringPolicy) -> AsyncIterator[None]:
    """Wait for a place, and until what a judgement costs is known; hold the place while inside."""
    async with AsyncExitStack() as stack:
        if policy.budget is not None:
            await stack.enter_async_context(policy.budget.turn())
        await stack.enter_async_context(policy.limits.admitted())
        yield


async def paid_for(
    judging_input: JudgingInput,
    policy: ScoringPolicy,
    deadline: Deadline | None = None,
) -> JudgingResult:
    """The judgement, where the day's money allows it.

    The caller has been ``admitted``.
    """
    budget, source = policy.budget, judging_input.interaction.source
    if policy.canaries is not None and policy.canaries.turns_away():
        turned_away = _failed(judging_input.interaction, policy.judge, Reason.NOT_JUDGING, Usage())
        return turned_away._replace(number=chosen())
    if budget is None:
        return await judged(judging_input, policy, deadline)
    if not budget.admit():
        judge, reason = policy.judge.identity, Reason.USD_PER_DAY.value
        return JudgingResult(Outcome.OVER_BUDGET, reason, judge, Usage(), None, {}, {})
    usd, answered, cost_meter = 0.0, False, CostMeter()
    try:
        result = await judged(judging_input, policy, deadline, cost_meter)
        usd = result.usage.usd
        answered = result.judgement is not None and result.usage.calls > 0
        return result
    except BaseException:  # handed over half judged: no record will say what that has cost
        budget.spend(cost_meter.usage.usd)
        raise
    finally:
        place = (source.topic, source.partition, source.offset)
        budget.settle(place, usd, answered=answered)


#: Brings a judgement to its end, which has the deadline.
Perform = Callable[[Coroutine[Any, Any, JudgingResult], Deadline], Awaitable[JudgingResult]]


async def _plainly(judging: Coroutine[Any, Any, JudgingResult], _: Deadline) -> JudgingResult:
    return await judging


class JudgeRun:
    """One interaction on its way through the judge: it waits for a place, then it is judged.

    ``clock`` gives epoch seconds.
    """

    def __init__(
        self, judging_input: JudgingInput, policy: ScoringPolicy, clock: Callable[[], float]
    ) -> None:
        self._judging_input, self._policy, self._clock = judging_input, policy, clock
        self._deadline: Deadline | None = None

    async def result(self, perform: Perform = _plainly) -> JudgingResult:
        """What becomes of it, with how long it waited and was judged."""
        waiting_since, canaries = self._clock(), self._policy.canaries
        while True:
            result = await self._at_its_turn(perform, waiting_since)
            turned_away = result.reason == Reason.NOT_JUDGING
            # Its model was found out between its turn and its first call: another one judges.
            if not (turned_away and canaries is not None and canaries.has_a_judge()):
                return result

    async def _at_its_turn(self, perform: Perform, waiting_since: float) -> JudgingResult:
        async with admitted(self._policy):
            began, deadline = self._clock(), self._policy.limits.deadline()
            self._deadline = deadline
            try:
                judging = paid_for(self._judging_input, self._policy, deadline)
                result = await perform(judging, deadline)
            finally:
                self._deadline = None
        timings = {"wait_s": began - waiting_since, "judge_s": self._clock() - began}
        return result._replace(timings=timings)

    def may_be_left(self, within_s: float) -> bool:
        """Whether it waits for a place; or for limits, as ``Deadline`` says."""
        return self._deadline is None or self._deadline.may_be_left(within_s)


async def judged(
    judging_input: JudgingInput,
    policy: ScoringPolicy,
    deadline: Deadline | None = None,
    cost_meter: CostMeter | None = None,
) -> JudgingResult:
    """The judgement within the deadline, as a result; metrics of what is hidden have no value.

    The caller has been admitted. What it costs is on the ``cost_meter`` at any moment.
    """
    interaction = judging_input.shown
    cost_meter, judge = cost_meter or CostMeter(), policy.judge
    try:
        async with deadline or policy.limits.deadline():
            judgement = await judge.judge(interaction, cost_meter)
    except TimeoutError:
        if cost_meter.judgement is None:
            return _failed(interaction, judge, Reason.DEADLINE, cost_meter.usage)
        judgement = cost_meter.judgement.model_copy(update={"usage": cost_meter.usage})
    except TooLarge as error:
        return _too_large(interaction, policy, judging_input.known, cost_meter, str(error))
    except JudgeFailed as error:
        failed = _failed(
            interaction, judge, error.reason, cost_meter.usage, commonest(cost_meter.refused)
        )
        return failed._replace(found=str(error), number=cost_meter.number)
    judgement = labelled(judgement, interaction.retrieved_contexts, labels_win=policy.labels_win)
    scores = _chosen({**score_all(judgement), **judging_input.known}, policy.metrics)
    is_scored = any(isinstance(scores[name], float) for name in compared(scores))
    return JudgingResult(
        Outcome.SCORED if is_scored else Outcome.UNSCORABLE,
        None if is_scored else _why_unscorable(scores),
        judgement.judge,
        judgement.usage,
        judgement,
        scores,
        {},
        cost_meter.allowance.asked,
        number=cost_meter.number,
    )


def _failed(
    interaction: Interaction,
    judge: Judge,
    reason: str,
    usage: Usage,
    complaint: str | None = None,
) -> JudgingResult:
    fields: dict[str, str] = {} if complaint is None else {"complaint": complaint}
    name = interaction.interaction_id
    logger().warning("judge_failed", interaction_id=name, reason=str(reason), **fields)
    return JudgingResult(Outcome.JUDGE_FAILED, str(reason), judge.identity, usage, None, {}, {})


def _too_large(
    interaction: Interaction,
    policy: ScoringPolicy,
    known: Mapping[str, float | Unscored],
    cost_meter: CostMeter,
    found: str,
) -> JudgingResult:
    """No judge's failure: nobody is asked what would cost more than one interaction may."""
    name = interaction.interaction_id
    logger().warning("interaction_too_large", interaction_id=name, found=found)
    every = {**dict.fromkeys(CATALOGUE, Unscored.TOO_LARGE), **known}
    scores, judge = _chosen(every, policy.metrics), policy.judge.identity
    return JudgingResult(Outcome.UNSCORABLE, TOO_LARGE, judge, cost_meter.usage, None, scores, {})


def _chosen(
    scores: Mapping[str, float | Unscored], metrics: tuple[str, ...] | None
) -> dict[str, float | Unscored]:
    """A metric that is not chosen is left out: unscored would be counted as missing a value."""
    if metrics is None:
        return dict(scores)
    return {name: score for name, score in scores.items() if name in metrics}


def _why_unscorable(scores: dict[str, float | Unscored]) -> str:
    """The first metric's reason, in the catalogue's order, stands for the interaction."""
    reasons = (score for score in scores.values() if isinstance(score, Unscored))
    return next(reasons).value.lower()
