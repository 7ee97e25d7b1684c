"""The first row of *Monitor health*, and what is consumed, ended and in flight."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.parts import A_SECOND, DOUBT, GOOD, NEUTRAL, WORSE, Json, Query, Texts, zero_is_good
from grafana.promql import increase, or_unknown, or_zero, rate

CONSUMED: Final = "rag_monitor_interactions_consumed_total"
ENDED: Final = "rag_monitor_interactions_total"
FLYING: Final = "rag_monitor_interactions_in_flight"
PROCESS: Final = "job, instance"
#: Of our processes only: every program has a memory.
OURS: Final = f"* on ({PROCESS}) group_left () max by ({PROCESS}) (rag_monitor_build_info)"


def difference() -> str:
    """Consumed − ended − in flight, of each process: 0 in every scrape."""
    consumed = f"sum by ({PROCESS}) ({CONSUMED})"
    ended = f"(sum by ({PROCESS}) ({ENDED}) or 0 * {consumed})"
    return f"{consumed} - {ended} - sum by ({PROCESS}) ({FLYING})"


def tiles() -> list[tuple[int, Json]]:
    """Widths and panels."""
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
        (3, tile(_LAG, lag, trend=False, steps=zero_is_good(60, 600))),
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
