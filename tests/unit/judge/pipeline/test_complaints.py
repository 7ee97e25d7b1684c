"""What is wrong with a model's replies: counted by a few kinds, and said in the log."""

from __future__ import annotations

import json

from prometheus_client import CollectorRegistry

from monitor.judge.observers import SAY_EVERY_S, CountedCalls
from monitor.judge.pipeline.complaints import Complaint, commonest, in_words
from monitor.records import Usage
from monitor.telemetry import ScorerTelemetry
from tests.stages.captured_log import captured_log


def test_every_kind_has_words() -> None:
    """What the reply does or holds, with the label's value beside it."""
    for kind in Complaint:
        assert (in_words({kind: 1}, 1) or "").endswith(f"({kind})")


def test_of_two_as_frequent_the_first_in_order_is_the_commonest() -> None:
    """Whatever was refused first: two processes say the same."""
    assert commonest({"pairs": 2, "keys": 2}) == commonest({"keys": 2, "pairs": 2}) == "keys"


def test_refused_replies_are_said_at_once_and_then_a_minute_s_together() -> None:
    """A model that never keeps to the format fills no log; what most replies lack stands there."""
    registry, now = CollectorRegistry(), [0.0]
    calls = CountedCalls(ScorerTelemetry(registry), lambda: now[0])

    def refuse(kind: str, complaint: str = "unknown keys: r1") -> None:
        calls.call_finished("verify_claims", 0.1, Usage(calls=1), None)
        calls.refused("verify_claims", kind, complaint)

    with captured_log("warning", "json") as log:
        refuse("keys")
        for kind in ("cut", "keys", "keys"):
            now[0] += 1.0
            refuse(kind)
        now[0] = SAY_EVERY_S
        refuse("cut", "x" * 1000)
        said = [json.loads(line) for line in log().splitlines()]
    assert {one["event"] for one in said} == {"judge_replies_refused"}
    assert [one["commonest"] for one in said] == ["keys", "cut"]
    assert said[0]["latest"] == "verify_claims: unknown keys: r1"
    assert said[1]["what"].startswith("4 of 4 replies were refused; most often the reply")
    assert len(said[1]["latest"]) < 250
    labels = {"task": "verify_claims", "complaint": "keys"}
    assert registry.get_sample_value("rag_monitor_judge_complaints_total", labels) == 3.0
