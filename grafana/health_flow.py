"""Charts of *Monitor health*: every interaction ends, and in time."""

from __future__ import annotations

from typing import Final

from grafana.health_tiles import CONSUMED, ENDED
from grafana.kinds import lines
from grafana.parts import (
    A_SECOND,
    DOUBT,
    FAINT,
    GOOD,
    PLAIN,
    WORSE,
    Json,
    Query,
    Texts,
    fixed,
    lit,
    matching,
    named,
    zero_is_good,
)
from grafana.promql import or_unknown, or_zero, rate


def _outcomes() -> Json:
    texts = Texts(
        "Consumed and ended",
        "Interactions a second: what arrived (growth of `rag_monitor_input_end_offset`; 0 is a "
        "quiet topic, and not the monitor's fault), what was read "
        "(`rag_monitor_interactions_consumed_total`, line) and how it ended "
        "(`rag_monitor_interactions_total`, areas).",
        A_SECOND,
    )
    grown = "deriv(rag_monitor_input_end_offset[$__rate_interval])"
    arrived = f"clamp_min(sum(max by (topic, partition) ({grown})), 0)"
    return lines(
        texts,
        Query(rate(ENDED, "outcome"), "{{outcome}}"),
        Query(rate(CONSUMED, ""), "consumed"),
        Query(arrived, "arrived"),
        stacked=True,
        overrides=[*ENDINGS, _line("consumed", []), _line("arrived", [4, 4])],
        min=0,
    )


#: Scored as it should, left out as configured; anything else is a loss.
ENDINGS: Final = [
    named("scored", color=fixed(GOOD)),
    matching("/^not_sampled/", color=fixed(FAINT)),
    matching("/^(unscorable|over_budget|dead_lettered)/", color=fixed(DOUBT)),
    matching("/^judge_failed/", color=fixed(WORSE)),
]


def _line(name: str, dash: list[int]) -> Json:
    style = {"dash": dash, "fill": "dash"} if dash else {"fill": "solid"}
    return named(
        name,
        color=fixed(PLAIN),
        custom__fillOpacity=0,
        custom__lineStyle=style,
        custom__lineWidth=2,
        custom__stacking={"group": "B", "mode": "none"},
    )


def _reasons() -> Json:
    texts = Texts(
        "Not scored, by reason",
        "`rag_monitor_interactions_total` but scored, a second. not_sampled is as configured; the "
        "others: docs/outcomes.md.",
        A_SECOND,
    )
    lost = rate(ENDED, "outcome, reason", 'outcome!="scored"')
    query = Query(or_zero(lost, "reason"), "{{outcome}} {{reason}}")
    return lines(texts, query, stacked=True, overrides=ENDINGS, min=0)


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
        "up; `rag_monitor_consumer_lag_records` (the scorers' own); and "
        "`rag_monitor_replay_records_left` of an exporter that starts: no gauges until it is 0.",
        "short",
    )
    group = or_unknown("sum(max by (topic, partition) (rag_monitor_group_lag_records))")
    own = or_unknown("sum(max by (topic, partition) (rag_monitor_consumer_lag_records))")
    left = "max(rag_monitor_replay_records_left)"
    return lines(
        texts,
        Query(group, "as the group has committed"),
        Query(own, "as the scorers say"),
        Query(left, "an exporter's replay"),
        overrides=[
            named("as the scorers say", color=fixed(FAINT)),
            lit("an exporter's replay", DOUBT),
            named("an exporter's replay", custom__lineStyle={"dash": [2, 4], "fill": "dash"}),
        ],
        min=0,
    )


ENDS: Final = (_outcomes, _reasons)
IN_TIME: Final = (_lag_seconds, _lag_records)
