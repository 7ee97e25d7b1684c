"""The demo's stack: what is derived from what is shipped, and what arrives, as it is told."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from monitor.config.alerting import PENDING
from monitor.demo.chronicle import Chronicle, EventKind
from monitor.demo.options import DemoOptions, demo_settings
from monitor.demo.schedule import Schedule, TrafficPace
from monitor.demo.stack.configs import alertmanager_config, prometheus_config
from monitor.demo.stack.inbox import Inbox
from monitor.demo.stack.notification import Notification, read_notification
from monitor.demo.stack.pace import PACE, divided, hurried
from monitor.demo.stack.stack import DEPLOY, read_shipped
from monitor.demo.view import View
from monitor.errors import ConfigurationError
from monitor.exporter.serve.scraped import ScrapedPage
from monitor.rules.model import Alert
from monitor.rules.render import groups

START = 1_000.0


def notification(
    *sentences: str, status: str = "firing", receiver: str = "page", name: str = "RagQualityDrift"
) -> Notification:
    """One of Alertmanager, with an alert for each sentence."""
    alerts = [
        {
            "status": status,
            "labels": {"alertname": name, "number": str(number)},
            "annotations": {"description": sentence},
        }
        for number, sentence in enumerate(sentences)
    ]
    body = {"status": status, "groupKey": f"{receiver}/{name}", "alerts": alerts}
    return read_notification(receiver, json.dumps(body).encode())


def test_the_rules_are_the_shipped_ones_with_shorter_waits() -> None:
    """The same alerts, whose `for` is divided by the pace."""
    settings = demo_settings(DemoOptions(), {}, "127.0.0.1:1")
    alerts = [r for group in groups(settings) for r in group.rules if isinstance(r, Alert)]
    assert {each.alert for each in alerts} == set(PENDING)
    drift = next(each for each in alerts if each.alert == "RagQualityDrift")
    assert (drift.pending, drift.keep_firing) == ("4s", "5s")


def test_routes_differ_in_their_waits_and_addresses_only() -> None:
    """The same tree, groups, matchers and inhibitions; each receiver is a path of the webhook."""
    shipped = read_shipped(DEPLOY).alertmanager
    found = alertmanager_config(shipped, "http://127.0.0.1:9", PACE)
    assert _without_waits(found["route"]) == _without_waits(shipped["route"])
    assert found["inhibit_rules"] == shipped["inhibit_rules"]
    urls = {each["name"]: each["webhook_configs"][0]["url"] for each in found["receivers"]}
    names = [each["name"] for each in shipped["receivers"]]
    assert urls == {name: f"http://127.0.0.1:9/{name}" for name in names}
    page = next(each for each in found["route"]["routes"] if each["receiver"] == "page")
    assert (page["group_wait"], page["group_interval"]) == ("1s", "5s")


def _without_waits(route: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in route.items() if not k.endswith(("_wait", "_interval"))}
    return {**kept, "routes": [_without_waits(each) for each in route.get("routes", [])]}


def test_a_route_without_waits_stays_as_it_is() -> None:
    """They come from the route above it."""
    assert hurried({"receiver": "a", "routes": [{"group_wait": "1m"}]}) == {
        "receiver": "a",
        "routes": [{"group_wait": "1s"}],
    }


@pytest.mark.parametrize("wrong", ["5", "m", "1h30m", ""])
def test_a_duration_that_is_none_is_refused(wrong: str) -> None:
    """Rather than divided into something else."""
    with pytest.raises(ValueError, match="expected a whole number"):
        divided(wrong, 60)


def test_the_scrape_job_keeps_its_name() -> None:
    """The rules go by it; its targets are those of the demo."""
    shipped = read_shipped(DEPLOY).prometheus
    found = prometheus_config(shipped, "targets.json", "127.0.0.1:1", ["a.yml"])
    (job,) = found["scrape_configs"]
    assert job["job_name"] == "rag-monitor"
    assert "static_configs" not in job
    assert job["file_sd_configs"][0]["files"] == ["targets.json"]
    assert (found["rule_files"], found["global"]["evaluation_interval"]) == (["a.yml"], "1s")


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "No such file"), ("a: [", "no YAML"), ("- a", "found list, expected a mapping")],
)
def test_a_configuration_that_cannot_be_read_is_named(
    tmp_path: Path, text: str | None, said: str
) -> None:
    """With its path, in one error that leads to exit code 2."""
    path = tmp_path / "prometheus" / "prometheus.yml"
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)
    with pytest.raises(ConfigurationError, match=said) as raised:
        read_shipped(tmp_path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"alerts": 1}', b'{"alerts": [{}]}'])
def test_what_is_no_notification_is_refused(body: bytes) -> None:
    """Anybody on this machine may post to the webhook."""
    with pytest.raises(ValueError, match=r"notification|Expecting"):
        read_notification("page", body)


def test_arrivals_are_told_once() -> None:
    """A repetition is no news; another sentence or the end of it is."""
    inbox = Inbox()
    for seconds, arrived in enumerate(
        [
            notification("it rose"),
            notification("it rose"),
            notification("it rose", "that, too"),
            notification("it rose", "that, too", status="resolved"),
        ]
    ):
        inbox.hear(arrived, float(seconds))
    assert [(event.at_s, event.kind, event.text) for event in inbox.events()] == [
        (0.0, EventKind.MESSAGE, "page FIRING RagQualityDrift: it rose"),
        (2.0, EventKind.MESSAGE, "page FIRING RagQualityDrift: it rose (and 1 more)"),
        (3.0, EventKind.MESSAGE, "page RESOLVED RagQualityDrift: it rose (and 1 more)"),
    ]
    assert [each["status"] for each in inbox.summary()] == ["firing", "firing", "resolved"]


def test_the_watchdog_is_told_only_at_first() -> None:
    """That it comes again and again is its nature."""
    inbox = Inbox()
    for seconds in range(3):
        beat = notification(f"beat {seconds}", receiver="watchdog", name="RagMonitorWatchdog")
        inbox.hear(beat, float(seconds))
    (event,) = inbox.events()
    assert event.text == "watchdog RagMonitorWatchdog: beat 0"


def test_the_picture_shows_addresses_and_the_latest_of_each_group() -> None:
    """What fired and is resolved is one line that says so."""
    inbox = Inbox()
    inbox.hear(notification("it rose"), 30.0)
    links = {"prometheus": "http://127.0.0.1:1", "alertmanager": "http://127.0.0.1:2"}
    view = View(
        Schedule(int(START), 24, 10), TrafficPace(40.0, None), ("15s",),
        Chronicle(START), ["faithfulness"],
        url="http://127.0.0.1:3", judge="offline", links=links, inbox=inbox,
    )  # fmt: skip
    view.look(ScrapedPage({}, {}, 0, 0, 0), START + 31)
    assert "30 s ✉ page FIRING RagQualityDrift it rose" in _shown(view)
    inbox.hear(notification("it rose", status="resolved"), 40.0)
    text = _shown(view)
    assert "FIRING" not in text
    assert "40 s ✉ page RESOLVED RagQualityDrift it rose" in text
    for name, url in links.items():
        assert f"{name} {url}" in text
        assert f"{name}: {url}" in view.intro()


def _shown(view: View) -> str:
    file = io.StringIO()
    Console(file=file, width=120, height=60, color_system=None).print(view)
    return file.getvalue()


def test_what_is_shipped_is_yaml_that_prometheus_reads_as_it_is() -> None:
    """A derived configuration keeps every section of the shipped one."""
    shipped = read_shipped(DEPLOY).prometheus
    found = prometheus_config(shipped, "t.json", "127.0.0.1:1", [])
    assert set(found) == set(shipped)
    assert yaml.safe_load(yaml.safe_dump(found)) == found
