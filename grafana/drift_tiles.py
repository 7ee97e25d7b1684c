"""The tiles of *Drift and incidents*."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.parts import Json, Texts, zero_is_good
from grafana.promql import WHO, once, or_zero

ONE: Final = zero_is_good(worse=1)


def open_() -> Json:
    """How many alarms are open."""
    texts = Texts(
        "Alarms open",
        "How many `rag_drift_alarm` are 1: metrics that are worse than their baselines, and not by "
        "chance.",
        "short",
        0,
    )
    alarms = f"sum({once('rag_drift_alarm', WHO)})"
    return tile(texts, alarms, absent="None watched", steps=ONE)


def unwatched() -> Json:
    """Without a baseline there is no alarm."""
    texts = Texts(
        "Not watched",
        "Watched metrics without a baseline (`rag_monitor_baseline_missing`), those that have no "
        "value any more (`rag_quality_missing`), and applications whose baseline is still learned "
        "(`rag_monitor_baseline_learning`): no alarm can come of them.",
        "short",
        0,
    )
    states = (
        "rag_monitor_baseline_missing",
        "rag_monitor_baseline_learning",
        "rag_quality_missing",
    )
    parts = (f"({or_zero(f'sum({once(state, WHO)})')})" for state in states)
    return tile(texts, " + ".join(parts), steps=zero_is_good(1))
