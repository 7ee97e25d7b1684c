"""What the start of a scorer says of its judges."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judges import build_judges
from monitor.app.score_role import ScoreRole, scorer_telemetry, tell_judge
from monitor.app.shared import Shared
from monitor.config import load
from monitor.telemetry import ScorerTelemetry
from tests.stages.captured_log import captured_log

LLM = {"judge.kind": "llm", "judge.model": "openai/gpt-4o-mini"}


def told(flags: dict[str, Any]) -> dict[str, Any]:
    """The line of the log."""
    (configured,) = build_judges(load({}, flags=flags), ScorerTelemetry(CollectorRegistry()))
    with captured_log("info", "json") as logged:
        tell_judge(configured)
        found: dict[str, Any] = json.loads(logged())
    return found


def test_as_many_applications_have_a_label_as_the_exporter_names() -> None:
    """And those that the settings name have one, however late they come."""
    named = '[{"application": "late", "sampling": {"rate": 0.5}}]'
    shared = Shared(load({}, flags={"export.top_k": 30, "applications": named}), time.time)
    telemetry = scorer_telemetry(shared)
    for name in [*(f"app-{number}" for number in range(32)), "late"]:
        telemetry.count_pick(name, "scored", "")
    samples = (one for family in shared.registry.collect() for one in family.samples)
    shown = {one.labels["application"] for one in samples if one.name == "rag_monitor_picks_total"}
    assert shown == {*(f"app-{number}" for number in range(30)), "late", "other"}


def test_a_version_that_no_series_may_have_is_not_told() -> None:
    """A model's id is part of it, and is known after the first reply."""
    found = told(LLM)
    assert found["judge"] == "llm"
    assert "known after the first reply" in found["what"]


@pytest.mark.parametrize("flags", [{}, {**LLM, "judge.version_from": "configured"}])
def test_a_version_that_holds_is_told(flags: dict[str, Any]) -> None:
    """As the series will have it."""
    found = told(flags)
    assert found["judge"].startswith(("offline@", "llm@"))
    assert "what" not in found


async def test_told_to_stop_while_it_waits_for_pauses_it_stops_at_once() -> None:
    """No broker answers, so nobody knows what was paused; nothing is under way."""
    stop = asyncio.Event()
    settings = load({}, flags={"kafka.bootstrap_servers": "127.0.0.1:9"})
    role = ScoreRole(Shared(settings, time.time), follows_control=True)
    running = asyncio.create_task(role.run(stop))
    await asyncio.sleep(0.3)
    assert not running.done()
    stop.set()
    began = time.monotonic()
    await running
    assert time.monotonic() - began < 3
