"""*Quality*: is it good enough, how sure are we, and where is it worse?"""

from __future__ import annotations

from typing import Final

from grafana.changes import what_changed
from grafana.frame import (
    Band,
    Section,
    alarms,
    dashboard,
    judge_changes,
    pauses,
    releases,
    versions,
)
from grafana.kinds import heat, lines
from grafana.metrics import SHOWN, Shown
from grafana.parts import DOUBT, GOOD, PLAIN, WORSE, Json, Query, Texts, fixed, named
from grafana.promql import (
    APPLICATION,
    WHO,
    WINDOW,
    leading,
    leading_plain,
    nearest,
    nearest_ten,
    once,
    plainly,
    rate,
)
from grafana.quality_table import overview
from grafana.quality_tiles import score, status


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
                    Band(8, [(8, _interval(metric)) for metric in SHOWN]),
                    Band(7, [(8, _segments(metric)) for metric in SHOWN]),
                    Band(7, [(8, _distribution(metric)) for metric in SHOWN]),
                ],
                repeat="application",
            ),
            Section("Behind the numbers", [Band(9, [(10, _behind()), (14, _all())])]),
        ],
        chosen=("application", "judge", "window"),
        annotations=[*_alarms(), judge_changes(), pauses(), releases(), versions()],
    )


def _top() -> list[Band]:
    return [
        Band(4, [(4, status()), (20, what_changed())]),
        Band(8, [(8, _interval(metric, nearest_one=True)) for metric in SHOWN]),
        Band(10, [(24, overview())]),
    ]


def _alarms() -> list[Json]:
    """Each on the charts of its metric: another one's may be fine."""
    each = (
        alarms(f", {metric.title.lower()}", [metric.title, _of_segments(metric)], metric.matcher)
        for metric in SHOWN
    )
    return [annotation for pair in each for annotation in pair]


def _interval(metric: Shown, *, nearest_one: bool = False) -> Json:
    """With ``nearest_one``, of the chosen applications the one to look at."""
    better = "below" if metric.higher_is_better else "above"
    baseline = leading_plain("rag_score_baseline", metric.matcher, WHO)
    objective = leading("rag_objective_bound", metric.matcher, WINDOW, WHO)
    only = f" and on (application) {nearest(metric.matcher, WHO)}" if nearest_one else ""
    which = " Of several applications, the one that is nearest to an alarm." if nearest_one else ""
    texts = Texts(
        metric.title,
        f"{metric.meaning} `rag_score` of `{metric.name}` with its 95 % interval "
        "(`rag_score_lower`, `rag_score_upper`), `rag_score_baseline` (dashed: what is normal) and "
        f"`rag_objective_bound` (dotted: what is promised). A band that lies wholly {better} a "
        f"line is worse than it.{which} Of several judges, the one with the most scored "
        "interactions.",
        decimals=2,
    )
    series = {
        "{{application}}": score(metric),
        "high": score(metric, "_upper"),
        "low": score(metric, "_lower"),
        "baseline": baseline,
        "objective": objective,
    }
    queries = [Query(f"{expression}{only}", name) for name, expression in series.items()]
    more: Json = {"overrides": _band_overrides(), "color": fixed(GOOD), "min": 0, "max": 1}
    return lines(texts, *queries, legend="last", **more)


def _band_overrides() -> list[Json]:
    return [
        named("high", custom__fillBelowTo="low", custom__fillOpacity=18, custom__lineWidth=0),
        named("low", custom__lineWidth=0),
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


def _of_segments(metric: Shown) -> str:
    return f"{metric.title}, by segment"


def _segments(metric: Shown) -> Json:
    expression = leading("rag_segment_score", metric.matcher, WINDOW, WHO, by="segment")
    texts = Texts(
        _of_segments(metric),
        f"`rag_segment_score` of `{metric.name}` over the chosen window, one line a segment. One "
        "line that leaves the others is where to look; all together is the whole system.",
        decimals=2,
    )
    query = Query(expression, "{{segment}}")
    none = "No segments: set export.segment"
    return lines(texts, query, legend="last", noValue=none, min=0, max=1)


def _distribution(metric: Shown) -> Json:
    texts = Texts(
        f"{metric.title}, single scores",
        f"How many interactions scored what: `rag_interaction_score_bucket` of `{metric.name}`, "
        "the darker the more. A mean can hide that a few answers are all wrong: look for a second "
        "band far from the first.",
        "short",
    )
    expression = rate("rag_interaction_score_bucket", "le", metric.matcher, APPLICATION)
    return heat(texts, Query(expression, "{{le}}", heatmap=True))


def _behind() -> Json:
    """Of the ten detectors of the evidence chart: 21 applications have 63."""
    samples = once("rag_score_samples", WINDOW, WHO)
    shown = f"{samples} and on (metric, application, judge) {nearest_ten(WHO)}"
    query = Query(plainly(shown), "{{metric}} · {{application}}")
    return lines(_SAMPLES, query, steps=((None, DOUBT), (30, GOOD)), min=0)


def _all() -> Json:
    expression = f"{leading('rag_score', WINDOW, WHO)} and on (application) {nearest(WHO)}"
    query = Query(plainly(expression), "{{metric}} · {{application}}")
    return lines(_ALL, query, legend="right", min=0, max=1)


_SAMPLES: Final = Texts(
    "Scored interactions in the window",
    "`rag_score_samples`: the effective number behind each score, of the ten that came nearest to "
    "an alarm within the time shown. Below some 30 an interval is too wide to tell anything, and "
    "objectives are not judged.",
    "short",
)
_ALL: Final = Texts(
    "All metrics",
    "`rag_score` of every exported metric over the chosen window, of one application: of several "
    "the one that is nearest to an alarm. What each means: docs/metrics.md of the monitor.",
    decimals=3,
)
