"""Panels as Grafana's JSON: what all have in common, and one function a kind.

Only options that Grafana 10.4 knows; an older one ignores some of them. Colours are Grafana's
names, which follow the theme; blue, orange and red stay apart for colour-blind eyes, and red is
always worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

DATASOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
GOOD: Final = "blue"
DOUBT: Final = "orange"
WORSE: Final = "red"
PLAIN: Final = "text"
NO_TRAFFIC: Final = "No traffic"
A_SECOND: Final = "suffix:/s"
A_MINUTE: Final = "suffix:/min"
#: How far an axis from zero reaches at least, so that nothing does not look like something.
_LEAST: Final = {"percentunit": 0.1, "s": 1, "currencyUSD": 1, A_SECOND: 1, A_MINUTE: 1, "short": 1}

#: (value from which on it holds, colour); the first value is None.
Steps = Sequence[tuple[float | None, str]]
#: Value → (word, colour).
Words = Mapping[float, tuple[str, str]]
BLUE: Final[Steps] = ((None, GOOD),)
NEUTRAL: Final[Steps] = ((None, PLAIN),)
#: Evidence as a share of the threshold of an alarm.
TO_ALARM: Final[Steps] = ((None, GOOD), (0.5, DOUBT), (1.0, WORSE))


class Query(NamedTuple):
    """One query of a panel. ``instant`` asks for now only, ``table`` for one row a series."""

    expression: str
    legend: str = ""
    instant: bool = False
    table: bool = False
    heatmap: bool = False
    exemplars: bool = False


class Texts(NamedTuple):
    """What a panel says of itself. The description names the metric and how to read it."""

    title: str
    description: str
    unit: str = "none"
    decimals: int | None = None


def zero_is_good(doubt: float | None = None, worse: float | None = None) -> Steps:
    """Blue from nothing on, then orange, then red.

    >>> zero_is_good(worse=1)
    [(None, 'blue'), (1, 'red')]
    """
    steps: list[tuple[float | None, str]] = [(None, GOOD)]
    steps += [(at, colour) for at, colour in ((doubt, DOUBT), (worse, WORSE)) if at is not None]
    return steps


def thresholds(steps: Steps) -> Json:
    """Absolute thresholds."""
    return {"mode": "absolute", "steps": [{"color": c, "value": at} for at, c in steps]}


def worded(words: Words) -> list[Json]:
    """As a value mapping."""
    if not words:
        return []
    options = {
        f"{value:g}": {"text": text, "color": colour, "index": index}
        for index, (value, (text, colour)) in enumerate(words.items())
    }
    return [{"type": "value", "options": options}]


def no_number(text: str) -> list[Json]:
    """What stands in the place of NaN and of nothing."""
    result = {"text": text, "color": PLAIN, "index": 0}
    return [{"type": "special", "options": {"match": "null+nan", "result": result}}]


def named(name: str, **properties: Any) -> Json:
    """An override of the series or column with this name; ``__`` in a property is a dot."""
    return _override({"id": "byName", "options": name}, properties)


def matching(pattern: str, **properties: Any) -> Json:
    """An override of the series whose names match a regular expression."""
    return _override({"id": "byRegexp", "options": pattern}, properties)


def fixed(colour: str) -> Json:
    """Always this colour."""
    return {"mode": "fixed", "fixedColor": colour}


def _override(matcher: Json, properties: Mapping[str, Any]) -> Json:
    listed = [{"id": k.replace("__", "."), "value": v} for k, v in properties.items()]
    return {"matcher": matcher, "properties": listed}


def _targets(queries: Sequence[Query]) -> list[Json]:
    return [_target(chr(ord("A") + i), query) for i, query in enumerate(queries)]


def _target(ref: str, query: Query) -> Json:
    kind = "table" if query.table else "heatmap" if query.heatmap else "time_series"
    return {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "exemplar": query.exemplars,
        "expr": query.expression,
        "format": kind,
        "instant": query.instant,
        "range": not query.instant,
        "legendFormat": query.legend or "__auto",
        "refId": ref,
    }


def panel(
    kind: str,
    texts: Texts,
    queries: Sequence[Query],
    options: Json,
    *,
    steps: Steps = BLUE,
    custom: Json | None = None,
    overrides: Sequence[Json] = (),
    **defaults: Any,
) -> Json:
    """A panel of any kind, without its place."""
    config: Json = {
        "color": {"mode": "thresholds"},
        "custom": custom or {},
        "mappings": [],
        "noValue": NO_TRAFFIC,
        "thresholds": thresholds(steps),
        "unit": texts.unit,
        **defaults,
    }
    if texts.decimals is not None:
        config["decimals"] = texts.decimals
    return {
        "type": kind,
        "title": texts.title,
        "description": texts.description,
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": config, "overrides": list(overrides)},
        "options": options,
        "targets": _targets(queries),
    }


def tile(
    texts: Texts,
    *queries: Query,
    trend: bool = True,
    named_value: bool = False,
    words: Words | None = None,
    absent: str = NO_TRAFFIC,
    **more: Any,
) -> Json:
    """A number with its trend, coloured by its thresholds; several are rows with their names.

    ``words`` stand in the place of some numbers, and ``absent`` in that of none. With
    ``named_value`` the name stands above the number, which keeps the trend below it.
    """
    several = len(queries) > 1
    options = {
        "colorMode": "value",
        "graphMode": "area" if trend else "none",
        "justifyMode": "auto",
        "orientation": "horizontal" if several else "auto",
        "reduceOptions": {"calcs": ["last"], "fields": "", "values": False},
        "text": _tile_sizes(several, named_value),
        "textMode": "value_and_name" if several or named_value else "value",
        "wideLayout": True,
    }
    mappings = [*worded(words or {}), *no_number(absent)]
    return panel("stat", texts, queries, options, mappings=mappings, noValue=absent, **more)


def _tile_sizes(several: bool, named_value: bool) -> Json:
    if several:
        return {"titleSize": 13, "valueSize": 16}
    return {"titleSize": 13, "valueSize": 40} if named_value else {}


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

    ``legend`` is ``list`` or ``table`` below, ``right`` (a table), or nothing.
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
    if more.get("min") == 0 and texts.unit in _LEAST:
        custom["axisSoftMax"] = _LEAST[texts.unit]
    custom |= more.pop("custom", {})
    options = {
        "legend": {
            "calcs": ["lastNotNull"] if legend in ("table", "right") else [],
            "displayMode": "table" if legend == "right" else legend or "hidden",
            "placement": "right" if legend == "right" else "bottom",
            "showLegend": bool(legend),
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    more.setdefault("color", {"mode": "palette-classic"})
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
    custom = {"fillOpacity": 80, "lineWidth": 0, "spanNulls": False}
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
        "tooltip": {"show": True, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": "none"},
    }
    custom = {"scaleDistribution": {"type": "linear"}}
    found = panel("heatmap", texts, [query], options, custom=custom, **more)
    return found | {"maxDataPoints": 48}


def table(texts: Texts, *queries: Query, transformations: Sequence[Json] = (), **more: Any) -> Json:
    """One row a label set; the queries are instant, and merged by their labels."""
    options = {"cellHeight": "sm", "footer": {"show": False}, "showHeader": True}
    options |= more.pop("options", {})
    custom = {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": False}
    found = panel("table", texts, queries, options, custom=custom, **more)
    return found | {"transformations": list(transformations)}


def arranged(columns: Mapping[str, str], left_out: Sequence[str] = ()) -> Json:
    """A transformation: these columns, in this order and with these headings; time is left out."""
    options = {
        "excludeByName": dict.fromkeys(("Time", *left_out), True),
        "indexByName": {column: index for index, column in enumerate(columns)},
        "renameByName": {c: heading for c, heading in columns.items() if c != heading},
    }
    return {"id": "organize", "options": options}


def same(*names: str) -> dict[str, str]:
    """Columns whose headings are their names."""
    return {name: name for name in names}
