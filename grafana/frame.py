"""What all dashboards share: places on the grid, variables, links and annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from grafana.parts import DATASOURCE, DOUBT, WORSE, Json
from grafana.promql import APPLICATION

COLUMNS: Final = 24
TAG: Final = "rag-monitor"
#: Grafana 10.4 writes 39, and every later one reads it.
SCHEMA_VERSION: Final = 39


class Band(NamedTuple):
    """Panels beside each other, of one height, with their widths."""

    height: int
    panels: Sequence[tuple[int, Json]]


class Section(NamedTuple):
    """Bands below a heading; ``repeat`` is the variable for whose values it is repeated."""

    title: str
    bands: Sequence[Band]
    repeat: str | None = None


def placed(sections: Sequence[Section]) -> list[Json]:
    """The panels with ids and places, from the top; a section without a title has no heading."""
    found: list[Json] = []
    y = 0
    for section in sections:
        if section.title:
            found.append(_heading(section, len(found) + 1, y))
            y += 1
        for band in section.bands:
            x = 0
            for width, panel in band.panels:
                at = {"h": band.height, "w": width, "x": x, "y": y}
                found.append({"id": len(found) + 1, "gridPos": at, **panel})
                x += width
            y += band.height
    return found


def _heading(section: Section, number: int, y: int) -> Json:
    heading = {
        "id": number,
        "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": y},
        "type": "row",
        "title": section.title,
        "collapsed": False,
        "panels": [],
    }
    return heading | ({"repeat": section.repeat} if section.repeat else {})


def dashboard(
    uid: str,
    title: str,
    description: str,
    sections: Sequence[Section],
    *,
    annotations: Sequence[Json] = (),
    asks_for_audit: bool = False,
) -> Json:
    """A whole dashboard; where it does not ask for the audit pages, it hands their URL on."""
    return {
        "annotations": {"list": list(annotations)},
        "description": description,
        "editable": True,
        "graphTooltip": 1,
        "id": None,
        "links": [_links()],
        "panels": placed(sections),
        "refresh": "30s",
        "schemaVersion": SCHEMA_VERSION,
        "tags": [TAG],
        "templating": {"list": _variables(asks_for_audit)},
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "title": title,
        "uid": uid,
        "version": 1,
    }


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


def _variables(asks_for_audit: bool) -> list[Json]:
    of = f"{{{APPLICATION}}}"
    return [
        {
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
        },
        _choice("application", "Application", "rag_score_samples"),
        _choice("judge", "Judge", f"rag_score_samples{of}"),
        _choice("segment", "Segment", f"rag_segment_score_samples{of}"),
        _choice("window", "Window", "rag_score_samples", many=False),
        _textbox(
            "audit_url",
            "Audit pages",
            "Base URL of the audit pages, as audit.url; without it there are no links to them.",
            hidden=not asks_for_audit,
        ),
    ]


def _choice(name: str, label: str, series: str, *, many: bool = True) -> Json:
    """A variable of label values. All is one expression, and not a list: it is safe and short."""
    query = f"label_values({series}, {name})"
    everything: Json = {"selected": True, "text": ["All"], "value": ["$__all"]}
    found: Json = {
        "current": everything if many else {},
        "datasource": DATASOURCE,
        "definition": query,
        "hide": 0,
        "includeAll": many,
        "label": label,
        "multi": many,
        "name": name,
        "options": [],
        "query": {"query": query, "refId": f"variable-{name}"},
        "refresh": 2,
        "regex": "",
        "sort": 1,
        "type": "query",
    }
    return found | ({"allValue": ".*"} if many else {})


def _textbox(name: str, label: str, description: str, *, hidden: bool) -> Json:
    """A variable that people type."""
    return {
        "current": {"selected": False, "text": "", "value": ""},
        "description": description,
        "hide": 2 if hidden else 0,
        "label": label,
        "name": name,
        "options": [{"selected": True, "text": "", "value": ""}],
        "query": "",
        "type": "textbox",
    }


def annotation(name: str, colour: str, expression: str, title: str, text: str) -> Json:
    """Marks at what a query finds, with what they say of it."""
    return {
        "datasource": DATASOURCE,
        "enable": True,
        "expr": expression,
        "hide": False,
        "iconColor": colour,
        "name": name,
        "step": "15s",
        "tagKeys": "metric,application",
        "textFormat": text,
        "titleFormat": title,
    }


def alarms() -> Json:
    """From the opening of an alarm to its end, with the sentence of what changed."""
    who = "metric, application, judge"
    open_ = f"max by ({who}) (rag_drift_alarm{{{APPLICATION}}}) > 0"
    told = f"max by ({who}, answer) (rag_drift_change_info{{{APPLICATION}}})"
    return annotation(
        "Alarms",
        WORSE,
        f"({open_}) * on ({who}) group_left (answer) {told} or on ({who}) ({open_})",
        "{{metric}} of {{application}} is worse",
        "{{answer}}",
    )


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
