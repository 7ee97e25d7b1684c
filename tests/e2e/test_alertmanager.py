"""What a real Alertmanager sends to Slack, PagerDuty and webhooks on the shipped configuration."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from monitor.demo.stack.notification import read_notification
from monitor.demo.stack.servers import missing_programs
from tests.servers.alert_stack import HOW_TO_GET_PROMETHEUS
from tests.servers.told_alertmanager import ROUTING_KEY, ToldAlertmanager
from tests.servers.webhook import Post
from tests.stages.process import until
from tests.tools import requires_tool

RUNBOOK = "https://runbooks.example.com/rag-monitor"
DASHBOARD = "https://grafana.example.com/d/rag-drift?var-application=bot&var-judge=a%40b"
QUERY = "http://prometheus/graph?g0.expr=rag"
SENTENCE = "faithfulness of bot fell 0.93 → 0.71 (0.66–0.76, n = 80) since 12:00"


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[ToldAlertmanager]:
    """One that has heard of nothing."""
    requires_tool("prometheus", missing_programs(), HOW_TO_GET_PROMETHEUS)
    with ToldAlertmanager(tmp_path) as started:
        yield started


def alert(name: str, severity: str, sentence: str = SENTENCE, **labels: str) -> dict[str, Any]:
    """An alert as Prometheus posts it; it fires until it is told that it does not."""
    return {
        "labels": {"alertname": name, "severity": severity, **labels},
        "annotations": {
            "summary": f"{name} in one line",
            "description": sentence,
            "runbook_url": f"{RUNBOOK}/{name}.md",
            "dashboard_url": DASHBOARD,
        },
        "generatorURL": QUERY,
    }


def over(fired: dict[str, Any]) -> dict[str, Any]:
    """The same, which has ended."""
    ended = datetime.now(UTC) - timedelta(seconds=1)
    begun = ended - timedelta(seconds=60)
    return {**fired, "startsAt": begun.isoformat(), "endsAt": ended.isoformat()}


def drift(metric: str = "faithfulness", **labels: str) -> dict[str, Any]:
    """A drift alarm of an application."""
    known = {"metric": metric, "application": "bot", "judge": "a@b", "direction": "worse"}
    return alert("RagQualityDrift", "page", **{**known, **labels})


def silence(alertmanager: ToldAlertmanager, name: str, application: str) -> str:
    """The form of a silence, filled in: of a page, so that one of a ticket ends no page."""
    matchers = f'{{alertname="{name}",severity="page",application="{application}"}}'
    return f"{alertmanager.url}/#/silences/new?filter={quote(matchers, safe='')}"


async def posts(alertmanager: ToldAlertmanager, path: str, count: int = 1) -> list[Post]:
    """The requests to a path, once there are as many."""
    webhook = alertmanager.webhook
    await until(lambda: len(webhook.at(path)) >= count, f"{count} POST to {path}")
    return webhook.at(path)


async def test_pagerduty_is_triggered_and_resolved_under_one_key(
    alertmanager: ToldAlertmanager,
) -> None:
    """Title, sentence, links, the key from its file; the end goes to the same incident."""
    alertmanager.tell(drift())
    (post,) = await posts(alertmanager, "/pagerduty")
    event = post.json
    assert (event["routing_key"], event["event_action"]) == (ROUTING_KEY, "trigger")
    payload = event["payload"]
    assert payload["summary"] == "[rag-monitor] RagQualityDrift in one line"
    assert (payload["severity"], payload["class"]) == ("critical", "RagQualityDrift")
    assert (payload["component"], payload["group"]) == ("bot", "faithfulness")
    assert SENTENCE in payload["custom_details"]["firing"]
    assert event["links"] == [
        {"href": DASHBOARD, "text": "Dashboard"},
        {"href": f"{RUNBOOK}/RagQualityDrift.md", "text": "Runbook"},
        {"href": silence(alertmanager, "RagQualityDrift", application="bot"), "text": "Silence"},
    ]
    assert event["client_url"] == DASHBOARD
    assert event["dedup_key"]

    alertmanager.tell(over(drift()))
    _, end = [each.json for each in await posts(alertmanager, "/pagerduty", 2)]
    assert (end["event_action"], end["dedup_key"]) == ("resolve", event["dedup_key"])


async def test_slack_shows_what_changed_and_calls_nobody(alertmanager: ToldAlertmanager) -> None:
    """Title, sentence and links; a segment that is named like a mention is only text."""
    sentence = f"{SENTENCE}; tenant=<!channel> & co 0.10 → 0.30, the others 0.08 → 0.09"
    fired = {**drift(), "annotations": {**drift()["annotations"], "description": sentence}}
    alertmanager.tell(fired)
    (post,) = await posts(alertmanager, "/slack")
    (shown,) = post.json["attachments"]
    assert shown["title"] == "[rag-monitor] RagQualityDrift in one line"
    assert (shown["title_link"], shown["color"]) == (DASHBOARD, "danger")
    assert f"{SENTENCE}; tenant=&lt;!channel&gt; &amp; co 0.10" in shown["text"]
    links = {"Runbook": f"{RUNBOOK}/RagQualityDrift.md", "Dashboard": DASHBOARD, "Query": QUERY}
    for name, url in links.items():
        assert f"<{url}|{name}>" in shown["text"]

    alertmanager.tell(over(fired))
    _, end = await posts(alertmanager, "/slack", 2)
    (shown,) = end.json["attachments"]
    assert (shown["title"], shown["color"]) == (
        "[rag-monitor] resolved: RagQualityDrift in one line",
        "good",
    )


async def test_one_incident_is_one_page(alertmanager: ToldAlertmanager) -> None:
    """Whatever metrics and judges it moves; another deployment or application calls for itself."""
    moved = [
        drift(metric, judge=judge, namespace="one", cluster="eu")
        for metric in ("faithfulness", "hallucination", "answered")
        for judge in ("a@b", "c@d")
    ]
    about = {"metric": "claim_f1", "namespace": "one", "cluster": "eu", "application": "bot"}
    below = alert("RagQualityBelowObjective", "page", **about)
    alertmanager.tell(*moved, below, drift(namespace="two"))
    first = [each.json for each in await posts(alertmanager, "/pagerduty", 2)]
    alertmanager.tell(drift(namespace="one", cluster="eu", application="shop"))
    found = [each.json for each in await posts(alertmanager, "/pagerduty", 3)]
    assert len({each["dedup_key"] for each in found}) == 3
    whole = next(each["payload"] for each in first if each["client"] == "eu/one")
    assert whole["custom_details"]["num_firing"] == "7"
    assert whole["summary"].startswith("[eu/one] RagQuality")
    assert whole["summary"].endswith(" in one line (+ 6 more)")
    told = whole["custom_details"]["firing"].splitlines()
    assert (len(told), told[-1]) == (11, "+ 2 more")


async def test_a_storm_is_one_page(alertmanager: ToldAlertmanager) -> None:
    """A model changes under twenty applications: sixty alerts, and one short message."""
    names = [f"app-{number}" for number in range(20)]
    singles = [drift(metric, application=n) for n in names for metric in ("faithfulness", "a", "b")]
    many = [of_storm(name, "T12:00:00Z") for name in names]
    alertmanager.tell(*singles, *many, drift(application="another"))
    found = [each.json["payload"] for each in await posts(alertmanager, "/pagerduty", 2)]
    storm, other = sorted(found, key=lambda payload: payload["class"], reverse=True)
    assert (storm["class"], other["component"]) == ("RagQualityDriftMany", "another")
    assert storm["summary"] == "[rag-monitor] RagQualityDriftMany in one line (+ 19 more)"
    assert len(storm["custom_details"]["firing"]) < 1_000
    shown = [each.json["attachments"][0] for each in await posts(alertmanager, "/slack", 2)]
    assert max(len(each["text"]) for each in shown) < 4_000
    assert any(each["text"].endswith("+ 15 more") for each in shown)
    assert alertmanager.inhibited() == {"RagQualityDrift"}

    second = [of_storm(name, "T14:00:00Z") for name in ("x", "y", "z")]
    alertmanager.tell(*many, *second)
    events = [each.json for each in await posts(alertmanager, "/pagerduty", 3)]
    assert len({each["dedup_key"] for each in events}) == 3
    assert events[-1]["payload"]["summary"].endswith("(+ 2 more)")
    assert any('incident="T14:00:00Z"' in unquote(one["href"]) for one in events[-1]["links"])


def of_storm(application: str, incident: str) -> dict[str, Any]:
    """One of many applications that became worse together."""
    return alert("RagQualityDriftMany", "page", application=application, incident=incident)


async def test_consequences_are_silent_while_their_cause_is_told(
    alertmanager: ToldAlertmanager,
) -> None:
    """Nothing answers: that is the page; the alerts about what does not answer stay silent."""
    consequences = {"RagMonitorBlind", "RagMonitorNoTraffic"}
    alertmanager.tell(
        alert("RagMonitorDown", "page", cause="unreachable", job="rag-monitor", namespace="one"),
        *(alert(name, "page", namespace="one") for name in sorted(consequences)),
        alert("RagQualityBelowObjective", "page", metric="faithfulness", application="bot"),
        drift(),
    )
    found = [each.json for each in await posts(alertmanager, "/pagerduty", 2)]
    titles = {each["payload"]["summary"] for each in found}
    assert titles == {
        "[one] RagMonitorDown in one line",
        "[rag-monitor] RagQualityDrift in one line",
    }
    assert alertmanager.inhibited() == {*consequences, "RagQualityBelowObjective"}


async def test_scorers_that_are_gone_are_one_page_with_their_backlog(
    alertmanager: ToldAlertmanager,
) -> None:
    """A job of their own is down, and what waits for them is told in the same incident."""
    alertmanager.tell(
        alert("RagMonitorDown", "page", cause="unreachable", job="rag-monitor-score"),
        alert("RagMonitorLagging", "page", seen_by="exporter", topic="t"),
        alert("RagMonitorBlind", "page"),
    )
    (page,) = [each.json for each in await posts(alertmanager, "/pagerduty", 1)]
    assert page["payload"]["custom_details"]["num_firing"] == "2"
    assert "RagMonitorLagging in one line" in page["payload"]["custom_details"]["firing"]
    assert alertmanager.inhibited() == {"RagMonitorBlind"}


@pytest.mark.parametrize(
    "cause", ["RagMonitorJudgeStopped", "RagMonitorJudgeDoubtful", "RagMonitorDeadLetters"]
)
async def test_why_nothing_is_ready_is_told(alertmanager: ToldAlertmanager, cause: str) -> None:
    """The judge is away, so after a while no process is ready: the page stays the first one."""
    alertmanager.tell(
        alert(cause, "page"),
        alert("RagMonitorDown", "page", cause="not_ready", job="rag-monitor"),
    )
    (page,) = [each.json for each in await posts(alertmanager, "/pagerduty", 1)]
    assert page["payload"]["summary"] == f"[rag-monitor] {cause} in one line"
    assert alertmanager.inhibited() == {"RagMonitorDown"}


async def test_a_page_is_not_silenced_from_another_deployment(
    alertmanager: ToldAlertmanager,
) -> None:
    """What is down in one namespace says nothing of the lag in another."""
    alertmanager.tell(
        alert("RagMonitorDown", "page", cause="unreachable", namespace="one"),
        alert("RagMonitorLagging", "page", namespace="two"),
    )
    await posts(alertmanager, "/pagerduty", 2)
    assert alertmanager.inhibited() == set()


async def test_the_pages_of_audits_hide_nothing(alertmanager: ToldAlertmanager) -> None:
    """They are down, and nothing is scored: the one has nothing to do with the other."""
    down = {"cause": "unreachable", "namespace": "one"}
    alertmanager.tell(
        alert("RagMonitorDown", "page", job="monitoring/rag-monitor-audit", **down),
        alert("RagMonitorBlind", "page", namespace="one"),
    )
    (page,) = [each.json for each in await posts(alertmanager, "/pagerduty", 1)]
    assert page["payload"]["custom_details"]["num_firing"] == "2"
    assert alertmanager.inhibited() == set()


async def test_tickets_and_the_watchdog_go_their_own_ways(alertmanager: ToldAlertmanager) -> None:
    """A ticket opens with its token and wakes nobody; the watchdog is heard again and again."""
    alertmanager.tell(
        alert("RagMonitorJudgeFailing", "ticket"),
        alert("RagMonitorNoTraffic", "info", topic="t"),
        alert("RagMonitorWatchdog", "none"),
    )
    (ticket,) = await posts(alertmanager, "/ticket")
    assert ticket.headers["authorization"] == "Bearer ticket-secret"
    assert read_notification("ticket", ticket.body).names() == ["RagMonitorJudgeFailing"]
    beats = await posts(alertmanager, "/watchdog", 3)
    assert beats[0].headers["authorization"] == "Bearer watchdog-secret"
    shown = [each.json["attachments"][0] for each in await posts(alertmanager, "/slack", 2)]
    colours = {each["title"].removeprefix("[rag-monitor] "): each["color"] for each in shown}
    assert colours == {
        "RagMonitorJudgeFailing in one line": "warning",
        "RagMonitorNoTraffic in one line": "#439fe0",
    }
    assert alertmanager.webhook.at("/pagerduty") == []
