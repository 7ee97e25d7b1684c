"""*Quality*: is it good enough, how sure are we, and where is it worse?"""

from __future__ import annotations

from typing import Final

from grafana.changes import what_changed
from grafana.frame import Band, Section, alarms, dashboard, judge_changes
from grafana.metrics import NAMES, SHOWN, Shown
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
    arranged,
    fixed,
    heat,
    lines,
    matching,
    named,
    same,
    table,
    thresholds,
    tile,
)
from grafana.promql import (
    APPLICATION,
    WHO,
    leading,
    leading_plain,
    nearness,
    once,
    or_unknown,
    quantile,
    rate,
)

WINDOW: Final = 'window="$window"'
#: What the status tile says, the first that applies from the bottom of this list up.
STATUS: Final = {
    0.0: ("OK", GOOD),
    1.0: ("Learning", PLAIN),
    2.0: (NO_TRAFFIC, PLAIN),
    3.0: ("Below objective", DOUBT),
    4.0: ("Worse", WORSE),
    5.0: ("No exporter", DOUBT),
}


def quality() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-quality",
        "RAG / Quality",
        "Is the quality of the answers good enough, how sure are we, and where is it worse?",
        [
            Section("", _top()),
            Section(
                "$application",
                [
                    Band(9, [(8, _interval(metric)) for metric in SHOWN]),
                    Band(7, [(8, _segments(metric)) for metric in SHOWN]),
                    Band(7, [(8, _distribution(metric)) for metric in SHOWN]),
                    Band(6, [(8, _median(metric)) for metric in SHOWN]),
                ],
                repeat="application",
            ),
            Section("Behind the numbers", [Band(8, _behind()), Band(11, [(24, _all())])]),
        ],
        annotations=[alarms(), judge_changes()],
    )


def _top() -> list[Band]:
    return [Band(5, _tiles()), Band(3, [(24, what_changed())]), Band(5, [(24, _overview())])]


def _tiles() -> list[tuple[int, Json]]:
    tiles = [(3, _status())]
    for metric in SHOWN:
        tiles += [(4, _value(metric)), (3, _bounds(metric))]
    return tiles


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
    expression = (
        f"4 * (max({alarm}) > 0) or 3 * (max({breached}) > 0) "
        f"or 2 + 0 * (sum({samples}) == 0) or 1 * (max({learning}) > 0) "
        f"or 0 * sum({samples}) or vector(5)"
    )
    texts = Texts(
        "Status",
        "The worst of the chosen applications: Worse while `rag_drift_alarm` is 1, Below objective "
        "while `rag_objective_breached` is 1, No traffic while all `rag_score_samples` are 0, "
        "Learning while `rag_monitor_baseline_learning` is 1, else OK.",
    )
    query = Query(expression, "status")
    found = tile(texts, query, trend=False, words=STATUS, absent="No exporter", steps=NEUTRAL)
    found["fieldConfig"]["defaults"]["links"] = [_TO_DRIFT]
    return found


def _score(metric: Shown, ending: str = "", *, who: str = WHO) -> str:
    return leading(f"rag_score{ending}", metric.matcher, WINDOW, who)


def _worst(metric: Shown, ending: str = "") -> str:
    """Of the application whose score is the worst."""
    worst = "bottomk" if metric.higher_is_better else "topk"
    chosen = f"{worst}(1, {_score(metric)})"
    if not ending:
        return f"sum({chosen})"
    return f"sum({_score(metric, ending)} and on (application) {chosen})"


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


#: Columns of the overview beside evidence; all but the last are of the window.
COLUMNS: Final = tuple(
    f"rag_score{end}" for end in ("", "_lower", "_upper", "_samples", "_baseline")
)
_HEADINGS: Final = ("score", "low", "high", "n", "baseline")


def _row(name: str) -> str:
    """The metrics with panels of their own, and whatever else has a baseline."""
    pair = "metric, application, judge"
    matchers = [WHO] if name == "rag_score_baseline" else [WHO, WINDOW]
    own = once(name, f'metric=~"{NAMES}"', *matchers)
    watched = f"{once(name, *matchers)} and on ({pair}) rag_score_baseline"
    return f"max by ({pair}) ({own} or {watched})"


def _overview() -> Json:
    evidence = f"max by (metric, application, judge) ({nearness(WHO)})"
    headings = {f"Value #{ref}": h for ref, h in zip("BCDEF", _HEADINGS, strict=True)}
    columns = {**same("application", "metric"), "Value #A": "evidence", **headings}
    texts = Texts(
        "Applications, nearest to an alarm first",
        "One row an application, metric and judge: `rag_score` over the chosen window with its "
        "95 % interval (`rag_score_lower`, `rag_score_upper`) and number (`rag_score_samples`), "
        "what is normal (`rag_score_baseline`), and `rag_drift_evidence` / `rag_drift_threshold`: "
        "100 % is an alarm.",
        decimals=3,
    )
    return table(
        texts,
        Query(evidence, instant=True, table=True),
        *(Query(_row(name), instant=True, table=True) for name in COLUMNS),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(columns | same("judge")),
        ],
        options={"sortBy": [{"displayName": "evidence", "desc": True}]},
        steps=NEUTRAL,
        overrides=[
            named("metric", custom__width=230),
            matching("/^(score|low|high|n|baseline|evidence)$/", custom__width=95),
            named("n", decimals=0),
            named(
                "evidence",
                unit="percentunit",
                decimals=0,
                thresholds=thresholds(_LIT),
                custom__cellOptions={"type": "color-background", "mode": "basic"},
                noValue="not watched yet",
            ),
        ],
    )


