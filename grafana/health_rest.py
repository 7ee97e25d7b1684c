"""Charts of *Monitor health*: Kafka, what is left out, and processes."""

from __future__ import annotations

from typing import Final

from grafana.health_tiles import OURS
from grafana.kinds import lines, states
from grafana.parts import (
    A_MINUTE,
    A_SECOND,
    DOUBT,
    WORSE,
    Json,
    Query,
    Texts,
    lit,
    named,
    worded,
    zero_is_good,
)
from grafana.promql import or_zero, per_minute, rate


def _kafka() -> Json:
    texts = Texts(
        "Rebalances and writes tried again",
        "A minute: `rag_monitor_rebalances_total` (many an hour are a scorer that dies, or is too "
        "slow for the group), `rag_monitor_commits_total` that failed (without any that succeeds, "
        "interactions are read again after a restart), `rag_monitor_publish_retries_total` by "
        "topic, and score records that went out without texts "
        "(`rag_monitor_records_truncated_total`).",
        A_MINUTE,
    )
    moved = or_zero(per_minute("rag_monitor_rebalances_total", ""))
    failed = or_zero(per_minute("rag_monitor_commits_total", "", 'result!="ok"'))
    again = or_zero(per_minute("rag_monitor_publish_retries_total", "topic"), "topic")
    short = or_zero(per_minute("rag_monitor_records_truncated_total", ""))
    return lines(
        texts,
        Query(moved, "rebalances"),
        Query(failed, "commits failed"),
        Query(again, "written again: {{topic}}"),
        Query(short, "without texts"),
        overrides=[lit("commits failed", DOUBT)],
        min=0,
    )


def _problems() -> Json:
    texts = Texts(
        "Problems with Kafka",
        "`rag_monitor_kafka_problem` by kind, and `rag_monitor_dead_letter_circuit_open`: reading "
        "pauses because nearly every record becomes a dead letter. The log tells more.",
    )
    kinds = or_zero("max by (kind) (rag_monitor_kafka_problem)", "kind", "no problem")
    circuit = Query(or_zero("max(rag_monitor_dead_letter_circuit_open)"), "circuit open")
    words = worded({0.0: ("no", "transparent"), 1.0: ("yes", WORSE)})
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
    red = lit("waiting", WORSE)
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
        "Left out by an exporter, or mended",
        "A minute: `rag_monitor_score_records_total`, `rag_monitor_control_records_total` and "
        "`rag_monitor_alarm_records_total` whose result is not read; "
        "`rag_monitor_timestamps_replaced_total`, `rag_monitor_sampling_key_fallbacks_total` and "
        "`rag_monitor_redactions_total`. And the slots of now that overlap one that counts "
        "(`rag_monitor_slots_dropped`).",
        A_MINUTE,
    )
    left_out = " or ".join(_left_out(kind) for kind in ("score", "control", "alarm"))
    times = or_zero(per_minute("rag_monitor_timestamps_replaced_total", "reason"), "reason")
    redacted = or_zero(per_minute("rag_monitor_redactions_total", "kind"), "kind")
    return lines(
        texts,
        Query(or_zero(left_out, "kind"), "left out: {{kind}} {{result}}"),
        Query("max(rag_monitor_slots_dropped)", _OVERLAPPING),
        Query(times, "timestamp {{reason}}"),
        Query(per_minute("rag_monitor_sampling_key_fallbacks_total", ""), "no sampling key"),
        Query(redacted, "redacted {{kind}}"),
        overrides=[named(_OVERLAPPING, unit="short", custom__axisLabel="slots")],
        min=0,
    )


_OVERLAPPING: Final = "overlapping slots"


def _left_out(kind: str) -> str:
    """One series a result of the records of one topic, with the topic's kind as a label."""
    name = f"rag_monitor_{kind}_records_total"
    found = per_minute(name, "result", 'result!="read"')
    return f'label_replace({found}, "kind", "{kind}", "", "")'


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


KAFKA: Final = (_problems, _kafka)
LEFT_OUT: Final = (_dead_letters, _unscored, _skipped)
PROCESSES: Final = (_memory, _cpu)
