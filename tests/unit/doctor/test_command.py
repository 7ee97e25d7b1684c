"""The command itself: exit codes, the table, and what a wrong setting looks like."""

from __future__ import annotations

import json

from tests.servers.ports import free_ports
from tests.stages.command import one_line, rag_monitor


def test_a_wrong_setting_is_the_first_line() -> None:
    """FAIL with the path of the key in table and JSON; nothing else is looked at; exit 1."""
    table = rag_monitor("doctor", "--set", "sampling.rate=2")
    assert table.returncode == 1
    assert table.stdout.startswith("FAIL  settings   sampling.rate: found")
    assert "→ " in table.stdout.splitlines()[1]
    assert table.stderr == ""
    found = rag_monitor("doctor", "--json", "--set", "sampling.rat=2")
    assert found.returncode == 1
    (line,) = json.loads(found.stdout)
    assert (line["check"], line["target"], line["status"]) == ("settings", "sampling.rat", "FAIL")
    assert "sampling.rate" in line["found"]


def test_a_wrong_command_line_is_a_usage_error() -> None:
    """``--set`` without a value is not a setting: exit 2, one line."""
    result = rag_monitor("doctor", "--set", "sampling.rate")
    assert result.returncode == 2
    assert one_line(result).startswith("--set: ")


def test_a_dead_broker_is_told_in_a_table() -> None:
    """Rows of status, check and text, a count at the end, nothing on stderr, exit 1."""
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    result = rag_monitor(
        "doctor", "--set", f"kafka.bootstrap_servers={address}", "--set", "http.port=0"
    )
    assert result.returncode == 1
    assert result.stderr == ""
    rows = result.stdout.splitlines()
    assert rows[0] == "OK    settings   environment and defaults: valid"
    assert any(row.startswith(f"FAIL  tcp        {address}: ") for row in rows)
    assert all(len(row) <= 100 for row in rows)
    assert rows[-1].startswith("1 FAIL, 1 WARN")


def test_limits_that_no_scorer_starts_with_are_lines() -> None:
    """An address that is none, before anything is looked at; a budget without a price, among all.

    Both say FAIL and end with 1, not with 2 in the middle of the table.
    """
    (port,) = free_ports(1)
    given = {
        "kafka.bootstrap_servers": f"127.0.0.1:{port}",
        "http.port": "0",
        "judge.kind": "llm",
        "judge.model": "openai/judge",
        "judge.api_base": f"http://127.0.0.1:{port}",
        "judge.api_key": "none",
    }
    flags = [part for key, value in given.items() for part in ("--set", f"{key}={value}")]
    address = ("--set", "limits.tokens_per_minute=9", "--set", "limits.redis.url=http://h")
    refused = rag_monitor("doctor", "--json", *flags, *address)
    assert (refused.returncode, refused.stderr) == (1, "")
    assert [line["target"] for line in json.loads(refused.stdout)][1:] == ["limits.redis.url"]
    unpriced = rag_monitor("doctor", "--json", *flags, "--set", "limits.usd_per_day=5")
    assert (unpriced.returncode, unpriced.stderr) == (1, "")
    lines = {line["target"]: line for line in json.loads(unpriced.stdout)}
    assert lines["limits.usd_per_day"]["status"] == "FAIL"
    assert "the price of openai/judge" in lines["limits.usd_per_day"]["found"]
