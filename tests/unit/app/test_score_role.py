"""What the start of a scorer says of its judges."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judges import build_judges
from monitor.app.score_role import tell_judge
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
