"""Money, and what evidence of drift may cost beyond the plan."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Gauge,
)


class BudgetTelemetry:
    """The day's money; made where there is a budget. What is shown is asked for at scrapes."""

    def __init__(
        self,
        registry: CollectorRegistry,
        usd_per_day: float,
        spent: Callable[[], float],
        day_end: Callable[[], float],
    ) -> None:
        self.per_day = Gauge(
            "rag_monitor_budget_usd_per_day",
            "US dollars that judging may cost in a day, by all scorers.",
            registry=registry,
        )
        self.per_day.set(usd_per_day)
        self.spent = Gauge(
            "rag_monitor_budget_usd_spent",
            "US dollars that judging has cost since midnight, by all scorers.",
            registry=registry,
        )
        self.spent.set_function(spent)
        self.left = Gauge(
            "rag_monitor_budget_usd_left",
            "US dollars that are left until midnight.",
            registry=registry,
        )
        self.left.set_function(lambda: max(0.0, usd_per_day - spent()))
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
