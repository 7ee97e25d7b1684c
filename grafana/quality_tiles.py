"""The first row of *Quality*: one word, and the sentence beside it."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.metrics import Shown
from grafana.parts import DOUBT, GOOD, NEUTRAL, NO_TRAFFIC, PLAIN, WORSE, Json, Texts
from grafana.promql import WHO, WINDOW, leading, once

#: What the status tile says, the first that applies from the bottom of this list up.
STATUS: Final = {
    0.0: ("OK", GOOD),
    1.0: ("Learning", PLAIN),
    2.0: (NO_TRAFFIC, PLAIN),
    3.0: ("Paused", WORSE),
    4.0: ("Below objective", DOUBT),
    4.5: ("No value", WORSE),
    5.0: ("Worse", WORSE),
    6.0: ("No exporter", DOUBT),
}
_TO_DRIFT: Final = {
    "title": "What changed",
    "url": "/d/rag-drift?${__url_time_range}&${__all_variables}",
    "targetBlank": False,
}


def status() -> Json:
    """The worst of the chosen applications."""
    alarm = once("rag_drift_alarm", WHO)
    breached = once("rag_objective_breached", WHO)
    samples = once("rag_score_samples", WHO, WINDOW)
    learning = once("rag_monitor_baseline_learning", WHO)
    missing = once("rag_quality_missing", WHO)
    silent = f"sum({samples}) == 0"
    paused = 'max(rag_monitor_paused{application=~"$application|[*]"}) > 0'
    expression = (
        f"5 * (max({alarm}) > 0) or 4.5 * (max({missing}) > 0) or 4 * (max({breached}) > 0) "
        f"or 3 + 0 * ({silent} and {paused}) or 2 + 0 * ({silent}) or 1 * (max({learning}) > 0) "
        f"or 0 * sum({samples}) or vector(6)"
    )
    texts = Texts(
        "Status",
        "The worst of the chosen applications: Worse while `rag_drift_alarm` is 1, No value while "
        "`rag_quality_missing` is 1 (a metric cannot become worse without one), Below objective "
        "while `rag_objective_breached` is 1, No traffic while all `rag_score_samples` are 0, or "
        "Paused if `rag-monitor pause` is why, Learning while `rag_monitor_baseline_learning` is "
        "1, else OK.",
    )
    found = tile(texts, expression, words=STATUS, absent="No exporter", steps=NEUTRAL)
    found["fieldConfig"]["defaults"]["links"] = [_TO_DRIFT]
    return found


def score(metric: Shown, ending: str = "", *, who: str = WHO) -> str:
    """One series an application."""
    return leading(f"rag_score{ending}", metric.matcher, WINDOW, who)