#: In a table, only what is doubtful has a colour.
_LIT: Final = ((None, "transparent"), *TO_ALARM[1:])


def _interval(metric: Shown) -> Json:
    better = "below" if metric.higher_is_better else "above"
    baseline = leading_plain("rag_score_baseline", metric.matcher, WHO)
    objective = leading("rag_objective_bound", metric.matcher, WINDOW, WHO)
    texts = Texts(
        metric.title,
        f"{metric.meaning} `rag_score` with its 95 % interval (`rag_score_lower`, "
        "`rag_score_upper`), `rag_score_baseline` (dashed: what is normal) and "
        f"`rag_objective_bound` (red: what is promised). A band that lies wholly {better} a line "
        "is worse than it. Of several judges, the one with the most scored interactions.",
    )
    return lines(
        texts,
        Query(_score(metric), "score"),
        Query(_score(metric, "_upper"), "95 % interval"),
        Query(_score(metric, "_lower"), "low"),
        Query(baseline, "baseline"),
        Query(objective, "objective"),
        overrides=_band_overrides(),
    )


def _band_overrides() -> list[Json]:
    hidden = {"legend": True, "tooltip": False, "viz": False}
    return [
        named("score", color=fixed(GOOD)),
        named(
            "95 % interval",
            color=fixed(GOOD),
            custom__fillBelowTo="low",
            custom__fillOpacity=18,
            custom__lineWidth=0,
        ),
        named("low", color=fixed(GOOD), custom__lineWidth=0, custom__hideFrom=hidden),
        named(
            "baseline",
            color=fixed(PLAIN),
            custom__lineStyle={"dash": [10, 10], "fill": "dash"},
            custom__lineWidth=1,
        ),
        named(
            "objective",
            color=fixed(WORSE),
            custom__lineStyle={"dash": [2, 6], "fill": "dash"},
            custom__lineWidth=2,
        ),
    ]


def _segments(metric: Shown) -> Json:
    expression = leading(
        "rag_segment_score",
        metric.matcher,
        WINDOW,
        WHO,
        by="segment",
        only='segment=~"$segment"',
    )
    texts = Texts(
        f"{metric.title} by segment",
        f"`rag_segment_score` of `{metric.name}` over the chosen window, one line a segment. One "
        "line that leaves the others is where to look; all together is the whole system.",
    )
    query = Query(expression, "{{segment}}")
    return lines(texts, query, noValue="No segments: set export.segment")


def _distribution(metric: Shown) -> Json:
    texts = Texts(
        f"{metric.title}: single scores",
        f"How many interactions scored what: `rag_interaction_score_bucket` of `{metric.name}`, "
        "the darker the more. A mean can hide that a few answers are all wrong: look for a second "
        "band far from the first.",
        "short",
    )
    expression = rate("rag_interaction_score_bucket", "le", metric.matcher, APPLICATION)
    return heat(texts, Query(expression, "{{le}}", heatmap=True))


def _median(metric: Shown) -> Json:
    chosen = metric.matcher, APPLICATION
    total, count = (rate(f"rag_interaction_score_{end}", "", *chosen) for end in ("sum", "count"))
    texts = Texts(
        f"{metric.title}: median beside mean",
        f"Of the single scores (`rag_interaction_score` of `{metric.name}`, not weighted by "
        "sampling): half lie below the median. A mean far from it says that few answers are very "
        "different from most.",
    )
    return lines(
        texts,
        Query(f"{total} / {count} >= 0", "mean"),
        Query(quantile(0.5, "rag_interaction_score", metric.matcher, APPLICATION), "median"),
        overrides=[
            named("mean", color=fixed(GOOD)),
            named("median", color=fixed(DOUBT), custom__lineStyle={"dash": [4, 4], "fill": "dash"}),
        ],
        points=80,
    )


def _behind() -> list[tuple[int, Json]]:
    shown = f'metric=~"{NAMES}"'
    each = "{{metric}} · {{application}} · {{judge}}"
    samples = Query(once("rag_score_samples", shown, WINDOW, WHO), each)
    missing = Query(once("rag_score_missing_ratio", shown, WINDOW, WHO), each)
    return [
        (12, lines(_SAMPLES, samples, steps=((None, DOUBT), (30, GOOD)), min=0)),
        (12, lines(_MISSING, missing, steps=((None, GOOD), (0.05, WORSE)), limit=True, min=0)),
    ]


def _all() -> Json:
    query = Query(leading("rag_score", WINDOW, WHO), "{{metric}} · {{application}}")
    return lines(_ALL, query, legend="right", min=0, max=1)


_SAMPLES: Final = Texts(
    "Scored interactions in the window",
    "`rag_score_samples`: the effective number behind each score. Below some 30 an interval is too "
    "wide to tell anything, and objectives are not judged.",
    "short",
)
_MISSING: Final = Texts(
    "Judgements that failed",
    "`rag_score_missing_ratio`: the share of the picked interactions whose judgement failed. Above "
    "5 % (dashed) the intervals are widened, since failures may well be the hard cases.",
    "percentunit",
)
_ALL: Final = Texts(
    "All metrics",
    "`rag_score` of every exported metric over the chosen window. What each means: docs/metrics.md "
    "of the monitor.",
    decimals=3,
)
