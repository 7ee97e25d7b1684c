"""Pieces of PromQL that all dashboards share.

Two exporters show the same gauges: every gauge of quality is first ``max without (instance, pod)``,
so that a hot spare changes no number. Counters of scorers are of their own: they are added up.
"""

from __future__ import annotations

from typing import Final

#: What identifies a process in Kubernetes and outside of it.
REPLICAS: Final = "instance, pod"
APPLICATION: Final = 'application=~"$application"'
WHO: Final = f'{APPLICATION}, judge=~"$judge"'
WINDOW: Final = 'window="$window"'
SERIES: Final = "metric, window, application, judge"


def once(name: str, *matchers: str) -> str:
    """A gauge of the exporter, whatever the number of exporters.

    >>> once("rag_score", 'metric="faithfulness"')
    'max without (instance, pod) (rag_score{metric="faithfulness"})'
    """
    inner = ", ".join(matchers)
    return f"max without ({REPLICAS}) ({name}{{{inner}}})" if inner else _bare(name)


def _bare(name: str) -> str:
    return f"max without ({REPLICAS}) ({name})"


def rate(name: str, by: str, *matchers: str) -> str:
    """How fast a counter grows, of all processes together.

    >>> rate("rag_monitor_commits_total", "result")
    'sum by (result) (rate(rag_monitor_commits_total[$__rate_interval]))'
    """
    inner = f"{{{', '.join(matchers)}}}" if matchers else ""
    grouped = f"sum by ({by})" if by else "sum"
    return f"{grouped} (rate({name}{inner}[$__rate_interval]))"


def per_minute(name: str, by: str, *matchers: str) -> str:
    """The same a minute, for what happens seldom."""
    return f"60 * {rate(name, by, *matchers)}"


def increase(name: str, *matchers: str, by: str = "") -> str:
    """By how much a counter grew over the time shown."""
    inner = f"{{{', '.join(matchers)}}}" if matchers else ""
    grouped = f"sum by ({by})" if by else "sum"
    return f"{grouped} (increase({name}{inner}[$__range]))"


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


def nearness(*matchers: str) -> str:
    """Evidence as a share of what opens an alarm, one series a detector."""
    evidence, threshold = (once(f"rag_drift_{end}", *matchers) for end in ("evidence", "threshold"))
    return f"clamp_min({evidence} / {threshold}, 0)"
