"""Money, and what evidence of drift may cost beyond the plan."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Gauge,
)

from monitor.telemetry.shared import LateGauge


class BudgetTelemetry:
    """The day's money; made where there is a budget. What is shown is asked for at scrapes.

    ``spent`` gives None until the score records of the day are read: a 0 that jumps to what was
    spent would be a pace for whoever looks at the gauge.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        usd_per_day: float,
        spent: Callable[[], float | None],
        day_end: Callable[[], float],
    ) -> None:
        self.per_day = Gauge(
            "rag_monitor_budget_usd_per_day",
            "US dollars that judging may cost in a day, by all scorers.",
            registry=registry,
        )
        self.per_day.set(usd_per_day)
        self.spent = LateGauge(
            "rag_monitor_budget_usd_spent",
            "US dollars that judging has cost since midnight, by all scorers; absent until the "
            "day's score records are read.",
            registry,
            spent,
        )
        self.left = LateGauge(
            "rag_monitor_budget_usd_left",
            "US dollars that are left until midnight; absent until it is known what was spent.",
            registry,
            lambda: None if (found := spent()) is None else max(0.0, usd_per_day - found),
        )
        self.day_end = Gauge(
            "rag_monitor_budget_day_end_timestamp_seconds",
            "When the day of the budget ends (budget.timezone), as a Unix time.",
            registry=registry,
        )
        self.day_end.set_function(day_end)


class BurstTelemetry:
    """What exporters have granted; made where bursts are switched on. Asked for at scrapes."""

    def __init__(
        self, registry: CollectorRegistry, per_day_s: float, granted_s: Callable[[], float]
    ) -> None:
        self.per_day = Gauge(
            "rag_monitor_burst_allowance_seconds",
            "Seconds of a day for which more judgements may be asked for (drift.burst.per_day).",
            registry=registry,
        )
        self.per_day.set(per_day_s)
        self.granted = Gauge(
            "rag_monitor_burst_granted_seconds",
            "Seconds of today for which more judgements were asked for, by all exporters.",
            registry=registry,
        )
        self.granted.set_function(granted_s)
