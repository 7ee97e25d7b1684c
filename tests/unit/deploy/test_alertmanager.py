"""The shipped routes and inhibitions, held against the alerts that the rules have."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from monitor.config import load
from monitor.demo.stack.stack import DEPLOY
from monitor.exporter.messages.headline import headline
from monitor.rules.model import Alert
from monitor.rules.render import groups
from tests.stages.alarm_records import HEADLINE, alarm
from tests.tools import requires_tool

SHIPPED: Final = DEPLOY / "alertmanager" / "alertmanager.yml"
CONFIG: Final[dict[str, Any]] = yaml.safe_load(SHIPPED.read_text("utf-8"))
SETTINGS: Final = load({})
ALERTS: Final = [
    rule for group in groups(SETTINGS) for rule in group.rules if isinstance(rule, Alert)
]
RANKS: Final = ("none", "info", "ticket", "page")
#: Labels that an alert gets from the series, not from its rule, and that a matcher looks at.
FROM_SERIES: Final = {"role": "score", "state": "circuit_open", "metric": "answered"}
MATCHER: Final = re.compile(r'(?P<label>\w+)(?P<sign>!~|=~|=)"(?P<value>.*)"')


def tool(*arguments: str) -> str:
    """What amtool or promtool says; it must be content."""
    package = "prometheus" if arguments[0] == "promtool" else "prometheus-alertmanager"
    missing = None if shutil.which(arguments[0]) else f"no {arguments[0]}"
    requires_tool(arguments[0], missing, f"apt-get install {package}")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def labels(alert: Alert) -> dict[str, str]:
    """Those that are known of it before it fires."""
    return {"alertname": alert.alert, **FROM_SERIES, **alert.as_tree()["labels"]}


def matches(matchers: list[str], found: dict[str, str]) -> bool:
    """Whether all of them hold."""
    parsed = [MATCHER.fullmatch(each) for each in matchers]
    assert None not in parsed, matchers
    return all(
        (re.fullmatch(each["value"], found.get(each["label"], "")) is None) == (sign == "!~")
        if (sign := each["sign"]) != "="
        else each["value"] == found.get(each["label"], "")
        for each in parsed
        if each is not None
    )


def silenced() -> Iterator[tuple[Alert, Alert, dict[str, Any]]]:
    """Cause, consequence, and the inhibition that makes it silent."""
    for rule in CONFIG["inhibit_rules"]:
        for source in ALERTS:
            for target in ALERTS:
                if matches(rule["source_matchers"], labels(source)) and matches(
                    rule["target_matchers"], labels(target)
                ):
                    yield source, target, rule


def test_the_configuration_is_valid() -> None:
    """For Alertmanager with its templates, and for Prometheus with the rules."""
    assert "SUCCESS" in tool("amtool", "check-config", str(SHIPPED))
    said = tool("promtool", "check", "config", str(DEPLOY / "prometheus" / "prometheus.yml"))
    assert "2 rule files found" in said


def first_line(tmp_path: Path, template: str, summaries: list[str], **labels: str) -> str:
    """As Alertmanager's own templates render it."""
    return rendered(tmp_path, template, [("firing", one) for one in summaries], **labels).strip()


def rendered(tmp_path: Path, template: str, told: list[tuple[str, str]], **labels: str) -> str:
    """The same of alerts of which some have ended: their states and summaries."""
    alerts = [
        {"status": status, "labels": labels, "annotations": {"summary": summary}}
        for status, summary in told
    ]
    fires = any(status == "firing" for status, _ in told)
    given = {
        "status": "firing" if fires else "resolved",
        "commonLabels": labels,
        "alerts": alerts,
    }
    data = tmp_path / "data.json"
    data.write_text(json.dumps(given), encoding="utf-8")
    text = f'{{{{ template "{template}" . }}}}'
    way = [f"--template.glob={SHIPPED.parent}/templates/*.tmpl", f"--template.data={data}"]
    return tool("amtool", "template", "render", *way, f"--template.text={text}")


