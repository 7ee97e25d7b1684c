"""Pieces of PromQL that all dashboards share.

Two exporters show the same gauges: every gauge of quality is first ``max without (instance, pod)``,
so that a hot spare changes no number. Counters of scorers are of their own: they are added up.
"""

from __future__ import annotations

import re
from typing import Final

from monitor.config.alerting import Alerts
from monitor.metrics.catalogue import CATALOGUE

_ALERTS: Final = Alerts()
#: Labels of the scrape that tell several monitors apart, and processes of one, as in the rules.
BY: Final = _ALERTS.by
REPLICAS: Final = ", ".join(_ALERTS.replicas)
#: The chosen monitor. Where no series has such a label the variable is empty, and empty matches.
MONITOR: Final = ", ".join(f'{label}="${label}"' for label in BY)
#: What "now" is for a rate in a tile: the same, however long the time shown is.
NOW: Final = "5m"
_SELECTORS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\b((?:rag|process)_\w+)(\{)?')
APPLICATION: Final = 'application=~"$application"'
WHO: Final = f'{APPLICATION}, judge=~"$judge"'
WINDOW: Final = 'window="$window"'
SERIES: Final = "metric, window, application, judge"


def of_monitor(expression: str) -> str:
    """With every selector narrowed to the chosen monitor: the one place that does it, for all.

    >>> of_monitor('a(rag_x{b="rag_y"}[5m]) / rag_z')
    'a(rag_x{cluster="$cluster", namespace="$namespace", b="rag_y"}[5m]) \
/ rag_z{cluster="$cluster", namespace="$namespace"}'
    """

    def narrowed(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return f"{found[1]}{{{MONITOR}, " if found[2] else f"{found[1]}{{{MONITOR}}}"

    return _SELECTORS.sub(narrowed, expression)


def once(name: str, *matchers: str, at: str = "") -> str:
    """A gauge of the exporter, whatever the number of exporters; ``at`` may say when.

    >>> once("rag_score", 'metric="faithfulness"')
    'max without (instance, pod) (rag_score{metric="faithfulness"})'
    """
    inner = f"{{{', '.join(matchers)}}}" if matchers else ""
    return f"max without ({REPLICAS}) ({name}{inner}{at})"


def rate(name: str, by: str, *matchers: str, over: str = "$__rate_interval") -> str:
    """How fast a counter grows, of all processes together.

    >>> rate("rag_monitor_commits_total", "result")
    'sum by (result) (rate(rag_monitor_commits_total[$__rate_interval]))'
    """
    inner = f"{{{', '.join(matchers)}}}" if matchers else ""
    grouped = f"sum by ({by})" if by else "sum"
    return f"{grouped} (rate({name}{inner}[{over}]))"


def per_minute(name: str, by: str, *matchers: str) -> str:
    """The same a minute, for what happens seldom."""
    return f"60 * {rate(name, by, *matchers)}"


def increase(name: str, *matchers: str, by: str = "") -> str:
    """By how much a counter grew over the time shown."""
    inner = f"{{{', '.join(matchers)}}}" if matchers else ""
    grouped = f"sum by ({by})" if by else "sum"
    return f"{grouped} (increase({name}{inner}[$__range]))"


def grown(name: str, *labels: str) -> str:
    """The same of a counter whose ``labels`` begin with their first event, which counts, too.

    ``increase`` needs two values of a series. What was not there before counts in full, if its
    process was, or has started since: else Prometheus is new, and a life's count is no news.
    """
    since = "process_start_time_seconds > time() - $__range_s"
    known = f"(rag_monitor_interactions_in_flight offset $__range or {since})"
    born = f"({name} unless {name} offset $__range) and ignoring ({', '.join(labels)}) {known}"
    return f"sum (({born}) or increase({name}[$__range]))"


def quantile(q: float, histogram: str, *matchers: str, by: str = "") -> str:
    """A quantile of a histogram; absent, and not NaN, while nothing was counted.

    >>> quantile(0.5, "h")
    'histogram_quantile(0.5, sum by (le) (rate(h_bucket[$__rate_interval]))) >= 0'
    """
    buckets = rate(f"{histogram}_bucket", f"le, {by}" if by else "le", *matchers)
    return f"histogram_quantile({q:g}, {buckets}) >= 0"


def or_zero(expression: str, label: str = "", value: str = "none") -> str:
    """Zero where there is nothing: for what is rare, and only for that.

    With a ``label`` the zero is a series of its own, that ends when there is something.

    >>> or_zero("sum(x)"), or_zero("x", "reason")[-69:]
    ('sum(x) or vector(0)', 'x or on () label_replace(vector(0), "reason", "none", "", "")')
    """
    if not label:
        return f"{expression} or vector(0)"
    zero = f'label_replace(vector(0), "{label}", "{value}", "", "")'
    return f"{expression} or on () {zero}"


def or_unknown(expression: str, label: str = "", value: str = "unknown") -> str:
    """NaN where there is nothing, and where a zero would be a lie.

    >>> or_unknown("max(x)")
    'max(x) or vector(NaN)'
    """
    return or_zero(expression, label, value).replace("vector(0)", "vector(NaN)")


def leading(name: str, *matchers: str, by: str = "", only: str = "") -> str:
    """One series an application: that of the judge with the most scored interactions.

    Scores of two judges are never mixed: where the judge changes, the line goes over to the next.
    ``by`` are labels to keep besides, and ``only`` is a matcher for these.
    """
    chosen = once("rag_score_samples", *matchers)
    kept = f"metric, window, application{', ' if by else ''}{by}"
    inner = ", ".join(filter(None, [*matchers, only]))
    return (
        f"max by ({kept}) ({name}{{{inner}}} "
        f"and on ({SERIES}) topk by (metric, window, application) (1, {chosen}))"
    )


def leading_plain(name: str, *matchers: str) -> str:
    """The same for a gauge without windows."""
    chosen = once("rag_score_samples", *matchers, 'window="$window"')
    return (
        f"max by (metric, application) ({name}{{{', '.join(matchers)}}} "
        f"and on (metric, application, judge) topk by (metric, application) (1, {chosen}))"
    )


def ratio(*matchers: str, at: str = "") -> str:
    """Evidence as a share of what opens an alarm, one series a detector; below 0 it is none."""
    evidence, threshold = (
        once(f"rag_drift_{end}", *matchers, at=at) for end in ("evidence", "threshold")
    )
    return f"{evidence} / {threshold}"


def nearness(*matchers: str) -> str:
    """The same, for people: how near an alarm is, from 0 on."""
    return f"clamp_min({ratio(*matchers)}, 0)"


def standing(*matchers: str, at: str = "") -> str:
    """The same, where an open alarm is 1 at least: its evidence may have fallen since."""
    pair = "metric, application, judge"
    share = f"clamp_min({ratio(*matchers, at=at)}, 0)"
    is_open = f"{once('rag_drift_alarm', *matchers, at=at)} == 1"
    return f"clamp_min({share} and on ({pair}) ({is_open}), 1) or {share}"


def nearest(*matchers: str, window: str = WINDOW) -> str:
    """The application that is nearest to an alarm at the end of the time shown.

    Where nothing is watched yet, it is the one with the most scored interactions.
    """
    near = f"max by (application) ({standing(*matchers, at=_END)})"
    samples = once("rag_score_samples", *matchers, window, at=_END)
    return f"topk(1, {near} or 1e-9 * max by (application) ({samples}) - 1)"


def nearest_ten(*matchers: str) -> str:
    """The ten detectors that came nearest to an alarm within the time shown."""
    inner = ", ".join(matchers)
    most = f"max_over_time(rag_drift_evidence{{{inner}}}[$__range]{_END})"
    threshold = once("rag_drift_threshold", *matchers, at=_END)
    return f"topk(10, max without ({REPLICAS}) ({most}) / {threshold})"


_END: Final = " @ end()"


def at_end(expression: str) -> str:
    """As it is at the end of the time shown; each selector of it has matchers.

    >>> at_end('sum(rag_x{a="b"})')
    'sum(rag_x{a="b"} @ end())'
    """
    return re.sub(r"(rag_\w+\{[^}]*\}(?:\[[^]]*\])?)", rf"\1{_END}", expression)


def plainly(expression: str, label: str = "metric", plain: str = "{}", name: str = "{}") -> str:
    """With the plain name of a metric in the place of its name, in a label or in a part of it.

    ``name`` is what a label matches, and ``plain`` what it becomes.
    """
    for own, metric in CATALOGUE.items():
        words = metric.plain[:1].upper() + metric.plain[1:]
        told, found = plain.format(words), name.format(own)
        expression = f'label_replace({expression}, "{label}", "{told}", "{label}", "{found}")'
    return expression
