"""What all panels have in common, as Grafana's JSON.

Only options that Grafana 10.4 knows; an older one ignores some of them. Colours are Grafana's
names, which follow the theme; blue, orange and red stay apart for colour-blind eyes, and red is
always worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from grafana.promql import of_monitor

Json = dict[str, Any]

#: The oldest Grafana supported. Without it, Grafana migrates stats as if they were of 6.1.
OLDEST: Final = "10.4.0"
DATASOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
GOOD: Final = "blue"
DOUBT: Final = "orange"
WORSE: Final = "red"
PLAIN: Final = "text"
FAINT: Final = "#8e8e8e"
NO_TRAFFIC: Final = "No traffic"
A_SECOND: Final = "suffix:/s"
A_MINUTE: Final = "suffix:/min"
#: How far an axis from zero reaches at least, so that nothing does not look like something.
LEAST: Final = {"percentunit": 0.1, "s": 1, "currencyUSD": 1, A_SECOND: 1, A_MINUTE: 1, "short": 1}

#: (value from which on it holds, colour); the first value is None.
Steps = Sequence[tuple[float | None, str]]
#: Value → (word, colour).
Words = Mapping[float, tuple[str, str]]
BLUE: Final[Steps] = ((None, GOOD),)
NEUTRAL: Final[Steps] = ((None, PLAIN),)
#: Series that mean neither well nor worse: shades, so that orange and red keep their meaning.
SHADES: Final[Json] = {"mode": "shades", "fixedColor": GOOD}
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


def instant(expression: str, legend: str = "") -> Query:
    """A query for now only, as tiles ask: a range ends at a multiple of its step, before now."""
    return Query(expression, legend, instant=True)


def rows(expression: str) -> Query:
    """A query for now only, of one row a series, as tables ask."""
    return Query(expression, instant=True, table=True)


def named(name: str, **properties: Any) -> Json:
    """An override of the series or column with this name; ``__`` in a property is a dot."""
    return _override({"id": "byName", "options": name}, properties)


def matching(pattern: str, **properties: Any) -> Json:
    """An override of the series whose names match a regular expression."""
    return _override({"id": "byRegexp", "options": pattern}, properties)


def fixed(colour: str) -> Json:
    """Always this colour."""
    return {"mode": "fixed", "fixedColor": colour}


def lit(name: str, colour: str) -> Json:
    """An override of a series that is blue while it is 0, and has this colour when it is not."""
    steps = thresholds([(None, GOOD), (1e-9, colour)])
    return named(name, color={"mode": "thresholds"}, thresholds=steps)


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
        "expr": of_monitor(query.expression),
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
        "pluginVersion": OLDEST,
        "title": texts.title,
        "description": texts.description,
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": config, "overrides": list(overrides)},
        "options": options,
        "targets": _targets(queries),
    }


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