@pytest.mark.parametrize(
    ("cluster", "namespace", "begins"),
    [
        ("prod-eu", "rag", "[prod-eu/rag] "),
        ("", "", "[rag-monitor] "),
        ("prod-eu-1", "rag-prod", "[prod-eu-1/rag-prod] "),
        ("production-europe-west-1", "rag-monitoring-production", "[prod…st-1/rag-…tion] "),
        ("production-europe-west-1", "", "[produc…est-1] "),
        (
            "arn:aws:eks:eu-central-1:123456789012:cluster/production-eu",
            "rag",
            "[arn:aw…on-eu/rag] ",
        ),
        ("team/production-europe-west-1", "rag-monitoring-production", "[team…st-1/rag-…tion] "),
    ],
)
def test_a_first_line_fits_whatever_cluster_and_namespace_are_called(
    tmp_path: Path, cluster: str, namespace: str, begins: str
) -> None:
    """The number of scores goes first, then their middle; the rest stays whole."""
    line = first_line(tmp_path, "rag.title", [HEADLINE], cluster=cluster, namespace=namespace)
    assert len(line) <= 110
    assert line in (begins + HEADLINE, begins + HEADLINE.replace(", n 96", ""))


def test_the_longest_headline_fits_with_the_longest_names(tmp_path: Path) -> None:
    """What the exporter leaves for cluster and namespace is enough for both, and for a number."""
    name = "the assistant of the night shift <at> the hotel by the lake of four forest cantons"
    long = headline(alarm(application=name))
    names = {"cluster": "production-europe-west-1", "namespace": "rag-monitoring-production"}
    line = first_line(tmp_path, "rag.title", [long], **names)
    assert line == f"[pro…-1/rag…on] {long}"
    assert len(line) == 110
    for template in ("rag.title", "rag.slack.title"):
        many = html.unescape(first_line(tmp_path, template, [long] * 12, **names))
        assert len(many) <= 110
        assert many.endswith("passages 8 % → 17 % since 02:10 UTC + 11 more"), many


BACK: Final = "bot: faithfulness back at 92 % (89–95 %) after 60 min"
WORSE: Final = (
    "bot: wrong claims from irrelevant passages 9 % → 35 % (27–44 %, n 97) since 12:01 UTC"
)


@pytest.mark.parametrize("template", ["rag.title", "rag.slack.title"])
def test_what_has_ended_is_not_the_first_line_of_what_goes_on(
    tmp_path: Path, template: str
) -> None:
    """Of two metrics of one incident the first one, by its labels, is well again; one is not."""
    told = [("resolved", BACK), ("firing", WORSE), ("resolved", BACK)]
    assert rendered(tmp_path, template, told).strip() == f"[rag-monitor] {WORSE}"
    told += [("firing", BACK)]
    assert rendered(tmp_path, template, told).strip() == f"[rag-monitor] {WORSE} (+ 1 more)"
    ended = [("resolved", BACK)] * 2
    line = rendered(tmp_path, template, ended).strip()
    assert line == f"[rag-monitor] resolved: {BACK} (+ 1 more)"


def test_of_many_what_fires_is_told_first(tmp_path: Path) -> None:
    """Ten of a storm have ended, whose names come first: the five that are told have not."""
    ended = [("resolved", f"a{i}") for i in range(10)]
    firing = [("firing", f"z{i}") for i in range(4)]
    text = rendered(tmp_path, "rag.slack.text", ended + firing)
    assert re.findall("[az][0-9]", text) == ["z0", "z1", "z2", "z3", "a0"]
    assert text.count("*resolved*") == 1
    assert text.strip().endswith("+ 9 more")


