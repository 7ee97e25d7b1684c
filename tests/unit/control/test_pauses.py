"""Pauses: what a control record says of them, and the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import generate_latest

from monitor.control.pauses import Pauses
from monitor.records.control import BaselineRecord, PauseRecord
from monitor.telemetry import MOST_PAUSED, PausedTelemetry, new_registry
from tests.stages.control import applied

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = NOON.timestamp()
SINCE = b"rag_monitor_paused_since_timestamp_seconds{"


def said(pauses: Pauses, record: PauseRecord) -> None:
    """Take the record in as it stands on the topic."""
    assert applied(pauses, record.key.encode(), record.to_json(), NOW) is None


def test_a_pause_ends_by_itself() -> None:
    """At its ``until`` it holds no longer."""
    pauses = Pauses()
    said(pauses, PauseRecord(application="bot", until=NOON + timedelta(hours=2)))
    assert pauses.is_paused("bot", NOW)
    assert pauses.is_paused("bot", NOW + 7_199)
    assert not pauses.is_paused("bot", NOW + 7_200)
    assert [one.application for one in pauses.records(NOW)] == ["bot"]
    assert pauses.records(NOW + 7_200) == []
    assert not pauses.is_paused("other", NOW)


def test_one_of_all_is_active_beside_that_of_one() -> None:
    """A tombstone ends only what stands under its key."""
    pauses = Pauses()
    said(pauses, PauseRecord())
    said(pauses, PauseRecord(application="bot"))
    assert pauses.since(NOW) == {"*": NOW, "bot": NOW}
    assert applied(pauses, b"pause/bot", None, NOW) is None
    assert pauses.is_paused("bot", NOW)
    assert applied(pauses, b"pause/", None, NOW) is None
    assert not pauses.is_paused("bot", NOW)


@pytest.mark.parametrize("value", [b"{", b'{"schema": "rag.control/1", "kind": "pause"}'])
def test_what_cannot_be_read_is_named_and_pauses_nothing(value: bytes) -> None:
    """Neither half a record, nor one under the key of another."""
    pauses = Pauses()
    skipped = applied(pauses, b"pause/bot", value, NOW)
    assert skipped is not None
    assert "pause/bot" in str(skipped)
    assert not pauses.is_paused("bot", NOW)


def test_a_pause_without_an_end_has_one() -> None:
    """Those that stand on the topic already, or that somebody forges: a day after their record."""
    pauses = Pauses()
    said(pauses, PauseRecord(application="bot"))
    assert pauses.is_paused("bot", NOW + 86_399)
    assert not pauses.is_paused("bot", NOW + 86_400)


def test_no_pause_is_longer_than_a_month() -> None:
    """Whatever its record says."""
    pauses = Pauses()
    said(pauses, PauseRecord(until=datetime(9999, 1, 1, tzinfo=UTC)))
    assert pauses.is_paused("bot", NOW + 30 * 86_400 - 1)
    assert not pauses.is_paused("bot", NOW + 30 * 86_400)


@pytest.mark.parametrize("at", [9.2e15, 3 * 86_400 + NOW, -0.001, float("-inf")])
def test_a_time_that_cannot_be_true_pauses_nothing(at: float) -> None:
    """Whoever writes a record may write its time: neither an error, nor a pause for years."""
    pauses = Pauses()
    assert applied(pauses, b"pause/", PauseRecord().to_json(), at) is None
    assert not pauses.is_paused("bot", NOW)
    assert pauses.since(NOW) == {}


def test_one_that_is_made_longer_again_and_again_has_lasted_since_the_first() -> None:
    """Else nobody would hear of it; one that begins after an end is another one."""
    pauses, day = Pauses(), 86_400
    for number in range(5):
        record = PauseRecord(application="bot")
        assert applied(pauses, record.key.encode(), record.to_json(), NOW + number * 80_000) is None
    assert pauses.since(NOW + 4 * 80_000) == {"bot": NOW}
    later = NOW + 4 * 80_000 + day
    assert pauses.since(later) == {}
    assert applied(pauses, b"pause/bot", record.to_json(), later) is None
    assert pauses.since(later + 1) == {"bot": later}


def test_who_and_when_is_said() -> None:
    """As the topic has it: whoever forges a pause is seen, though perhaps under another name."""
    pauses, record = Pauses(), PauseRecord(application="bot")
    headers = [("x", b"y"), ("by", b"ann\x1b[2J@ops" + 200 * b"x")]
    assert applied(pauses, record.key.encode(), record.to_json(), NOW, headers) is None
    (held,) = pauses.records(NOW)
    assert held.set_at == NOON
    assert held.set_by.startswith("ann\\x1b[2J@opsx")
    assert len(held.set_by) == 100
    assert ", until 2026-11-21T12:00:00+00:00, since 2026-11-20T12:00:00+00:00 by ann" in str(held)
    assert b"set_" not in record.as_set(NOW, "ann").to_json()


def test_other_kinds_are_left_to_others() -> None:
    """Nothing is said of a baseline, readable or not."""
    pauses = Pauses()
    baseline = BaselineRecord(
        application="bot", judge="llm@1", origin="set", effective_from=NOON
    ).to_json()
    assert applied(pauses, b"baseline/bot/llm@1", baseline, NOW) is None
    assert applied(pauses, b"baseline/bot/llm@1", b"{", NOW) is None
    assert applied(pauses, None, b"{", NOW) is None


def test_the_gauge_follows_the_clock() -> None:
    """A family without samples when nothing is paused (any more)."""
    pauses, registry, clock = Pauses(), new_registry(), [NOW]
    PausedTelemetry(registry, lambda: pauses.since(clock[0]))
    said(pauses, PauseRecord(application="bot", until=NOON + timedelta(hours=2)))
    page = generate_latest(registry)
    assert b'\nrag_monitor_paused{application="bot"} 1.0\n' in page
    (since,) = [line for line in page.splitlines() if line.startswith(SINCE)]
    assert float(since.split()[1]) == NOW
    clock[0] += 7_200
    page = generate_latest(registry)
    assert b"# TYPE rag_monitor_paused gauge" in page
    assert b"rag_monitor_paused{" not in page
    assert SINCE not in page


def test_many_pauses_have_few_series() -> None:
    """The first by name have their own; the others are one, since the first of them."""
    registry = new_registry()
    since = {f"bot{n:05}": 1_000.0 - n for n in range(MOST_PAUSED + 50)}
    PausedTelemetry(registry, lambda: since)
    page = generate_latest(registry).decode()
    assert page.count("rag_monitor_paused{") == MOST_PAUSED + 1
    assert 'rag_monitor_paused{application="other"} 1.0' in page
    assert f'{SINCE.decode()}application="other"}} {1_000.0 - MOST_PAUSED - 49}' in page
