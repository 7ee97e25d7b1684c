"""What the judge reports of its calls, as counters."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from monitor.judge.cache.store import Result, What
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.provider_gate import ProviderState, worst
from monitor.judge.pipeline.complaints import ReplyTally, commonest
from monitor.records import Usage
from monitor.runtime.logs import logger
from monitor.telemetry import (
    AsideTelemetry,
    CacheTelemetry,
    RecheckTelemetry,
    ScorerTelemetry,
)

#: Results of calls that a model has answered, if only with a message that cannot be read.
REPLIES: Final = (None, "ok", "malformed_reply")
#: Seconds between two lines of the log about refused replies, and how much of one they quote.
SAY_EVERY_S: Final = 60.0
MOST_CHARACTERS: Final = 200


class CountedCalls:
    """A ``CallObserver`` that counts into the scorer's telemetry.

    Refused replies are said in the log, too, the first at once and then a minute's together;
    ``clock`` gives seconds. ``tally`` counts them since the start.
    """

    def __init__(
        self,
        telemetry: ScorerTelemetry,
        clock: Callable[[], float] = time.monotonic,
        tally: ReplyTally | None = None,
    ) -> None:
        self._telemetry, self._clock = telemetry, clock
        self._whole, self._latest = tally or ReplyTally(), ReplyTally()
        self._reported_at: float | None = None

    def call_finished(self, task: str, seconds: float, usage: Usage, error: str | None) -> None:
        """Calls by result, latency, tokens and money."""
        for tally in (self._whole, self._latest):
            tally.replies += error in REPLIES
        self._telemetry.judge_calls.labels(task, error or "ok").inc()
        self._telemetry.judge_call_seconds.labels(task).observe(seconds)
        self._telemetry.judge_tokens.labels("prompt").inc(usage.prompt_tokens)
        self._telemetry.judge_tokens.labels("completion").inc(usage.completion_tokens)
        self._telemetry.judge_tokens.labels("reasoning").inc(usage.reasoning_tokens)
        self._telemetry.judge_usd.inc(usage.usd)

    def retried(self, reason: str) -> None:
        """Calls made again."""
        self._telemetry.judge_retries.labels(reason).inc()

    def refused(self, task: str, kind: str, complaint: str) -> None:
        """Refused replies by task and kind, and in the log what most of them are."""
        self._telemetry.judge_complaints.labels(task, kind).inc()
        for tally in (self._whole, self._latest):
            tally.refused[kind] += 1
        now = self._clock()
        if self._reported_at is not None and now - self._reported_at < SAY_EVERY_S:
            return
        self._reported_at = now
        logger().warning(
            "judge_replies_refused",
            what=self._latest.in_words(),
            commonest=commonest(self._latest.refused),
            latest=f"{task}: {complaint[:MOST_CHARACTERS]}",
        )
        self._latest = ReplyTally()

    def self_check_missed(self, n: int) -> None:
        """Claims that their own text does not support."""
        self._telemetry.self_check_misses.inc(n)


class CountedAside:
    """A ``CallObserver`` of judgements beside the traffic: what they cost stands apart."""

    def __init__(self, telemetry: AsideTelemetry, budget: Budget | None = None) -> None:
        self._aside, self._budget = telemetry, budget

    def call_finished(self, task: str, seconds: float, usage: Usage, error: str | None) -> None:
        """Calls by result, tokens and money."""
        self._aside.calls.labels(error or "ok").inc()
        self._aside.tokens.labels("prompt").inc(usage.prompt_tokens)
        self._aside.tokens.labels("completion").inc(usage.completion_tokens)
        self._aside.tokens.labels("reasoning").inc(usage.reasoning_tokens)
        self._aside.usd.inc(usage.usd)
        if self._budget is not None:
            self._budget.spend(usage.usd)

    def retried(self, reason: str) -> None:
        """Nothing: the calls say it."""

    def refused(self, task: str, kind: str, complaint: str) -> None:
        """Nothing: of these a second refusal is a result."""

    def self_check_missed(self, n: int) -> None:
        """Nothing: the claims of canaries are given."""


class CountedRecheck(CountedAside):
    """The same of rechecks, with what they miss."""

    def __init__(self, telemetry: RecheckTelemetry, budget: Budget | None = None) -> None:
        super().__init__(telemetry, budget)
        self._telemetry = telemetry

    def self_check_missed(self, n: int) -> None:
        """Claims that their own text does not support."""
        self._telemetry.misses.inc(n)


class ShownState:
    """A ``StateObserver``: a gauge for each state, asked at scrapes.

    A model that is asked with several keys, or at several addresses, shows the worst state of all.
    ``moved`` is told when one pauses, or goes on.
    """

    def __init__(self, telemetry: ScorerTelemetry, moved: Callable[[], None] | None = None) -> None:
        self._telemetry, self._moved = telemetry, moved
        self._states: dict[str, list[Callable[[], ProviderState]]] = {}

    def shown_by(self, model: str, state: Callable[[], ProviderState]) -> None:
        """1 for the state in force, 0 for the others."""
        self._states.setdefault(model, []).append(state)
        for which in ProviderState:
            gauge = self._telemetry.judge_state.labels(model, which.value)
            gauge.set_function(partial(self._is_in, model, which))

    def changed(self, model: str, state: ProviderState) -> None:
        """Pass it on."""
        if self._moved is not None:
            self._moved()

    def _is_in(self, model: str, which: ProviderState) -> float:
        return float(worst(found() for found in self._states[model]) is which)


class ShownIds:
    """An ``IdObserver``: a gauge, asked at scrapes; at several addresses the most of one."""

    def __init__(self, telemetry: ScorerTelemetry) -> None:
        self._telemetry = telemetry
        self._counts: dict[str, list[Callable[[], int]]] = {}

    def ids_shown_by(self, model: str, count: Callable[[], int]) -> None:
        """Of one more address."""
        counts = self._counts.setdefault(model, [])
        counts.append(count)
        self._telemetry.judge_ids.labels(model).set_function(lambda: max(c() for c in counts))


class ShownQuota:
    """A ``QuotaObserver``: a gauge of what is shared, and errors by reason."""

    def __init__(self, telemetry: ScorerTelemetry) -> None:
        self._telemetry = telemetry

    def shared(self, model: str, yes: bool) -> None:
        """1 or 0."""
        self._telemetry.limits_shared.labels(model).set(yes)

    def failed(self, reason: str) -> None:
        """One more."""
        self._telemetry.limits_redis_errors.labels(reason).inc()


class CountedCache:
    """A ``CacheObserver`` that counts into the process's telemetry."""

    def __init__(self, telemetry: CacheTelemetry) -> None:
        self._telemetry = telemetry

    def looked_up(self, what: What, result: Result) -> None:
        """Lookups by result, and their ratio."""
        self._telemetry.looked_up(what, result)

    def store_failed(self, reason: str) -> None:
        """Failed requests by reason."""
        self._telemetry.errors.labels(reason).inc()