@pytest.mark.parametrize("template", ["rag.title", "rag.slack.title"])
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a" * 128, "a" * 12 + "…" + "a" * 11),
        ("客服机器人" * 20, ("客服机器人" * 3)[:12] + "…" + ("客服机器人" * 3)[-11:]),
        ("first\nsecond " + "b" * 100, "first second…" + "b" * 11),
        ("<a&b>" * 30, "<a&b><a&b><a…"),
    ],
    ids=["letters", "chinese", "lines", "escaped"],
)
def test_a_long_name_hides_no_message(tmp_path: Path, template: str, name: str, shown: str) -> None:
    """Whatever the alert: the middle of the application's name goes before its end does."""
    said = "wrong claims from irrelevant passages has no value any more"
    line = html.unescape(first_line(tmp_path, template, [f"{name}: {said}"], namespace="rag"))
    assert line.startswith(f"[rag] {shown}")
    assert line.endswith(f": {said}")
    assert len(line) <= 110
    assert "\n" not in line


@pytest.mark.parametrize("alert", ALERTS, ids=lambda a: f"{a.alert}-{a.labels.get('cause', '')}")
def test_each_alert_goes_where_its_severity_says(alert: Alert) -> None:
    """As amtool follows the routes; the watchdog has a way of its own."""
    receiver = "watchdog" if alert.severity == "none" else alert.severity
    given = [f"{name}={value}" for name, value in labels(alert).items()]
    way = [f"--config.file={SHIPPED}", f"--verify.receivers={receiver}"]
    assert tool("amtool", "config", "routes", "test", *way, *given).strip() == receiver


def test_an_unknown_severity_is_a_ticket() -> None:
    """Such an alert is neither lost nor wakes anybody."""
    way = [f"--config.file={SHIPPED}", "--verify.receivers=ticket"]
    assert tool("amtool", "config", "routes", "test", *way, "alertname=Else").strip() == "ticket"


def test_nothing_silences_what_is_more_severe_than_itself() -> None:
    """Else somebody who should be woken sleeps on, because a ticket was written."""
    found = list(silenced())
    assert len(found) >= 15
    for source, target, _ in found:
        assert RANKS.index(source.severity) >= RANKS.index(target.severity), (source, target)


def test_every_inhibition_has_a_cause_and_a_consequence() -> None:
    """A renamed alert would leave one that never applies."""
    used = [rule for _, _, rule in silenced()]
    assert all(rule in used for rule in CONFIG["inhibit_rules"])
    named = {name for rule in CONFIG["inhibit_rules"] for name in _names(rule["target_matchers"])}
    assert named <= {alert.alert for alert in ALERTS}


def _names(matchers: list[str]) -> Iterator[str]:
    for each in matchers:
        found = MATCHER.fullmatch(each)
        if found is not None and found["label"] == "alertname":
            start, *ends = re.split(r"[(|)]", found["value"])
            yield from ([start + end for end in ends if end] or [start])


def test_no_alert_silences_itself() -> None:
    """Nor one another: of a cause and its consequence one is always told."""
    pairs = {(source.alert, target.alert) for source, target, _ in silenced()}
    within = {"RagMonitorDeadLetters"}  # the page about them silences the ticket
    assert {source for source, target in pairs if source == target} == within
    causes = {
        ((source.alert, source.labels.get("cause")), (target.alert, target.labels.get("cause")))
        for source, target, _ in silenced()
    }
    assert [pair for pair in causes if pair[::-1] in causes] == []


def test_deployments_are_told_apart_as_in_the_rules() -> None:
    """Each group and each inhibition looks at the labels of alerts.by."""
    kept = set(SETTINGS.alerts.by)
    route = CONFIG["route"]
    inner = next(each for each in route["routes"] if each["receiver"] == "page")["routes"]
    assert all(kept <= set(each["group_by"]) for each in (route, *inner))
    assert all(kept <= set(rule["equal"]) for rule in CONFIG["inhibit_rules"])


def test_secrets_stand_in_files() -> None:
    """Nothing in the configuration itself is one."""
    text = SHIPPED.read_text("utf-8")
    for key in ("routing_key:", "service_key:", "api_url:", "credentials:", "password:", "token:"):
        assert key not in text
    assert text.count("_file: /etc/alertmanager/secrets/") == 4
    assert Path(SHIPPED.parent / "templates" / "rag.tmpl").exists()
