"""Which metrics there are, and which ones an expression, a template or a text names.

For rules, dashboards and runbooks alike: what they name must exist.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import promql_parser
from prometheus_client import CollectorRegistry

from monitor.app.scores import aggregators
from monitor.config import Settings, load
from monitor.exporter.serve.collector import QualityCollector
from monitor.rules.model import Recording
from monitor.rules.render import groups
from monitor.telemetry import (
    AuditTelemetry,
    BudgetTelemetry,
    BurstTelemetry,
    ExporterTelemetry,
    KafkaTelemetry,
    PausedTelemetry,
    ProcessTelemetry,
    ScorerTelemetry,
    new_registry,
)

#: What Prometheus makes itself, of every target and every alert.
OF_PROMETHEUS: Final = frozenset(
    {
        "ALERTS",
        "ALERTS_FOR_STATE",
        "scrape_duration_seconds",
        "scrape_samples_post_metric_relabeling",
        "scrape_samples_scraped",
        "scrape_series_added",
        "up",
    }
)
_ENDS: Final = {
    "counter": ("_total",),
    "info": ("_info",),
    "histogram": ("_bucket", "_sum", "_count"),
    "summary": ("", "_sum", "_count"),
}


@cache
def declared_metrics() -> frozenset[str]:
    """The names of everything on the pages of all roles, as Prometheus stores it."""
    registry = new_registry()
    ProcessTelemetry(registry, "0")
    KafkaTelemetry(registry)
    ScorerTelemetry(registry)
    ExporterTelemetry(registry)
    AuditTelemetry(registry)
    BudgetTelemetry(registry, 0.0, lambda: 0.0, lambda: 0.0)
    BurstTelemetry(registry, 0.0, lambda: 0.0)
    PausedTelemetry(registry, lambda: {"*": 0.0})
    registry.register(_quality())
    return frozenset(_sample_names(registry))


def _quality() -> QualityCollector:
    aggregator = aggregators(load({}, flags={"export.segment": "tenant"})).scores
    return QualityCollector(aggregator, lambda: 0.0, lambda: False)


def _sample_names(registry: CollectorRegistry) -> set[str]:
    return {
        family.name + end for family in registry.collect() for end in _ENDS.get(family.type, ("",))
    }


@cache
def recorded_metrics() -> frozenset[str]:
    """The names that the rules record."""
    rules = [rule for group in groups(Settings()) for rule in group.rules]
    return frozenset(rule.record for rule in rules if isinstance(rule, Recording))


def known_metrics() -> frozenset[str]:
    """All that an expression may name."""
    return declared_metrics() | recorded_metrics() | OF_PROMETHEUS


def metrics_named_in(expr: str) -> set[str]:
    """The metrics that an expression selects; raises ``ValueError`` when it is no PromQL.

    >>> sorted(metrics_named_in('sum(rate(a_total[5m])) / on () group_left b{c=~"d.*"} offset 1h'))
    ['a_total', 'b']
    >>> sorted(metrics_named_in('{__name__=~"a|b"} or {__name__="c"}'))
    ['a', 'b', 'c']
    """
    found: set[str] = set()

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.update(_selected(node))

    promql_parser.walk(promql_parser.parse(expr), visit)
    return found


def _selected(selector: promql_parser.VectorSelector) -> set[str]:
    if selector.name:
        return {selector.name}
    names = [m.value for m in selector.matchers.matchers if m.name == "__name__"]
    # Of a regular expression only a list of names says which metrics are meant.
    return {name for value in names for name in value.split("|")}


def queries_in(template: str) -> list[str]:
    """The expressions that a template of an alert asks Prometheus for.

    >>> queries_in('{{ with printf `a{b=%q}` $labels.b | query }}{{ end }}')
    ['a{b=""}']
    """
    found = re.findall(r"printf `([^`]*)`[^|}]*\| query", template)
    return [query.replace("%q", '""') for query in found]


def metrics_mentioned_in(text: str) -> set[str]:
    """Names of ours in a text, as in a description, a runbook or a page.

    >>> sorted(metrics_mentioned_in("`rag_score` and topic:rag_monitor_ready:max, not rag_score_*"))
    ['rag_score', 'topic:rag_monitor_ready:max']
    """
    found = re.findall(r"(?<![\w:])(?:\w+:)?rag_[a-z0-9_]*[a-z0-9](?::\w+)?(?![\w:*]|_\*)", text)
    return set(found) - {"rag_monitor"}  # the package
