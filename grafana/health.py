"""*Monitor health*: does the monitor itself see everything, and in time?"""

from __future__ import annotations

from typing import Final

from grafana.frame import Band, Section, dashboard
from grafana.parts import (
    A_MINUTE,
    A_SECOND,
    DOUBT,
    GOOD,
    NEUTRAL,
    WORSE,
    Json,
    Query,
    Texts,
    fixed,
    lines,
    named,
    states,
    tile,
    worded,
    zero_is_good,
)
from grafana.promql import increase, or_unknown, or_zero, per_minute, rate

CONSUMED: Final = "rag_monitor_interactions_consumed_total"
ENDED: Final = "rag_monitor_interactions_total"
FLYING: Final = "rag_monitor_interactions_in_flight"
PROCESS: Final = "job, instance"
#: Of our processes only: every program has a memory.
OURS: Final = f"* on ({PROCESS}) group_left () max by ({PROCESS}) (rag_monitor_build_info)"


def health() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-health",
        "RAG / Monitor health",
        "Does the monitor itself see everything, in time, and without losing any of it?",
        [
            Section("", [Band(5, _tiles())]),
            Section("Every interaction ends", [Band(8, [(8, p()) for p in _ENDS])]),
            Section("In time", [Band(8, [(6, p()) for p in _IN_TIME])]),
            Section("Kafka", [Band(7, [(6, p()) for p in _KAFKA])]),
            Section("Left out", [Band(7, [(6, p()) for p in _LEFT_OUT])]),
            Section("Processes", [Band(7, [(6, p()) for p in _PROCESSES])]),
        ],
    )


def difference() -> str:
    """Consumed − ended − in flight, of each process: 0 in every scrape."""
    consumed = f"sum by ({PROCESS}) ({CONSUMED})"
    ended = f"(sum by ({PROCESS}) ({ENDED}) or 0 * {consumed})"
    return f"{consumed} - {ended} - sum by ({PROCESS}) ({FLYING})"


def _tiles() -> list[tuple[int, Json]]:
    ready = or_unknown("min(rag_monitor_ready)")
    words = {0.0: ("Not ready", WORSE), 1.0: ("Ready", GOOD)}
    lost = or_unknown(f"max(abs({difference()}))")
    lag = Query(or_unknown("max(rag_monitor_consumer_lag_seconds)"))
    dead = increase("rag_monitor_dead_letters_total")
    left = Query(or_unknown("max(rag_monitor_replay_records_left)"))
    series = Query(or_unknown("max(rag_monitor_series)"))
    memory = Query(f"max(process_resident_memory_bytes {OURS})")
    consumed = Query(rate(CONSUMED, ""))
    one = zero_is_good(worse=1)
    return [
        (
            3,
            tile(
                _READY,
                Query(ready),
                trend=False,
                words=words,
                absent="Down",
                steps=NEUTRAL,
            ),
        ),
        (3, tile(_RATE, consumed, trend=False, steps=((None, DOUBT), (1e-9, GOOD)))),
        (3, tile(_LOST, Query(lost), steps=one)),
        (3, tile(_LAG, lag, steps=zero_is_good(60, 600))),
        (3, tile(_DEAD, Query(or_zero(dead), instant=True), trend=False, steps=one)),
        (3, tile(_REPLAY, left, steps=zero_is_good(1), absent="No exporter")),
        (3, tile(_MEMORY, memory, trend=False, steps=NEUTRAL)),
        (3, tile(_SERIES, series, trend=False, steps=zero_is_good(20_000, 100_000))),
    ]


