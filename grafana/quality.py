"""*Quality*: is it good enough, how sure are we, and where is it worse?"""

from __future__ import annotations

from typing import Final

from grafana.changes import what_changed
from grafana.frame import Band, Section, alarms, dashboard, judge_changes
from grafana.kinds import heat, lines
from grafana.metrics import EVERY_PICK, NAMES, SHOWN, Shown
from grafana.parts import DOUBT, GOOD, PLAIN, WORSE, Json, Query, Texts, fixed, named
from grafana.pauses import band, pauses
from grafana.promql import APPLICATION, WHO, WINDOW, leading, leading_plain, once, quantile, rate
from grafana.quality_table import overview
from grafana.quality_tiles import score, tiles


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
                    Band(7, [(12, _interval(metric)) for metric in EVERY_PICK]),
                    Band(7, [(8, _segments(metric)) for metric in SHOWN]),
                    Band(7, [(8, _distribution(metric)) for metric in SHOWN]),
                    Band(6, [(8, _median(metric)) for metric in SHOWN]),
                ],
                repeat="application",
            ),
            Section("Behind the numbers", [Band(8, _behind()), Band(11, [(24, _all())])]),
        ],
        annotations=[alarms(), judge_changes(), pauses()],
    )


def _top() -> list[Band]:
    return [Band(5, tiles()), band(), Band(3, [(24, what_changed())]), Band(7, [(24, overview())])]


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
        Query(score(metric), "score"),
        Query(score(metric, "_upper"), "95 % interval"),
        Query(score(metric, "_lower"), "low"),
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
