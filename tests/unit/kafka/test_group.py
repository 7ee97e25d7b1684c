"""The options of a group's member: its time limits fit each other."""

from __future__ import annotations

import pytest

from monitor.kafka.group import member_options


@pytest.mark.parametrize("session_timeout_s", [6.0, 10.0, 300.0])
@pytest.mark.parametrize("drain_s", [20.0, 600.0])
def test_its_limits_fit_each_other(drain_s: float, session_timeout_s: float) -> None:
    """Two heartbeats may be lost; who drains, or stands still for a session, is no idle member."""
    options = member_options("g", drain_s, session_timeout_s)
    assert options["session_timeout_ms"] == session_timeout_s * 1000
    assert 3 * options["heartbeat_interval_ms"] <= options["session_timeout_ms"]
    assert options["rebalance_timeout_ms"] > drain_s * 1000
    longest_ms = max(options["rebalance_timeout_ms"], options["session_timeout_ms"])
    assert options["max_poll_interval_ms"] >= longest_ms