_READY: Final = Texts(
    "Ready",
    "The lowest `rag_monitor_ready` of all processes; what one waits for stands on its `/readyz`.",
)
_RATE: Final = Texts(
    "Consumed",
    "Interactions read a second, of all scorers (`rag_monitor_interactions_consumed_total`).",
    A_SECOND,
    1,
)
_LOST: Final = Texts(
    "Difference",
    "`rag_monitor_interactions_consumed_total` − `rag_monitor_interactions_total` − "
    "`rag_monitor_interactions_in_flight`, the largest of all processes: 0 in every scrape, or "
    "there is a bug.",
    "short",
    0,
)
_LAG: Final = Texts(
    "Behind",
    "Age of the oldest interaction that has not ended (`rag_monitor_consumer_lag_seconds`), the "
    "highest of all partitions.",
    "s",
    1,
)
_DEAD: Final = Texts(
    "Dead letters",
    "Records that became dead letters in the time shown (`rag_monitor_dead_letters_total`). See "
    "rag-monitor dead-letters list.",
    "short",
    0,
)
_REPLAY: Final = Texts(
    "Replay left",
    "Records that an exporter still has to read before it is ready "
    "(`rag_monitor_replay_records_left`): there are no gauges until then.",
    "short",
    0,
)
_MEMORY: Final = Texts(
    "Memory",
    "The highest `process_resident_memory_bytes` of the monitor's processes.",
    "bytes",
    0,
)
_SERIES: Final = Texts(
    "Series",
    "`rag_monitor_series`: series of the quality families that an exporter serves. Grows with "
    "applications, segments and windows; export.top_k holds it.",
    "short",
    0,
)


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
        "others are told in the README, Why was this interaction not scored?",
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


def _input() -> Json:
    texts = Texts(
        "Traffic",
        "Interactions that arrive a second: growth of `rag_monitor_input_end_offset`. 0 is a quiet "
        "topic, and not the monitor's fault.",
        A_SECOND,
    )
    grown = "deriv(rag_monitor_input_end_offset[$__rate_interval])"
    query = Query(
        f"clamp_min(sum by (topic) (max by (topic, partition) ({grown})), 0)", "{{topic}}"
    )
    return lines(texts, query, min=0, fill=10)


def _rebalances() -> Json:
    texts = Texts(
        "Rebalances",
        "`rag_monitor_rebalances_total` a minute, by process: a scorer came or went. Many an hour "
        "are a scorer that dies, or is too slow for the group.",
        A_MINUTE,
    )
    return lines(
        texts, Query(per_minute("rag_monitor_rebalances_total", PROCESS), "{{instance}}"), min=0
    )


def _commits() -> Json:
    texts = Texts(
        "Commits",
        "Offset commits a second by result (`rag_monitor_commits_total`). Without any, "
        "interactions are read again after a restart.",
        A_SECOND,
    )
    query = Query(or_zero(rate("rag_monitor_commits_total", "result"), "result"), "{{result}}")
    return lines(texts, query, min=0)


def _writes() -> Json:
    texts = Texts(
        "Writes tried again",
        "`rag_monitor_publish_retries_total` a minute by topic, and score records that went out "
        "without texts (`rag_monitor_records_truncated_total`).",
        A_MINUTE,
    )
    again = or_zero(per_minute("rag_monitor_publish_retries_total", "topic"), "topic")
    short = Query(per_minute("rag_monitor_records_truncated_total", ""), "without texts")
    return lines(texts, Query(again, "{{topic}}"), short, min=0)


def _problems() -> Json:
    texts = Texts(
        "Problems with Kafka",
        "`rag_monitor_kafka_problem` by kind, and `rag_monitor_dead_letter_circuit_open`: reading "
        "pauses because nearly every record becomes a dead letter. The log tells more.",
    )
    kinds = or_zero("max by (kind) (rag_monitor_kafka_problem)", "kind", "no problem")
    circuit = Query(or_zero("max(rag_monitor_dead_letter_circuit_open)"), "circuit open")
    words = worded({0.0: ("no", GOOD), 1.0: ("yes", WORSE)})
    steps = zero_is_good(worse=1)
    return states(texts, Query(kinds, "{{kind}}"), circuit, mappings=words, steps=steps)


