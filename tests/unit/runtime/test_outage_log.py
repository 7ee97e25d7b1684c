"""Clients of a broker that is away have a small budget in the log, all together."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from monitor.runtime import logs
from monitor.runtime.logs import OUTAGE_PER_MINUTE, LogBudget, RateLimit
from tests.stages.captured_log import captured_log


def test_no_60_seconds_have_more_than_the_budget() -> None:
    """Wherever the minute begins; the next one says how many were left out."""
    now = [0.0]
    budget = LogBudget(3, lambda: now[0])
    passed, told = [], 0
    for i in range(600):
        now[0] = i / 2
        if (left_out := budget.spend()) is not None:
            passed.append(now[0])
            told += left_out
    for start in passed:
        assert sum(start <= at < start + 60 for at in passed) <= 3
    assert len(passed) == 15
    assert told + len(passed) == 600 - 120 + 3


def test_all_that_clients_say_shares_the_budget() -> None:
    """Whatever the loggers, templates and events; the problem itself is no part of it."""
    with captured_log("info", "json") as read:
        for i in range(20):
            logging.getLogger("aiokafka.conn").error("template %s" + " " * i, i)
            logging.getLogger("aiokafka.consumer.fetcher").warning("another" + " " * i)
            logging.getLogger("asyncio").error("Task exception was never retrieved" + " " * i)
            logs.logger().warning("kafka_commit_failed", reason=str(i))
            logs.logger().warning("kafka_problem", what=str(i))
        events = [json.loads(line)["event"] for line in read().splitlines()]
    assert events.count("kafka_problem") == 20
    assert len(events) - 20 == OUTAGE_PER_MINUTE


def test_a_broken_connection_is_a_line_and_not_a_trace() -> None:
    """The type of the error is kept; with debugging on, the trace is, too."""
    said = {}
    for level in ("info", "debug"):
        with captured_log(level, "json") as read:
            try:
                raise ConnectionResetError("by peer")
            except ConnectionResetError:
                logging.getLogger("aiokafka.conn").exception("Unexpected %s", "exception")
            (said[level],) = [json.loads(line) for line in read().splitlines()]
    assert said["info"]["event"] == "Unexpected exception: ConnectionResetError"
    assert "exception" not in said["info"]
    assert said["debug"]["exception"].startswith("ConnectionResetError")


def test_the_next_event_says_how_many_were_left_out() -> None:
    """As with every other limit."""
    now = [0.0]
    limit = RateLimit(clock=lambda: now[0])
    event = {"event": "kafka_commit_failed"}
    for _ in range(OUTAGE_PER_MINUTE):
        assert limit(None, "warning", dict(event)) == event
    with pytest.raises(structlog.DropEvent):
        limit(None, "warning", dict(event))
    now[0] = 60.0
    assert limit(None, "warning", dict(event)) == {**event, "left_out": 1}
