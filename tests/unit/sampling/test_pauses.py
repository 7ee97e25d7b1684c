"""Pauses: what a control record says of them, and the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import generate_latest

from monitor.control import BaselineRecord, PauseRecord
from monitor.pausing import Pauses
from monitor.telemetry import PausedTelemetry, new_registry

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = NOON.timestamp()


def said(pauses: Pauses, record: PauseRecord) -> None:
    """Take the record in as it stands on the topic."""
    assert pauses.take_in(record.key.encode(), record.to_json()) is None


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


def test_one_of_all_holds_beside_that_of_one() -> None:
    """A tombstone ends only what stands under its key."""
    pauses = Pauses()
    said(pauses, PauseRecord())
    said(pauses, PauseRecord(application="bot"))
    assert pauses.shown(NOW) == ["*", "bot"]
    assert pauses.take_in(b"pause/bot", None) is None
    assert pauses.is_paused("bot", NOW)
    assert pauses.take_in(b"pause/", None) is None
    assert not pauses.is_paused("bot", NOW)


@pytest.mark.parametrize("value", [b"{", b'{"schema": "rag.control/1", "kind": "pause"}'])
def test_what_cannot_be_read_is_named_and_pauses_nothing(value: bytes) -> None:
    """Neither half a record, nor one under the key of another."""
    pauses = Pauses()
    skipped = pauses.take_in(b"pause/bot", value)
    assert skipped is not None
    assert "pause/bot" in str(skipped)
    assert not pauses.is_paused("bot", NOW)


def test_other_kinds_are_left_to_others() -> None:
    """Nothing is said of a baseline, readable or not."""
    pauses = Pauses()
    baseline = BaselineRecord(
        application="bot", judge="llm@1", origin="set", effective_from=NOON
    ).to_json()
    assert pauses.take_in(b"baseline/bot/llm@1", baseline) is None
    assert pauses.take_in(b"baseline/bot/llm@1", b"{") is None
    assert pauses.take_in(None, b"{") is None


def test_the_gauge_follows_the_clock() -> None:
    """A family without samples when nothing is paused (any more)."""
    pauses, registry, clock = Pauses(), new_registry(), [NOW]
    PausedTelemetry(registry, lambda: pauses.shown(clock[0]))
    said(pauses, PauseRecord(application="bot", until=NOON + timedelta(hours=2)))
    assert b'\nrag_monitor_paused{application="bot"} 1.0\n' in generate_latest(registry)
    clock[0] += 7_200
    page = generate_latest(registry)
    assert b"# TYPE rag_monitor_paused gauge" in page
    assert b"rag_monitor_paused{" not in page