def _dead_letters() -> Json:
    texts = Texts(
        "Dead letters, by cause",
        "`rag_monitor_dead_letters_total` a minute by stage and cause, and "
        "`rag_monitor_dead_letters_waiting`: those that find no place on their topic.",
        A_MINUTE,
    )
    dead = or_zero(per_minute("rag_monitor_dead_letters_total", "stage, cause"), "cause")
    waiting = Query(or_zero("sum(rag_monitor_dead_letters_waiting)"), "waiting")
    red = named("waiting", color=fixed(WORSE))
    return lines(texts, Query(dead, "{{stage}} {{cause}}"), waiting, overrides=[red], min=0)


def _unscored() -> Json:
    texts = Texts(
        "Metrics without a value",
        "`rag_monitor_unscored_total` a second by reason: nothing to score, as no reference or no "
        "claims. Never shown as 0 or 1 in a score.",
        A_SECOND,
    )
    query = Query(or_zero(rate("rag_monitor_unscored_total", "reason"), "reason"), "{{reason}}")
    return lines(texts, query, min=0)


def _skipped() -> Json:
    texts = Texts(
        "Records that an exporter left out",
        "`rag_monitor_score_records_total`, `rag_monitor_control_records_total` and "
        "`rag_monitor_alarm_records_total` whose result is not read, a minute.",
        A_MINUTE,
    )
    left_out = {
        kind: per_minute(f"rag_monitor_{kind}_records_total", "result", 'result!="read"')
        for kind in ("score", "control", "alarm")
    }
    queries = [
        Query(or_zero(expression, "result"), f"{kind} {{{{result}}}}")
        for kind, expression in left_out.items()
    ]
    return lines(texts, *queries, min=0)


def _mended() -> Json:
    texts = Texts(
        "Mended on the way",
        "A minute: `rag_monitor_timestamps_replaced_total` by reason, "
        "`rag_monitor_sampling_key_fallbacks_total`, and `rag_monitor_redactions_total` by kind.",
        A_MINUTE,
    )
    times = or_zero(per_minute("rag_monitor_timestamps_replaced_total", "reason"), "reason")
    keys = per_minute("rag_monitor_sampling_key_fallbacks_total", "")
    redacted = or_zero(per_minute("rag_monitor_redactions_total", "kind"), "kind")
    return lines(
        texts,
        Query(times, "timestamp {{reason}}"),
        Query(keys, "no sampling key"),
        Query(redacted, "redacted {{kind}}"),
        min=0,
    )


def _replay() -> Json:
    texts = Texts(
        "Replay and learning",
        "`rag_monitor_replay_records_left` of an exporter that starts, and "
        "`rag_monitor_score_records_total` that were read, a second.",
        "short",
    )
    left = Query("max by (job, instance) (rag_monitor_replay_records_left)", "left {{instance}}")
    read = rate("rag_monitor_score_records_total", PROCESS, 'result="read"')
    return lines(texts, left, Query(read, "read a second {{instance}}"), min=0)


def _memory() -> Json:
    texts = Texts(
        "Memory",
        "`process_resident_memory_bytes` of each process of the monitor. A line that rises for "
        "days without more traffic is a leak.",
        "bytes",
    )
    query = Query(f"process_resident_memory_bytes {OURS}", "{{instance}}")
    return lines(texts, query, min=0)


def _cpu() -> Json:
    texts = Texts(
        "CPU",
        "Cores in use by each process of the monitor (`process_cpu_seconds_total`). One is the "
        "most that a process can use: then add scorers.",
        "short",
    )
    used = f"rate(process_cpu_seconds_total[$__rate_interval]) {OURS}"
    return lines(texts, Query(used, "{{instance}}"), steps=zero_is_good(0.8, 0.95), min=0)


_ENDS: Final = (_outcomes, _unaccounted, _reasons)
_IN_TIME: Final = (_lag_seconds, _lag_records, _age, _flying)
_KAFKA: Final = (_input, _commits, _rebalances, _writes)
_LEFT_OUT: Final = (_dead_letters, _unscored, _skipped, _mended)
_PROCESSES: Final = (_problems, _replay, _memory, _cpu)
