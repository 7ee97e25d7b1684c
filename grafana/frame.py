"""What all dashboards share: places on the grid, variables, links and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from grafana.parts import DATASOURCE, DOUBT, GOOD, WORSE, Json
from grafana.promql import APPLICATION, BY, of_monitor

COLUMNS: Final = 24
TAG: Final = "rag-monitor"
#: Grafana 10.4 writes 39, and every later one reads it.
SCHEMA_VERSION: Final = 39


class Band(NamedTuple):
    """Panels beside each other, of one height, with their widths."""

    height: int
    panels: Sequence[tuple[int, Json]]


class Section(NamedTuple):
    """Bands below a heading; ``repeat`` is the variable for whose values it is repeated.

    A collapsed section asks nothing until somebody opens it.
    """

    title: str
    bands: Sequence[Band]
    repeat: str | None = None
    collapsed: bool = True


def placed(sections: Sequence[Section]) -> list[Json]:
    """The panels with ids and places, from the top; a section without a title has no heading."""
    found: list[Json] = []
    numbers = count(1)
    y = 0
    for section in sections:
        folded = bool(section.title) and section.collapsed
        if section.title:
            found.append(_heading(section, next(numbers), y))
            y += 1
        below = _below(section.bands, numbers, y)
        (found[-1]["panels"] if folded else found).extend(below)
        y += 0 if folded else sum(band.height for band in section.bands)
    return found


def _below(bands: Sequence[Band], numbers: Iterator[int], y: int) -> list[Json]:
    found: list[Json] = []
    for band in bands:
        x = 0
        for width, panel in band.panels:
            at = {"h": band.height, "w": width, "x": x, "y": y}
            found.append({"id": next(numbers), "gridPos": at, **panel})
            x += width
        y += band.height
    return found


def _heading(section: Section, number: int, y: int) -> Json:
    heading = {
        "id": number,
        "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": y},
        "type": "row",
        "title": section.title,
        "collapsed": section.collapsed,
        "panels": [],
    }
    return heading | ({"repeat": section.repeat} if section.repeat else {})


def flat(panels: Sequence[Json]) -> list[Json]:
    """All panels but headings, those of collapsed sections too."""
    inside = (panel.get("panels", []) if panel["type"] == "row" else [panel] for panel in panels)
    return [panel for some in inside for panel in some]


def dashboard(
    uid: str,
    title: str,
    description: str,
    sections: Sequence[Section],
    *,
    chosen: Sequence[str],
    annotations: Sequence[Json] = (),
) -> Json:
    """A whole dashboard. ``chosen`` are the variables that its panels use; others are hidden.

    Hidden ones are there so that the links hand them on.
    """
    panels = placed(sections)
    return {
        "annotations": {"list": [_confined(each, panels) for each in annotations]},
        "description": description,
        "editable": True,
        "graphTooltip": 1,
        "id": None,
        "links": [_links()],
        "panels": panels,
        "refresh": "30s",
        "schemaVersion": SCHEMA_VERSION,
        "tags": [TAG],
        "templating": {"list": _variables(chosen)},
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "title": title,
        "uid": uid,
        "version": 1,
    }


def _confined(found: Json, panels: Sequence[Json]) -> Json:
    """An annotation whose filter names titles, with the ids of the panels that have them."""
    if "filter" not in found:
        return found
    titles = found["filter"]["ids"]
    ids = [panel["id"] for panel in flat(panels) if panel["title"] in titles]
    return found | {"filter": {"exclude": False, "ids": ids}}


def _links() -> Json:
    return {
        "asDropdown": False,
        "icon": "dashboard",
        "includeVars": True,
        "keepTime": True,
        "tags": [TAG],
        "targetBlank": False,
        "title": "RAG",
        "tooltip": "The other dashboards of the RAG monitor, with the same time and variables",
        "type": "dashboards",
        "url": "",
    }


def _variables(chosen: Sequence[str]) -> list[Json]:
    of = f"{{{APPLICATION}}}"
    monitors = [_monitor(label, BY[:index]) for index, label in enumerate(BY)]
    others = [
        _choice("application", "Application", "rag_score_samples"),
        _choice("judge", "Judge", f"rag_score_samples{of}"),
        _choice("window", "Window", "rag_score_samples", many=False),
        _textbox(
            "audit_url",
            "Audit pages",
            "Base URL of the audit pages, as audit.url; without it there are no links to them.",
        ),
    ]
    hidden = [each | {"hide": 0 if each["name"] in chosen else 2} for each in others]
    return [_DATASOURCES, *monitors, *hidden]


_DATASOURCES: Final[Json] = {
    "current": {},
    "hide": 0,
    "includeAll": False,
    "label": "Data source",
    "multi": False,
    "name": "datasource",
    "options": [],
    "query": "prometheus",
    "refresh": 1,
    "regex": "",
    "type": "datasource",
}


def _monitor(label: str, before: Sequence[str]) -> Json:
    """A variable of a label that tells monitors apart: one value, the first; empty without any."""
    of = ", ".join(f'{one}="${one}"' for one in before)
    series = f"rag_monitor_build_info{{{of}}}" if of else "rag_monitor_build_info"
    return _queried(label, label.capitalize(), f"label_values({series}, {label})")


def _choice(name: str, label: str, series: str, *, many: bool = True) -> Json:
    """A variable of label values. All is one expression, and not a list: it is safe and short."""
    found = _queried(name, label, f"label_values({of_monitor(series)}, {name})")
    everything: Json = {"selected": True, "text": ["All"], "value": ["$__all"]}
    all_of_them = {"allValue": ".*", "current": everything, "includeAll": True, "multi": True}
    return found | (all_of_them if many else {})


def _queried(name: str, label: str, query: str) -> Json:
    return {
        "current": {},
        "datasource": DATASOURCE,
        "definition": query,
        "hide": 0,
        "includeAll": False,
        "label": label,
        "multi": False,
        "name": name,
        "options": [],
        "query": {"query": query, "refId": f"variable-{name}"},
        "refresh": 2,
        "regex": "",
        "sort": 1,
        "type": "query",
    }


def _textbox(name: str, label: str, description: str) -> Json:
    """A variable that people type."""
    return {
        "current": {"selected": False, "text": "", "value": ""},
        "description": description,
        "hide": 0,
        "label": label,
        "name": name,
        "options": [{"selected": True, "text": "", "value": ""}],
        "query": "",
        "type": "textbox",
    }


def annotation(
    name: str, colour: str, expression: str, title: str, text: str, panels: Sequence[str] = ()
) -> Json:
    """Marks at what a query finds, with what they say of it; ``panels``: titles of where only."""
    found = {
        "datasource": DATASOURCE,
        "enable": True,
        "expr": of_monitor(expression),
        "hide": False,
        "iconColor": colour,
        "name": name,
        "step": "15s",
        "tagKeys": "metric,application",
        "textFormat": text,
        "titleFormat": title,
    }
    return found | ({"filter": {"exclude": False, "ids": list(panels)}} if panels else {})


def alarms(name: str, panels: Sequence[str], *matchers: str) -> list[Json]:
    """On these panels: an alarm from its opening to its end, and the start of its change."""
    who = "metric, application, judge"
    inner = ", ".join([*matchers, APPLICATION])
    open_ = f"max by ({who}) (rag_drift_alarm{{{inner}}}) > 0"
    told = f"max by ({who}, answer) (rag_drift_change_info{{{inner}}})"
    since = f"max by ({who}) (rag_drift_change_since_timestamp_seconds{{{inner}}})"
    region = annotation(
        f"Alarms{name}",
        WORSE,
        f"({open_}) * on ({who}) group_left (answer) {told} or on ({who}) ({open_})",
        "{{metric}} of {{application}} is worse",
        "{{answer}}",
        panels,
    )
    begin = annotation(
        f"Since{name}",
        DOUBT,
        f"1000 * {since}",
        "{{metric}} of {{application}} began to be worse",
        "the estimated start of the change",
        panels,
    )
    return [region, begin | {"useValueForTime": True}]


def releases() -> Json:
    """What was rolled out when, as whoever rolls out has told Grafana."""
    return {
        "datasource": {"type": "grafana", "uid": "-- Grafana --"},
        "enable": True,
        "hide": False,
        "iconColor": GOOD,
        "name": "Releases",
        "target": {"limit": 100, "matchAny": False, "tags": ["deploy"], "type": "tags"},
    }


def versions() -> Json:
    """When interactions began to name another version, and when the one before was gone."""
    who = "application, attribute, before, value, change"
    changed = f"max by ({who}) (rag_deployment_changed_timestamp_seconds{{{APPLICATION}}})"
    words = f'label_replace({changed}, "change", "rolled back", "change", "rolled_back")'
    found = annotation(
        "Versions",
        GOOD,
        f"1000 * {words}",
        "{{attribute}} {{before}} → {{value}} {{change}}",
        "of {{application}}, to the minute",
    )
    return found | {"tagKeys": "attribute,application", "useValueForTime": True}


def judge_changes() -> Json:
    """The minutes in which a judge is new that was not known, while another one was."""
    labels = "judge, model, prompts, pipeline"
    new = f"max by ({labels}) (rag_judge_info) unless on (judge) {_known('judge')}"
    return annotation(
        "Judge changes",
        DOUBT,
        f"({new}) and on () (count({_known('judge')}) > 0)",
        "New judge {{judge}}",
        "model {{model}}, prompts {{prompts}}, pipeline {{pipeline}}; it has its own baseline",
    )


def _known(by: str) -> str:
    return f"max by ({by}) (last_over_time(rag_judge_info[1d] offset 5m))"


#: One series an application; the one of all of them, ``*``, in words.
PAUSED: Final = (
    'label_replace(max by (application) (rag_monitor_paused), "application", "all applications", '
    '"application", "[*]")'
)


def pauses() -> Json:
    """From the beginning of a pause by hand to its end."""
    return annotation(
        "Pauses",
        WORSE,
        PAUSED,
        "Judging of {{application}} is paused",
        "rag-monitor resume ends it",
    )
