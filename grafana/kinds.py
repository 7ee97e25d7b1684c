"""One function a kind of panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from grafana.parts import (
    GOOD,
    LEAST,
    NO_TRAFFIC,
    PLAIN,
    SHADES,
    Json,
    Query,
    Texts,
    Words,
    instant,
    matching,
    no_number,
    panel,
    worded,
)


def tile(
    texts: Texts,
    expression: str,
    legend: str = "",
    *,
    words: Words | None = None,
    absent: str = NO_TRAFFIC,
    **more: Any,
) -> Json:
    """A number as it is now, coloured by its thresholds.

    ``words`` stand in the place of some numbers, and ``absent`` in that of none.
    """
    mappings = [*worded(words or {}), *no_number(absent)]
    query = instant(expression, legend)
    return panel("stat", texts, [query], _stat(), mappings=mappings, noValue=absent, **more)


def headline(texts: Texts, expression: str, **more: Any) -> Json:
    """The label ``answer`` of each series as a sentence, coloured by its value."""
    sentence = {
        "justifyMode": "auto",
        "orientation": "horizontal",
        "text": {"titleSize": 20, "valueSize": 20},
        "textMode": "name",
    }
    query = instant(expression, "{{answer}}")
    return panel("stat", texts, [query], _stat() | sentence, **more)


def _stat() -> Json:
    """Never a trend: a value for now and one for a time cannot come of one query."""
    return {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["last"], "fields": "", "values": False},
        "text": {"valueSize": 38},
        "textMode": "value",
        "wideLayout": True,
    }


def lines(
    texts: Texts,
    *queries: Query,
    stacked: bool = False,
    fill: int = 0,
    legend: str = "list",
    limit: bool = False,
    points: int | None = None,
    **more: Any,
) -> Json:
    """Lines over time; ``limit`` draws the thresholds as dashed lines.

    ``legend`` is ``list`` below, ``last`` with the last values, ``right`` (a table), or nothing.
    ``points`` is how many there are at most: few are calmer, each of more interactions.
    """
    custom: Json = {
        "drawStyle": "line",
        "fillOpacity": 40 if stacked else fill,
        "lineInterpolation": "linear",
        "lineWidth": 1 if stacked else 2,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if stacked else "none"},
        "thresholdsStyle": {"mode": "dashed" if limit else "off"},
    }
    if more.get("min") == 0 and "max" not in more and texts.unit in LEAST:
        custom["axisSoftMax"] = LEAST[texts.unit]
    custom |= more.pop("custom", {})
    options = {
        "legend": {
            "calcs": ["lastNotNull"] if legend in ("last", "right") else [],
            "displayMode": {"right": "table", "": "hidden"}.get(legend, "list"),
            "placement": "right" if legend == "right" else "bottom",
            "showLegend": bool(legend),
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    more.setdefault("color", SHADES)
    found = panel("timeseries", texts, queries, options, custom=custom, **more)
    return found | ({"maxDataPoints": points} if points else {})


def states(texts: Texts, *queries: Query, **more: Any) -> Json:
    """One bar a series, coloured by what it says when."""
    options = {
        "alignValue": "left",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
        "mergeValues": True,
        "rowHeight": 0.8,
        "showValue": "auto",
        "tooltip": {"mode": "single", "sort": "none"},
    }
    custom = {"fillOpacity": 80, "lineWidth": 0}
    return panel("state-timeline", texts, queries, options, custom=custom, **more)


def bars(texts: Texts, *queries: Query, **more: Any) -> Json:
    """One horizontal bar a series, as it is now."""
    options = {
        "displayMode": "basic",
        "maxVizHeight": 56,
        "minVizHeight": 16,
        "minVizWidth": 8,
        "namePlacement": "top",
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
        "sizing": "manual",
        "text": {"titleSize": 13, "valueSize": 16},
        "valueMode": "color",
    }
    return panel("bargauge", texts, queries, options, **more)


def heat(texts: Texts, query: Query, **more: Any) -> Json:
    """How many fell into which bucket, when."""
    options = {
        "calculate": False,
        "cellGap": 0,
        "color": {
            "exponent": 0.4,
            "fill": GOOD,
            "mode": "opacity",
            "reverse": False,
            "scale": "exponential",
            "scheme": "Blues",
            "steps": 64,
        },
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "showValue": "never",
        "tooltip": {"mode": "single", "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": "none"},
    }
    custom = {"scaleDistribution": {"type": "linear"}}
    found = panel("heatmap", texts, [query], options, custom=custom, **more)
    return found | {"maxDataPoints": 48}


#: In a cell, what is no number.
DASH: Final = [
    {
        "type": "special",
        "options": {"match": "nan", "result": {"text": "–", "color": PLAIN, "index": 0}},
    }
]


_LABELS: Final = "/^(application|judge|metric|model|pipeline|prompts|segment)$/"


def table(texts: Texts, *queries: Query, transformations: Sequence[Json] = (), **more: Any) -> Json:
    """One row a label set; the queries are instant, and merged by their labels.

    A label is a text, also where it looks like a number, as the hash 79821e67 does.
    """
    options = {"cellHeight": "sm", "footer": {"show": False}, "showHeader": True}
    options |= more.pop("options", {})
    custom = {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": False}
    more["overrides"] = [matching(_LABELS, unit="string"), *more.get("overrides", ())]
    found = panel("table", texts, queries, options, custom=custom, **more)
    return found | {"transformations": list(transformations)}
