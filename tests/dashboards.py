"""The committed dashboards as Grafana reads them: panels, queries, variables filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

FOLDER: Final = Path(__file__).parents[1] / "grafana" / "dashboards"
Json = dict[str, Any]

#: What Grafana puts in itself, as for half an hour at a scrape interval of 15 seconds.
BUILT_IN: Final = {
    "__rate_interval": "1m",
    "__range": "30m",
    "__range_s": "1800",
    "__interval": "15s",
}
#: All is this expression in every variable that knows All; the audit pages are not set. The one
#: monitor that there is has no labels of its own.
CHOSEN: Final = {
    "cluster": "",
    "namespace": "",
    "application": ".*",
    "judge": ".*",
    "window": "1h",
    "audit_url": "",
}


class PanelQuery(NamedTuple):
    """One query, with where it stands."""

    dashboard: str
    panel: str
    ref: str
    expression: str
    instant: bool

    @property
    def where(self) -> str:
        """For people."""
        return f"{self.dashboard} / {self.panel} / {self.ref}"


def dashboards() -> dict[str, Json]:
    """By name of the file."""
    found = {path.stem: path for path in sorted(FOLDER.glob("*.json"))}
    return {name: json.loads(path.read_text("utf-8")) for name, path in found.items()}


def panels(dashboard: Json) -> list[Json]:
    """All but the headings, those of collapsed rows too."""
    return [panel for row in dashboard["panels"] for panel in inside(row)]


def open_panels(dashboard: Json) -> list[Json]:
    """Those that are seen, and ask their queries, when the dashboard is opened."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def inside(panel: Json) -> list[Json]:
    """What a collapsed row holds; a panel is itself."""
    return list(panel["panels"]) if panel["type"] == "row" else [panel]


def filled(expression: str, values: Mapping[str, str]) -> str:
    """With the variables filled in; raises ``KeyError`` for one that has no value.

    >>> filled('a{b=~"$b"} / rate(c[$__rate_interval]) or "${b}-$1"', {"b": ".*"} | BUILT_IN)
    'a{b=~".*"} / rate(c[1m]) or ".*-$1"'
    """
    return re.sub(
        r"\$(?:\{([a-z_]+)\}|([a-z_]+))", lambda m: values[m.group(1) or m.group(2)], expression
    )


def queries() -> Iterator[PanelQuery]:
    """Every query of every panel, and every annotation, as written."""
    for name, dashboard in dashboards().items():
        for panel in panels(dashboard):
            for target in panel["targets"]:
                ref, expression = target["refId"], target["expr"]
                yield PanelQuery(name, panel["title"], ref, expression, target["instant"])


def annotation_queries() -> Iterator[PanelQuery]:
    """The same of the annotations that ask Prometheus."""
    for name, dashboard in dashboards().items():
        for found in dashboard["annotations"]["list"]:
            if found["datasource"]["type"] == "prometheus":
                yield PanelQuery(name, found["name"], "annotation", found["expr"], False)
