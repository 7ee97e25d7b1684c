"""The rule files: as committed, approved by promtool, and naming only what there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml

from monitor.config import Settings, load
from monitor.config.alerting import KEEP_FIRING, PENDING, AlertName
from monitor.config.judging import LONGEST_BLOCK_WAIT_S
from monitor.errors import ConfigurationError
from monitor.rules.model import Alert, Recording
from monitor.rules.render import groups, rendered
from monitor.sampling.blocks import LONGEST_WAIT_S
from tests.dashboards import dashboards
from tests.metric_names import (
    OF_PROMETHEUS,
    declared_metrics,
    known_metrics,
    metrics_mentioned_in,
    metrics_named_in,
    queries_in,
)
from tests.stages.command import one_line, rag_monitor, started
from tests.stages.promtool import promtool

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "deploy/prometheus/rules"
EXPORTER_GAUGES = ("rag_score", "rag_drift", "rag_objective")
#: Other settings than the defaults, which change what the rules look like.
SMALL = {
    "alerts.by": "",
    "alerts.labels": json.dumps({"team": "search"}),
    "alerts.window": "30s",
    "alerts.long_window": "5m",
    "alerts.lag": "10s",
    "alerts.pending": json.dumps({"RagQualityDrift": "5s"}),
    "alerts.runbook_url": "https://wiki/rag/",
    "sampling.rate": "0.25",
}


def rules(**flags: str) -> Iterator[Recording | Alert]:
    """All rules of some settings."""
    for group in groups(load({}, flags=flags)):
        yield from group.rules


def alerts(**flags: str) -> list[Alert]:
    """All alerts of some settings."""
    return [rule for rule in rules(**flags) if isinstance(rule, Alert)]


def test_the_committed_files_are_those_of_the_default_settings() -> None:
    """``rag-monitor rules render --out deploy/prometheus/rules`` makes them so."""
    found = {path.name: path.read_text(encoding="utf-8") for path in COMMITTED.iterdir()}
    assert found == rendered(Settings())


@pytest.mark.parametrize("label", ["application", "metric", "severity"])
def test_what_an_alert_is_about_cannot_be_set(label: str) -> None:
    """All applications would be one, in groups and in inhibitions."""
    with pytest.raises(ConfigurationError, match=rf"alerts\.labels\.{label}: found '{label}'"):
        load({}, flags={"alerts.labels": json.dumps({label: "x"})})


#: Nothing goes on after its end.
AT_ONCE = {"alerts.keep_firing": json.dumps(dict.fromkeys(KEEP_FIRING, "0s"))}


@pytest.mark.parametrize("flags", [{}, SMALL, AT_ONCE])
def test_promtool_approves(flags: dict[str, str], tmp_path: Path) -> None:
    """Of the rules of the defaults and of others, with all its lints."""
    for name, text in rendered(load({}, flags=flags)).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = promtool("check", "rules", "--lint=all", "--lint-fatal", *tmp_path.iterdir())
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("SUCCESS") == 2


def test_all_alerts_are_there() -> None:
    """Every alert has a rule, and every rule the name of an alert, and durations of its own."""
    names = set(get_args(AlertName))
    assert {alert.alert for alert in alerts()} == names == PENDING.keys() == KEEP_FIRING.keys()


@pytest.mark.parametrize("flags", [{}, SMALL])
def test_rules_name_what_there_is(flags: dict[str, str]) -> None:
    """Every metric in an expression, or in a question of a template, is declared or recorded."""
    for rule in rules(**flags):
        named = metrics_named_in(rule.expr)
        for query in queries_in(rule.description) if isinstance(rule, Alert) else ():
            named |= metrics_named_in(query)
        if isinstance(rule, Alert):
            named |= metrics_mentioned_in(rule.summary + rule.description)
        assert named - known_metrics() == set(), rule


def test_a_metric_that_is_not_there_is_found() -> None:
    """The test before this one can fail."""
    assert metrics_named_in("sum(rate(rag_monitor_interaction_total[5m]))") - known_metrics() == {
        "rag_monitor_interaction_total"
    }


def test_what_is_recorded_is_made_before_it_is_used() -> None:
    """Within a group rules are evaluated in order, so an alert is not an interval late."""
    for group in groups(Settings()):
        made = set(declared_metrics() | OF_PROMETHEUS)
        for rule in group.rules:
            assert metrics_named_in(rule.expr) <= made, rule
            if isinstance(rule, Recording):
                made.add(rule.record)


def test_gauges_of_exporters_are_taken_once() -> None:
    """Whatever is built on a gauge of the exporters begins with the maximum over them."""
    for rule in rules():
        for name in metrics_named_in(rule.expr):
            if name.startswith(EXPORTER_GAUGES) and ":" not in name:
                assert re.fullmatch(
                    rf"max without \(instance, pod[a-z, ]*\) \({name}({{.*}})?\)", rule.expr
                )


def test_names_of_records_have_three_parts() -> None:
    """``level:metric:operations``, each but the derived ones with the metric that it is made of."""
    for rule in rules():
        if isinstance(rule, Recording):
            level, metric, operations = rule.record.split(":")
            assert level
            assert operations
            bases = {name.removesuffix("_total") for name in declared_metrics()}
            derived = {"rag_monitor_scores_expected", "rag_monitor_input_records"}
            assert metric in bases | derived


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.alert)
def test_an_alert_says_all_that_is_needed(alert: Alert) -> None:
    """A summary, a value, a runbook, a dashboard; and no label that comes from a value."""
    assert alert.summary
    said = alert.summary + alert.description
    assert "$value" in said or alert.alert in ("RagQualityDrift", "RagMonitorDown")
    assert alert.runbook_url == f"https://runbooks.example.com/rag-monitor/{alert.alert}.md"
    assert alert.dashboard_url.startswith("https://grafana.example.com/d/rag-")
    assert not any("$value" in value for value in alert.labels.values())


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.alert)
def test_a_link_sets_variables_that_its_dashboard_has(alert: Alert) -> None:
    """Else the dashboard opens on something else than what the alert is about."""
    uid = alert.dashboard_url.rpartition("/d/")[2].partition("?")[0]
    (dashboard,) = (each for each in dashboards().values() if each["uid"] == uid)
    known = {each["name"] for each in dashboard["templating"]["list"]}
    assert set(re.findall(r"var-(\w+)=", alert.dashboard_url)) <= known


def test_settings_stand_in_the_rules() -> None:
    """Addresses, labels, durations and rates are those of the configuration."""
    drift = next(alert for alert in alerts(**SMALL) if alert.alert == "RagQualityDrift")
    assert (drift.labels, drift.pending, drift.keep_firing) == ({"team": "search"}, "5s", "5m")
    assert drift.runbook_url == "https://wiki/rag/RagQualityDrift.md"
    expected = next(
        rule
        for rule in rules(**SMALL)
        if isinstance(rule, Recording) and "scores_expected" in rule.record
    )
    assert "clamp_min((0.25 * " in expected.expr


def test_the_longest_wait_for_a_block_is_that_of_the_scorers() -> None:
    """What the rules wait for is what is waited for."""
    assert LONGEST_BLOCK_WAIT_S == LONGEST_WAIT_S


def test_what_is_not_judged_at_all_hides_nothing_of_the_others() -> None:
    """An application with the rate 0 leaves the others what is expected of them."""
    apps = json.dumps([{"application": "a*", "sampling": {"rate": 0}}])
    found = [r.expr for r in rules(applications=apps) if isinstance(r, Recording)]
    assert any("clamp_min((1 * " in expr for expr in found)
    assert not any("clamp_min((0 * " in expr for expr in found)


def test_records_of_spans_do_not_say_how_many_scores_to_expect() -> None:
    """Three of them may be one trace, or one of them a hundred: those of other topics say it."""
    spans = [{"topic": "spans", "format": "otlp_json"}]

    def sent(**settings: str) -> list[str]:
        found = [r.expr for r in rules(**settings) if isinstance(r, Recording)]
        return [expr for expr in found if '"part", "sent"' in expr]

    both = {"kafka.topics.interactions": "logs", "ingest.sources": json.dumps(spans)}
    assert all('{topic!~"spans"}' in expr for expr in sent(**both))
    assert len(sent(**both)) == 2
    assert sent(**{"kafka.topics.interactions": "spans", "ingest.format": "otlp_proto"}) == []


def test_the_smallest_rate_of_all_applications_counts() -> None:
    """Nothing may be missed that an application of a small rate is not sampled for."""
    apps = json.dumps([{"application": "a*", "sampling": {"rate": 0.02}}])
    found = [r.expr for r in rules(applications=apps) if isinstance(r, Recording)]
    assert any("clamp_min((0.02 * " in expr for expr in found)


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("alerts.pending", '{"RagDrift": "5m"}', "RagDrift"),
        ("alerts.pending", '{"RagQualityDrift": "soon"}', "'soon'"),
        ("alerts.by", "name-space", "'name-space', no name of a label"),
        ("alerts.audit_kappa", "60", "less than or equal to 1"),
        ("alerts.job", "(", "no regular expression"),
        ("alerts.runbook_url", "wiki", "http(s)://"),
        ("alerts.runbook_url", "https://wiki/{{ $value }}", "http(s)://"),
        ("alerts.window", "0s", "0s"),
    ],
)
def test_wrong_settings_are_named(setting: str, value: str, why: str) -> None:
    """One line with the path of the setting and what is wrong with it; exit code 2."""
    found = rag_monitor("rules", "render", "--set", f"{setting}={value}")
    line = one_line(found)
    assert (found.returncode, line.startswith(setting), why in line) == (2, True, True), line


def test_render_prints_writes_and_checks(tmp_path: Path) -> None:
    """Without a directory to stdout; ``--check`` writes nothing, and tells what differs."""
    printed = started("rules", "render")
    assert [*yaml.safe_load_all(printed.stdout)] == [
        yaml.safe_load(text) for text in rendered(Settings()).values()
    ]
    out = tmp_path / "rules"
    missing = rag_monitor("rules", "render", "--check", "--out", out)
    assert (missing.returncode, missing.stderr.count("differs"), out.exists()) == (1, 2, False)
    assert rag_monitor("rules", "render", "--out", out).returncode == 0
    assert rag_monitor("rules", "render", "--check", "--out", out).returncode == 0
    other = rag_monitor("rules", "render", "--check", "--out", out, "--set", "alerts.least=5")
    assert (other.returncode, other.stderr.count("rag-monitor.yml differs")) == (1, 1)
    assert rag_monitor("rules", "render", "--check").returncode == 2


def test_links_that_lead_nowhere_are_told_when_rules_are_written() -> None:
    """On stderr, one line each, until the addresses are set."""
    told = rag_monitor("rules", "render").stderr.splitlines()
    assert told == [
        "runbook links lead to runbooks.example.com, an example: set alerts.runbook_url",
        "dashboard links lead to grafana.example.com, an example: set alerts.dashboard_url",
    ]
    ours = ("alerts.runbook_url=https://wiki/x", "alerts.dashboard_url=https://grafana/d")
    options = [part for setting in ours for part in ("--set", setting)]
    assert rag_monitor("rules", "render", *options).stderr == ""


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One line, exit code 2."""
    (tmp_path / "file").write_text("")
    found = rag_monitor("rules", "render", "--out", tmp_path / "file")
    assert found.returncode == 2
    assert "--out" in one_line(found)
