"""What the judge reports of its calls, as counters."""

from __future__ import annotations

from monitor.records import Usage
from monitor.telemetry import ScorerTelemetry


class CountedCalls:
    """A ``CallObserver`` that counts into the scorer's telemetry."""

    def __init__(self, telemetry: ScorerTelemetry) -> None:
        self._telemetry = telemetry

    def call_finished(self, task: str, seconds: float, usage: Usage, error: str | None) -> None:
        """Calls by result, latency, tokens and money."""
        self._telemetry.judge_calls.labels(task, error or "ok").inc()
        self._telemetry.judge_call_seconds.labels(task).observe(seconds)
        self._telemetry.judge_tokens.labels("prompt").inc(usage.prompt_tokens)
        self._telemetry.judge_tokens.labels("completion").inc(usage.completion_tokens)
        self._telemetry.judge_tokens.labels("reasoning").inc(usage.reasoning_tokens)
        self._telemetry.judge_usd.inc(usage.usd)

    def retried(self, reason: str) -> None:
        """Calls made again."""
        self._telemetry.judge_retries.labels(reason).inc()

    def self_check_missed(self, n: int) -> None:
        """Claims that their own text does not support."""
        self._telemetry.self_check_misses.inc(n)
