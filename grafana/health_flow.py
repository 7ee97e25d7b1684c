"""Charts of *Monitor health*: every interaction ends, and in time."""

from __future__ import annotations

from typing import Final

from grafana.health_tiles import CONSUMED, ENDED, FLYING, PROCESS, difference
from grafana.kinds import lines
from grafana.parts import (
    A_SECOND,
    DOUBT,
    GOOD,
    WORSE,
    Json,
    Query,
    Texts,
    fixed,
    named,
    zero_is_good,
)
from grafana.promql import or_unknown, or_zero, rate


def _outcomes() -> Json:
    texts = Texts(
        "Consumed and ended",
        "Interactions a second: what was read (`rag_monitor_interactions_consumed_total`, line) "
        "and how it ended (`rag_monitor_interactions_total`, areas).",
        A_SECOND,
    )
    line = named(
        "consumed",
        color=fixed(DOUBT),
        custom__fillOpacity=0,
        custom__lineWidth=2,
        custom__stacking={"group": "B", "mode": "none"},
    )
    ended, consumed = rate(ENDED, "outcome"), rate(CONSUMED, "")
    queries = Query(ended, "{{outcome}}"), Query(consumed, "consumed")
    return lines(texts, *queries, stacked=True, overrides=[line], min=0)


def _unaccounted() -> Json:
    texts = Texts(
        "Consumed − ended − in flight",
        "`rag_monitor_interactions_consumed_total` − `rag_monitor_interactions_total` − "
        "`rag_monitor_interactions_in_flight`, a line a process: 0 in every scrape. Anything else "
        "is a bug of the monitor.",
        "short",
    )
    steps = ((None, WORSE), (0, GOOD), (1, WORSE))
    query = Query(difference(), "{{instance}}")
    return lines(texts, query, steps=steps, custom={"axisSoftMax": 1, "axisSoftMin": -1})


def _reasons() -> Json:
    texts = Texts(
        "Not scored, by reason",
        "`rag_monitor_interactions_total` but scored, a second. not_sampled is as configured; the "
        "others: docs/outcomes.md.",
        A_SECOND,
    )
    lost = rate(ENDED, "outcome, reason", 'outcome!="scored"')
    query = Query(or_zero(lost, "reason"), "{{outcome}} {{reason}}")
    return lines(texts, query, stacked=True, min=0)


def _flying() -> Json:
    texts = Texts(
        "In flight",
        "Interactions read, but not ended (`rag_monitor_interactions_in_flight`), a line a "
        "process. Steady is well; at its limit the judge is the bottleneck.",
        "short",
    )
    return lines(texts, Query(f"sum by ({PROCESS}) ({FLYING})", "{{instance}}"), min=0)


def _lag_seconds() -> Json:
    texts = Texts(
        "Behind, in time",
        "`rag_monitor_consumer_lag_seconds` by partition: age of the oldest record that has not "
        "ended; 0 when there is none.",
        "s",
    )
    query = Query("max by (topic, partition) (rag_monitor_consumer_lag_seconds)", _PARTITION)
    return lines(texts, query, steps=zero_is_good(60, 600), min=0, legend="")


_PARTITION: Final = "{{topic}} {{partition}}"


def _lag_records() -> Json:
    texts = Texts(
        "Behind, in records",
        "`rag_monitor_group_lag_records` (an exporter's view, also while no scorer lives), summed "
        "up, and `rag_monitor_consumer_lag_records` (the scorers' own).",
        "short",
    )
    group = or_unknown("sum(max by (topic, partition) (rag_monitor_group_lag_records))")
    own = or_unknown("sum(max by (topic, partition) (rag_monitor_consumer_lag_records))")
    queries = Query(group, "as the group has committed"), Query(own, "as the scorers say")
    return lines(texts, *queries, min=0)


def _age() -> Json:
    texts = Texts(
        "Oldest in flight",
        "`rag_monitor_watermark_age_seconds` by partition: for how long the oldest interaction has "
        "been under way. One that only grows is stuck.",
        "s",
    )
    query = Query("max by (topic, partition) (rag_monitor_watermark_age_seconds)", _PARTITION)
    return lines(texts, query, steps=zero_is_good(60, 600), min=0, legend="")


ENDS: Final = (_outcomes, _unaccounted, _reasons)
IN_TIME: Final = (_lag_seconds, _lag_records, _age, _flying)
