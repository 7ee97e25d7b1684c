"""The first row of *Monitor health*, and what is consumed, ended and in flight."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.parts import GOOD, NEUTRAL, WORSE, Json, Texts, zero_is_good
from grafana.promql import grown, or_unknown, or_zero

CONSUMED: Final = "rag_monitor_interactions_consumed_total"
ENDED: Final = "rag_monitor_interactions_total"
FLYING: Final = "rag_monitor_interactions_in_flight"
PROCESS: Final = "job, instance"
#: What the first tile says; no text for "no value" has a colour, and nothing that answers is bad.
READY: Final = {-1.0: ("Down", WORSE), 0.0: ("Not ready", WORSE), 1.0: ("Ready", GOOD)}
#: Of our processes only: every program has a memory.
OURS: Final = f"* on ({PROCESS}) group_left () max by ({PROCESS}) (rag_monitor_build_info)"


def difference() -> str:
    """Consumed − ended − in flight, of each process: 0 in every scrape."""
    consumed = f"sum by ({PROCESS}) ({CONSUMED})"
    ended = f"(sum by ({PROCESS}) ({ENDED}) or 0 * {consumed})"
    return f"{consumed} - {ended} - sum by ({PROCESS}) ({FLYING})"


def tiles() -> list[tuple[int, Json]]:
    """Widths and panels."""
    ready = "min(rag_monitor_ready) or vector(-1)"
    lost = or_unknown(f"max(abs({difference()}))")
    lag = or_unknown("max(rag_monitor_consumer_lag_seconds)")
    dead = or_zero(grown("rag_monitor_dead_letters_total", "stage", "cause"))
    one = zero_is_good(worse=1)
    return [
        (6, tile(_READY, ready, words=READY, absent="Down", steps=NEUTRAL)),
        (6, tile(_LAG, lag, absent="Unknown", steps=zero_is_good(60, 600))),
        (6, tile(_LOST, lost, absent="No scorer", steps=one)),
        (6, tile(_DEAD, dead, steps=one)),
    ]


_READY: Final = Texts(
    "Ready",
    "The lowest `rag_monitor_ready` of all processes; what one waits for stands on its `/readyz`.",
)
_LOST: Final = Texts(
    "Consumed − ended − in flight",
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
    "Dead letters in the time shown",
    "Records that became dead letters in the time shown (`rag_monitor_dead_letters_total`). See "
    "rag-monitor dead-letters list.",
    "short",
    0,
)
