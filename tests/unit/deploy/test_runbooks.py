"""Every alert has a runbook of the same shape, which names what there is."""

from __future__ import annotations

import re
from typing import get_args

import pytest
import yaml

from monitor.config import Settings, paths
from monitor.config.alerting import AlertName
from monitor.rules.model import Alert
from monitor.rules.render import groups, rendered
from tests.metric_names import known_metrics, metrics_mentioned_in, metrics_named_in
from tests.pages import anchors
from tests.runbooks import RUNBOOKS, SETUP, commands, headings, table, variables

SETTINGS = Settings()
RUNBOOK = pytest.mark.parametrize("name", RUNBOOKS)
SECTIONS = ["First", "Look", "System, judge or traffic?", "Do", "Done when", "Silence"]
#: Who may be to blame.
BLAMED = {
    *("system", "judge", "traffic"),
    *("monitor", "settings", "baseline", "deployment"),
    *("Kafka", "Prometheus", "Alertmanager", "network"),
    *("nothing", "nothing new"),
}


def text(name: str) -> str:
    """A runbook."""
    return RUNBOOKS[name].read_text(encoding="utf-8")


def test_every_alert_has_one_and_links_to_it() -> None:
    """The last part of ``runbook_url`` is the name of the file; no runbook is left over."""
    files = [yaml.safe_load(text) for text in rendered(SETTINGS).values()]
    rules = [rule for file in files for group in file["groups"] for rule in group["rules"]]
    named = {
        rule["alert"]: rule["annotations"]["runbook_url"].rpartition("/")[2]
        for rule in rules
        if "alert" in rule
    }
    assert named == {name: path.name for name, path in RUNBOOKS.items()}
    assert RUNBOOKS.keys() == set(get_args(AlertName))


def test_the_list_names_every_alert_with_its_severities() -> None:
    """As the rules have them."""
    rows = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \| ([\w, ]+) \|", SETUP.read_text("utf-8"), re.M)
    told = {name: set(severities.split(", ")) for name, file, severities in rows if name == file}
    found: dict[str, set[str]] = {}
    for rule in (rule for group in groups(SETTINGS) for rule in group.rules):
        if isinstance(rule, Alert):
            found.setdefault(rule.alert, set()).add(rule.severity)
    assert told == found


@RUNBOOK
def test_it_has_the_same_parts_as_all(name: str) -> None:
    """Title, one sentence, the one command to begin with, a table, what to do, when it is done."""
    title, sentence, _ = text(name).split("\n\n", 2)
    assert title == f"# {name}"
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "\n" not in sentence
    assert headings(RUNBOOKS[name]) == SECTIONS
    first = text(name).partition("## First\n")[2].partition("\n## ")[0]
    assert first.count("```sh\nrag-monitor ") == 1
    assert first.count("```") == 2
    # An alert leads here, and not to the page that says what its variables are.
    assert first.index("(README.md#before-you-begin)") < first.index("```")
    assert all(part in first for part in ("Dashboard: ", "\nAffected: ", "\nFrom a phone: "))
    assert commands(RUNBOOKS[name])


@RUNBOOK
def test_the_table_decides(name: str) -> None:
    """Three cells a row: what is seen, who is to blame, where to go on; more than one verdict."""
    rows = table(RUNBOOKS[name])
    assert all(len(row) == 3 and all(row) for row in rows), rows
    blamed = {row[1] for row in rows}
    assert blamed <= BLAMED
    assert len(blamed) > 1


@RUNBOOK
def test_it_can_be_silenced_and_the_silence_ended(name: str) -> None:
    """With the alert's own name; only the watchdog never is."""
    silences = [each.text for each in commands(RUNBOOKS[name]) if " silence add " in each.text]
    ends = [each.text for each in commands(RUNBOOKS[name]) if " silence expire " in each.text]
    if name == "RagMonitorWatchdog":
        assert silences == ends == []
        return
    for found in (silences, ends):
        assert len(found) == 1
        assert f"alertname={name}" in found[0]


@RUNBOOK
def test_metrics_exist(name: str) -> None:
    """In the text, and in every query, which is PromQL."""
    queries = [each.promql for each in commands(RUNBOOKS[name]) if each.promql]
    asked = {metric for query in queries for metric in metrics_named_in(query)}
    assert asked
    assert asked | metrics_mentioned_in(text(name)) <= known_metrics()


@RUNBOOK
def test_every_question_to_prometheus_is_read(name: str) -> None:
    """So that none escapes the tests of metrics by being written otherwise."""
    asked = [each for each in commands(RUNBOOKS[name]) if each.text.startswith("promtool")]
    assert [each.text for each in asked if each.promql is None] == []


@RUNBOOK
def test_settings_exist(name: str) -> None:
    """Those in code style with a section's name before the dot."""
    known = {path for path, _ in paths()}
    sections = {path.partition(".")[0] for path in known}
    named = re.findall(r"`([a-z_]+\.[a-z_.]+)`", text(name))
    ours = {each for each in named if each.partition(".")[0] in sections}
    assert {
        each for each in ours if not any(k == each or k.startswith(each + ".") for k in known)
    } == set()


@RUNBOOK
def test_links_lead_somewhere(name: str) -> None:
    """To files, and where they name a heading to one that is there."""
    for target in re.findall(r"\]\(([^)]+)\)", text(name)):
        file, _, heading = target.partition("#")
        path = (RUNBOOKS[name].parent / file).resolve()
        assert path.is_file(), target
        assert not heading or heading in anchors(path), target


def test_variables_are_set_in_one_place() -> None:
    """Those that commands use are set in the README, and no others."""
    told = {name for each in commands(SETUP) for name in re.findall(r"([A-Z_]+)=", each.text)}
    used = {name for path in RUNBOOKS.values() for name in variables(path)}
    assert used | {"RAG_MONITOR_CONFIG"} == told
