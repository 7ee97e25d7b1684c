"""The dashboards: as built, complete, importable anywhere, and naming only what there is."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from grafana.build import FOLDER, built, differences, main
from grafana.metrics import SHOWN
from grafana.promql import BY, NOW, REPLICAS
from monitor.config import Settings
from monitor.metrics.catalogue import CATALOGUE
from monitor.rules.model import Alert
from monitor.rules.render import groups
from tests.dashboards import (
    BUILT_IN,
    CHOSEN,
    PanelQuery,
    annotation_queries,
    dashboards,
    filled,
    open_panels,
    panels,
    queries,
)
from tests.metric_names import declared_metrics, metrics_mentioned_in, metrics_named_in

Json = dict[str, Any]
ROOT = Path(__file__).parents[3]
BOARDS = dashboards()
UIDS = {
    "quality": "rag-quality",
    "drift": "rag-drift",
    "judge": "rag-judge",
    "health": "rag-health",
}
SHARED = ["datasource", *BY, "application", "judge", "window", "audit_url"]
#: 96 panels were twice what anybody reads.
MOST_PANELS = 60
#: What a browser asks Prometheus for when a dashboard is opened, whatever the applications.
MOST_QUERIES = 25
#: Counters of scorers add up; what two exporters both show must not.
OF_EXPORTERS = re.compile(r"rag_(score|segment_score|drift|objective)_?\w*")
ONCE = re.compile(
    r"(max without \(instance, pod\) \(|max by \([^)]*\) \(|and on \([^)]*\) "
    r"|last_over_time\(|max_over_time\()$"
)
VARIABLES = re.compile(r"\$(?:\{([a-z_]+)\}|([a-z_]+))")
MARKED = CHOSEN | BUILT_IN | {label: f"the {label}" for label in BY}
EVERY_PANEL = [(name, panel) for name, board in BOARDS.items() for panel in panels(board)]
IDS = [f"{name}-{panel['id']}" for name, panel in EVERY_PANEL]
EVERY_QUERY = [*queries(), *annotation_queries()]


def test_the_committed_files_are_as_built(tmp_path: Path) -> None:
    """``python -m grafana.build`` makes them so, always the same; what differs is named."""
    assert differences() == []
    assert main(["--check"]) == 0
    assert built() == built()
    for name, text in built().items():
        (tmp_path / name).write_text(text + (" " if name == "judge.json" else ""), "utf-8")
    (tmp_path / "old.json").write_text("{}", "utf-8")
    (tmp_path / "drift.json").unlink()
    assert differences(tmp_path) == ["drift.json", "judge.json", "old.json"]


def test_four_dashboards_with_fixed_uids() -> None:
    """The alerts link to these uids."""
    assert {name: board["uid"] for name, board in BOARDS.items()} == UIDS
    assert all(board["id"] is None for board in BOARDS.values())


@pytest.mark.parametrize(("name", "panel"), EVERY_PANEL, ids=IDS)
def test_a_panel_says_all_that_is_needed(name: str, panel: Json) -> None:
    """Title, unit, thresholds, data source; its description names a metric that it asks for."""
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["title"]
    assert defaults["unit"]
    assert defaults["noValue"] not in ("", "No data")
    assert defaults["thresholds"]["steps"][0]["value"] is None
    for holder in (panel, *panel["targets"]):
        assert holder["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    asked = set().union(*(_names(target["expr"]) for target in panel["targets"]))
    named = _families(re.findall(r"`(\w+)`", panel["description"]))
    assert named & _families(asked), name
    assert metrics_mentioned_in(panel["description"]) <= _families(declared_metrics())


def _names(expression: str) -> set[str]:
    return metrics_named_in(filled(expression, CHOSEN | BUILT_IN))


def _families(names: Any) -> set[str]:
    """The names, and those of the families of histograms."""
    return {*names, *(re.sub(r"_(bucket|sum|count)$", "", name) for name in names)}


@pytest.mark.parametrize("query", EVERY_QUERY, ids=lambda query: query.where)
def test_queries_name_what_there_is(query: PanelQuery) -> None:
    """Every metric is declared by the code, and no recording rule is needed."""
    assert _names(query.expression) - declared_metrics() == set()


@pytest.mark.parametrize("query", EVERY_QUERY, ids=lambda query: query.where)
def test_rates_follow_the_scrape_interval(query: PanelQuery) -> None:
    """``$__rate_interval`` in charts; what is summed up over the time shown has ``$__range``.

    What says "now" has a time of its own, and says the same however long the time shown is.
    """
    for function, interval in re.findall(r"(\w+)\([\w:]+(?:\{[^}]*\})?\[([^\]]*)\]", _bare(query)):
        expected = {"increase": "$__range", "max_over_time": "$__range", "last_over_time": "1d"}
        usual = NOW if query.instant else "$__rate_interval"
        assert interval == expected.get(function, usual)


def _bare(query: PanelQuery) -> str:
    """Without what stands in quotes, which may hold brackets."""
    return re.sub(r'"[^"]*"', '""', query.expression)


@pytest.mark.parametrize("query", EVERY_QUERY, ids=lambda query: query.where)
def test_a_second_exporter_changes_nothing(query: PanelQuery) -> None:
    """Every gauge of the exporters is taken once, or only filters others."""
    for found in OF_EXPORTERS.finditer(_bare(query)):
        assert ONCE.search(query.expression[: _place(query, found)]), found.group()


def _place(query: PanelQuery, found: re.Match[str]) -> int:
    """Where a name in the bare expression stands in the whole one."""
    before = _bare(query)[: found.start()].count(found.group())
    places = [m.start() for m in re.finditer(rf"\b{found.group()}", query.expression)]
    return places[before]


@pytest.mark.parametrize("name", UIDS)
def test_the_grid_is_well_laid(name: str) -> None:
    """24 columns, every place taken once, ids of their own; so in each collapsed row."""
    rows = BOARDS[name]["panels"]
    whole = [panel["id"] for row in rows for panel in {row["id"]: row}.values()]
    ids = [*whole, *(panel["id"] for row in rows for panel in row.get("panels", []))]
    assert len(ids) == len(set(ids))
    for group in (rows, *(row["panels"] for row in rows if row["type"] == "row")):
        _is_well_laid([panel["gridPos"] for panel in group])


def _is_well_laid(places: list[Json]) -> None:
    assert all(at["x"] >= 0 and at["x"] + at["w"] <= 24 for at in places)
    for one, other in combinations(places, 2):
        apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart_x or apart_y, (one, other)


def test_there_are_not_more_panels_than_anybody_reads() -> None:
    """And what is opened asks for as much with one application as with 21: rows are collapsed."""
    assert len(EVERY_PANEL) <= MOST_PANELS
    for name, board in BOARDS.items():
        asked = sum(len(panel["targets"]) for panel in open_panels(board))
        assert asked <= MOST_QUERIES, name
        repeated = [row for row in board["panels"] if row.get("repeat")]
        assert all(row["collapsed"] for row in repeated), name


@pytest.mark.parametrize(("name", "panel"), EVERY_PANEL, ids=IDS)
def test_what_says_now_asks_for_now(name: str, panel: Json) -> None:
    """Grafana rounds the end of a range down to a multiple of its step: an hour, at seven days."""
    assert panel["pluginVersion"] == "10.4.0"
    if panel["type"] in ("stat", "gauge", "bargauge", "table"):
        assert all(target["instant"] and not target["range"] for target in panel["targets"]), name


def test_labels_in_tables_are_texts() -> None:
    """Else a hash such as 79821e67 is shown as a number."""
    for _, panel in EVERY_PANEL:
        if panel["type"] == "table":
            first = panel["fieldConfig"]["overrides"][0]
            assert first["properties"] == [{"id": "unit", "value": "string"}]
            assert "prompts" in first["matcher"]["options"]


def test_red_and_orange_are_not_chance() -> None:
    """No palette: colours of series are shades, or are said; red is for what is worse."""
    for name, panel in EVERY_PANEL:
        assert "palette" not in panel["fieldConfig"]["defaults"]["color"]["mode"], name


@pytest.mark.parametrize("name", UIDS)
def test_links_keep_time_and_variables(name: str) -> None:
    """From every dashboard to the three others, as all have the same variables."""
    board = BOARDS[name]
    (link,) = board["links"]
    assert (link["type"], link["keepTime"], link["includeVars"]) == ("dashboards", True, True)
    assert link["tags"] == board["tags"]
    found = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert list(found) == SHARED
    for variable in found.values():
        if variable["type"] == "query":
            assert variable["datasource"]["uid"] == "${datasource}"
            assert variable.get("allValue") == (".*" if variable["includeAll"] else None)


@pytest.mark.parametrize("query", EVERY_QUERY, ids=lambda query: query.where)
def test_every_selector_is_of_the_chosen_monitor(query: PanelQuery) -> None:
    """Else staging's number stands for production's, where both are in one Prometheus."""
    found: list[promql_parser.VectorSelector] = []

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(promql_parser.parse(filled(query.expression, MARKED)), visit)
    assert found or query.expression.startswith("vector")
    for selector in found:
        matched = {matcher.name: matcher.value for matcher in selector.matchers.matchers}
        assert {label: matched.get(label) for label in BY} == {
            label: f"the {label}" for label in BY
        }


def test_labels_of_monitors_are_those_of_the_rules() -> None:
    """One setting says how monitors, and processes of one, are told apart."""
    alerts = Settings().alerts
    assert (alerts.by, ", ".join(alerts.replicas)) == (BY, REPLICAS)
    for board in BOARDS.values():
        for label, before in zip(BY, (None, *BY), strict=False):
            (variable,) = (v for v in board["templating"]["list"] if v["name"] == label)
            assert not variable["includeAll"]
            assert not variable["multi"]
            of = f'{{{before}="${before}"}}' if before else ""
            assert variable["definition"] == f"label_values(rag_monitor_build_info{of}, {label})"


@pytest.mark.parametrize("name", UIDS)
def test_a_variable_is_shown_where_it_acts(name: str) -> None:
    """Choose one that does nothing, and you believe a wrong page. Hidden ones are for the links."""
    board = BOARDS[name]
    texts = " ".join(target["expr"] for panel in panels(board) for target in panel["targets"])
    used = {found for pair in VARIABLES.findall(texts) for found in pair if found}
    shown = {v["name"] for v in board["templating"]["list"] if v["hide"] == 0}
    assert shown - {"datasource"} == used & {*SHARED}


def test_an_alarm_marks_the_charts_of_its_metric_only() -> None:
    """The other metrics may be fine; on *Drift* it is the chart of the evidence."""
    for board, metrics in (("quality", {m.name: m.title for m in SHOWN}), ("drift", {"": ""})):
        found = [a for a in BOARDS[board]["annotations"]["list"] if "filter" in a]
        assert len(found) == 2 * len(metrics)
        titles = {panel["id"]: panel["title"] for panel in panels(BOARDS[board])}
        for each in found:
            marked = {titles[number] for number in each["filter"]["ids"]}
            metric = "".join(re.findall(r'metric="(\w+)"', each["expr"])[:1])
            assert marked
            assert all(title.startswith(metrics[metric]) for title in marked)
            assert each.get("useValueForTime", False) == each["name"].startswith("Since")


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS.keys())
def test_releases_are_marked(board: Json) -> None:
    """By whoever rolls out: the README says how."""
    (found,) = (a for a in board["annotations"]["list"] if a["datasource"]["type"] == "grafana")
    assert found["target"]["tags"] == ["deploy"]
    assert '"tags": ["deploy"]' in (ROOT / "grafana/README.md").read_text("utf-8")


def test_plain_names_come_from_the_catalogue() -> None:
    """In titles and cells; the name itself stands in the description, or in the query."""
    for metric in SHOWN:
        plain = CATALOGUE[metric.name].plain
        titles = {p["title"] for _, p in EVERY_PANEL if f"`{metric.name}`" in p["description"]}
        assert {title.partition(",")[0].lower() for title in titles} == {plain}
    tables = [panel for _, panel in EVERY_PANEL if panel["type"] == "table"]
    for table in tables:
        columns = {
            o["matcher"]["options"]: o["properties"] for o in table["fieldConfig"]["overrides"]
        }
        if "metric" in columns:
            (mapped,) = (p["value"] for p in columns["metric"] if p["id"] == "mappings")
            assert mapped[0]["options"].keys() == CATALOGUE.keys()


@pytest.mark.parametrize("query", EVERY_QUERY, ids=lambda query: query.where)
def test_many_values_are_matched_as_expressions(query: PanelQuery) -> None:
    """A variable of many values stands after ``=~`` and in quotes; the window after ``=``."""
    for operator, name in re.findall(r'(=~|!~|!=|=)\s*"\$(\w+)"', query.expression):
        assert operator == ("=" if name in ("window", *BY) else "=~")
    bare = re.findall(r"(?<!\")\$(application|judge|window|cluster|namespace)\b", query.expression)
    assert bare == []


def test_seldom_things_are_listed() -> None:
    """What shows a zero, or that it is unknown, where there is nothing is listed in one place."""
    listed = (ROOT / "grafana/README.md").read_text("utf-8").partition("## Rare events")[2]
    for end, heading in (("0", "### Zero"), ("NaN", "### Unknown")):
        found = {
            f"{BOARDS[query.dashboard]['title'].removeprefix('RAG / ')}: {query.panel}"
            for query in queries()
            if f"vector({end})" in query.expression
        }
        told = listed.partition(heading)[2].partition("### ")[0]
        assert set(re.findall(r"^- (.+)$", told, re.MULTILINE)) == found


def test_the_provisioning_files_are_read() -> None:
    """Both are YAML with the version that Grafana expects, and point at what is here."""
    folder = FOLDER.parent / "provisioning"
    (provider,) = yaml.safe_load((folder / "dashboards/rag-monitor.yml").read_text())["providers"]
    assert provider["type"] == "file"
    (source,) = yaml.safe_load((folder / "datasources/rag-monitor.yml").read_text())["datasources"]
    assert source["type"] == "prometheus"
    (exemplar,) = source["jsonData"]["exemplarTraceIdDestinations"]
    assert exemplar["name"] == "interaction_id"


def test_alerts_lead_to_dashboards_and_set_variables_that_these_have() -> None:
    """Of every alert: the uid of its link, and each ``var-`` in it."""
    boards = {board["uid"]: board for board in BOARDS.values()}
    alerts = [rule for group in groups(Settings()) for rule in group.rules]
    links = [rule.dashboard_url for rule in alerts if isinstance(rule, Alert)]
    assert len(links) > len(boards)
    for link in links:
        uid, _, query = link.rpartition("/")[2].partition("?")
        known = {each["name"] for each in boards[uid]["templating"]["list"]}
        assert set(re.findall(r"var-(\w+)=", query)) <= known, link
