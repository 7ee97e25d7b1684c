"""The first row of *Quality*: one word, and how sure each score is."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.metrics import SHOWN, Shown
from grafana.parts import (
    DOUBT,
    GOOD,
    NEUTRAL,
    NO_TRAFFIC,
    PLAIN,
    TO_ALARM,
    WORSE,
    Json,
    Query,
    Texts,
    named,
    thresholds,
)
from grafana.promql import WHO, WINDOW, leading, nearness, once, or_unknown

#: What the status tile says, the first that applies from the bottom of this list up.
STATUS: Final = {
    0.0: ("OK", GOOD),
    1.0: ("Learning", PLAIN),
    2.0: (NO_TRAFFIC, PLAIN),
    3.0: ("Paused", WORSE),
    4.0: ("Below objective", DOUBT),
    5.0: ("Worse", WORSE),
    6.0: ("No exporter", DOUBT),
}


def tiles() -> list[tuple[int, Json]]:
    """Widths and panels."""
    found = [(3, _status())]
    for metric in SHOWN:
        found += [(4, _value(metric)), (3, _bounds(metric))]
    return found


_TO_DRIFT: Final = {
    "title": "What changed",
    "url": "/d/rag-drift?${__url_time_range}&${__all_variables}",
    "targetBlank": False,
}


def _status() -> Json:
    alarm = once("rag_drift_alarm", WHO)
    breached = once("rag_objective_breached", WHO)
    samples = once("rag_score_samples", WHO, WINDOW)
    learning = once("rag_monitor_baseline_learning", WHO)
    silent = f"sum({samples}) == 0"
    paused = 'max(rag_monitor_paused{application=~"$application|[*]"}) > 0'
    expression = (
        f"5 * (max({alarm}) > 0) or 4 * (max({breached}) > 0) "
        f"or 3 + 0 * ({silent} and {paused}) or 2 + 0 * ({silent}) or 1 * (max({learning}) > 0) "
        f"or 0 * sum({samples}) or vector(6)"
    )
    texts = Texts(
        "Status",
        "The worst of the chosen applications: Worse while `rag_drift_alarm` is 1, Below objective "
        "while `rag_objective_breached` is 1, No traffic while all `rag_score_samples` are 0, or "
        "Paused if `rag-monitor pause` is why, Learning while `rag_monitor_baseline_learning` is "
        "1, else OK.",
    )
    query = Query(expression, "status")
    found = tile(texts, query, trend=False, words=STATUS, absent="No exporter", steps=NEUTRAL)
    found["fieldConfig"]["defaults"]["links"] = [_TO_DRIFT]
    return found


def score(metric: Shown, ending: str = "", *, who: str = WHO) -> str:
    """One series an application."""
    return leading(f"rag_score{ending}", metric.matcher, WINDOW, who)


def _worst(metric: Shown, ending: str = "") -> str:
    """Of the application whose score is the worst."""
    worst = "bottomk" if metric.higher_is_better else "topk"
    chosen = f"{worst}(1, {score(metric)})"
    if not ending:
        return f"sum({chosen})"
    return f"sum({score(metric, ending)} and on (application) {chosen})"


def _value(metric: Shown) -> Json:
    texts = Texts(
        metric.title,
        f"`rag_score` of `{metric.name}` over the chosen window, with its trend. {metric.meaning} "
        "Of several applications the worst. How sure it is stands beside it.",
        decimals=2,
    )
    query = Query(or_unknown(_worst(metric)), "last $window")
    return tile(texts, query, steps=NEUTRAL, named_value=True)


def _bounds(metric: Shown) -> Json:
    texts = Texts(
        "How sure",
        f"How sure {metric.title.lower()} is: `rag_score_lower` and `rag_score_upper` (95 % "
        "interval), `rag_score_samples` (n, the scored interactions behind it), and evidence of "
        "drift as a share of the alarm's threshold (orange from 50 %, red is an alarm).",
        decimals=2,
    )
    evidence = f"max({nearness(metric.matcher, WHO)})"
    return tile(
        texts,
        Query(_worst(metric, "_lower"), "low", instant=True),
        Query(_worst(metric, "_upper"), "high", instant=True),
        Query(_worst(metric, "_samples"), "n", instant=True),
        Query(evidence, "evidence", instant=True),
        trend=False,
        steps=NEUTRAL,
        overrides=[
            named("n", decimals=0, unit="short"),
            named(
                "evidence", unit="percentunit", decimals=0, thresholds=thresholds(TO_ALARM), min=0
            ),
        ],
    )
