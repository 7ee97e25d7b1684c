"""What the rules need to know of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from monitor.config import Settings, seconds
from monitor.config.alerting import AlertName, Alerts
from monitor.config.judging import LONGEST_BLOCK_WAIT_S
from monitor.rules.model import Alert, Severity
from monitor.rules.promql import duration

Dashboard = str
#: The dashboards' uids, and the variables that an alert's labels set on them.
QUALITY: Final = "rag-quality"
DRIFT: Final = "rag-drift"
JUDGE: Final = "rag-judge"
HEALTH: Final = "rag-health"


@dataclass(frozen=True)
class AlertPlan:
    """``alerts`` as they are set; ``least_rate`` is the smallest share that is ever sampled."""

    alerts: Alerts
    least_rate: float
    #: The window of the gauges that says how an application fares: an hour, or what is next to it.
    hour: str = "1h"
    #: The windows that are exported, the shortest first.
    windows: tuple[str, ...] = ("5m", "1h", "24h")
    #: How long an interaction may wait for the end of its block; 0 without blocks.
    block_s: int = 0
    #: Whether all is judged, however late.
    completeness: bool = False
    #: Topics whose records are no interactions, but parts of some: their number says nothing.
    span_topics: tuple[str, ...] = ()
    #: Whether there are others.
    has_records: bool = True

    @property
    def by(self) -> str:
        """The labels that tell monitors apart.

        >>> AlertPlan(Alerts(by="cluster,namespace"), 1.0).by
        'cluster, namespace'
        """
        return ", ".join(self.alerts.by)

    def one_of_replicas(self, metric: str, *others: str) -> str:
        """A gauge that several processes serve alike, once; and the largest over ``others``.

        >>> AlertPlan(Alerts(), 1.0).one_of_replicas("rag_score")
        'max without (instance, pod) (rag_score)'
        """
        return f"max without ({', '.join((*self.alerts.replicas, *others))}) ({metric})"

    def shorter(self, window: str) -> str | None:
        """The longest window of at most a quarter of this one; None where there is none.

        >>> plan = AlertPlan(Alerts(), 1.0)
        >>> plan.shorter("24h"), plan.shorter("1h"), plan.shorter("5m")
        ('1h', '5m', None)
        """
        short = [one for one in self.windows if 4 * seconds(one) <= seconds(window)]
        return short[-1] if short else None

    @property
    def lag_s(self) -> int:
        """The age from which a record is late, in seconds; what waits for its block is not."""
        return seconds(self.alerts.lag) + self.block_s

    @property
    def lag(self) -> str:
        """The same, as Prometheus reads it."""
        return duration(self.lag_s)

    @property
    def blind_pending(self) -> str:
        """For how long scores may be missing: the first block after a silence gives none yet."""
        return duration(seconds(self.alerts.pending["RagMonitorBlind"]) + self.block_s)

    @property
    def out_of_budget(self) -> str:
        """Whether reading pauses until there is money again, which is as it was asked for."""
        return f"({self.summed('rag_monitor_interactions_waiting_for_money')} > 0)"

    def summed(self, expr: str, *labels: str) -> str:
        """The sum over everything but those labels, and some more.

        >>> AlertPlan(Alerts(by="cluster"), 1.0).summed("up", "job")
        'sum by (cluster, job) (up)'
        """
        return f"sum by ({', '.join((*self.alerts.by, *labels))}) ({expr})"

    def alert(
        self, name: AlertName, severity: Severity, dashboard: Dashboard, **rule: Any
    ) -> Alert:
        """A rule of the alert ``name``, with what is the same for all."""
        about = rule.pop("about", ())
        return Alert(
            name,
            severity,
            runbook_url=f"{self.alerts.runbook_url}/{name}.md",
            dashboard_url=f"{self.alerts.dashboard_url}/{dashboard}"
            f"{_variables((*self.alerts.by, *about))}",
            **{
                "pending": self.alerts.pending[name],
                "keep_firing": self.alerts.keep_firing[name],
                **rule,
                "labels": {**self.alerts.labels, **rule.get("labels", {})},
            },
        )


def plan(settings: Settings) -> AlertPlan:
    """The plan of some settings."""
    block_s = 0 if settings.sampling.block == 1 else LONGEST_BLOCK_WAIT_S
    return AlertPlan(
        settings.alerts,
        # What nobody wants to be judged hides nothing of the others.
        min((rate for rate in settings.rates if rate > 0), default=0.0),
        _about_an_hour(settings.export.windows),
        tuple(sorted(settings.export.windows, key=seconds)),
        block_s,
        settings.ingest.when_behind == "completeness",
        *_span_topics(settings),
    )


def _span_topics(settings: Settings) -> tuple[tuple[str, ...], bool]:
    """Those of spans, and whether there are others."""
    formats = dict.fromkeys(settings.kafka.topics.interactions, settings.ingest.format)
    formats |= {source.topic: source.format for source in settings.ingest.sources}
    spans = tuple(topic for topic, name in formats.items() if name.startswith("otlp_"))
    return spans, len(spans) < len(formats)


def _about_an_hour(windows: Sequence[str]) -> str:
    """The longest window of at most an hour, else the shortest.

    >>> _about_an_hour(["5m", "1h", "24h"]), _about_an_hour(["2h", "7d"])
    ('1h', '2h')
    """
    short = [window for window in windows if seconds(window) <= seconds("1h")]
    return max(short, key=seconds) if short else min(windows, key=seconds)


def _variables(labels: tuple[str, ...]) -> str:
    """The variables of a dashboard, from the labels of the alert.

    >>> _variables(("judge",))
    '?var-judge={{ $labels.judge | urlquery }}'
    """
    parts = [f"var-{label}={{{{ $labels.{label} | urlquery }}}}" for label in labels]
    return "?" + "&".join(parts) if parts else ""
