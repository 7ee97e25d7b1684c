"""Alarm records: the sentence, reading back, and what goes to the log."""

from __future__ import annotations

import json
import math
from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import RecordSkipped
from monitor.records.alarm import (
    JudgeFailures,
    SettledMean,
    log_fields,
    read_alarm_record,
    sentence,
)
from tests.stages.alarm_records import ACME, SENTENCE, SINCE, alarm, change, segment
from tests.stages.records import NOON, TEXTS, TIMES


def test_the_sentence_of_the_specification() -> None:
    """The very words."""
    assert sentence(alarm()) == SENTENCE
    assert alarm().answer == SENTENCE


def test_a_metric_where_high_is_good_falls() -> None:
    """Worse is less there."""
    fallen = change(before=0.92, value=0.83, lower=0.77, upper=0.88, mix=0.0, within=-0.09)
    found = sentence(alarm(metric="faithfulness", higher_is_better=True, change=fallen))
    assert found.startswith(
        "faithfulness of support-bot fell 0.92 → about 0.83 (0.77–0.88, n = 96)"
    )


def test_the_date_stands_where_it_is_not_today() -> None:
    """In UTC, whatever zone the times came in; and how long before the alarm that was."""
    yesterday = SINCE - timedelta(days=1)
    said = sentence(alarm(since=yesterday))
    assert " since 2026-11-19 02:10 UTC, 33.8 h before the alarm;" in said
    berlin = SINCE.astimezone(timezone(timedelta(hours=1)))
    assert sentence(alarm(since=berlin)) == SENTENCE
    assert "since 12:00 UTC; judge" in sentence(alarm(since=NOON, opened_at=NOON))


def test_without_segments_the_last_part_is_left_out() -> None:
    """No attribute to tell them by, none that has a value, or only one: there are no others."""
    short = SENTENCE.rpartition("; ")[0]
    assert sentence(alarm(segment_by=None, segments=())) == short
    assert sentence(alarm(segments=(segment(""),))) == short
    assert sentence(alarm(segments=(segment("acme"),), stands_out=None)) == short


def test_nobody_is_blamed_where_all_are_alike() -> None:
    """The first one contributes most since it is the largest."""
    found = sentence(alarm(stands_out=None))
    assert found.endswith("; all segments of tenant alike")


def test_a_segment_without_a_value_is_said_to_be_absent() -> None:
    """Those without the attribute stand out."""
    nameless = ACME.model_copy(update={"segment": ""})
    found = sentence(alarm(segments=(segment(""), segment("acme")), stands_out=nameless))
    assert found.endswith("; tenant=(absent) 0.10 → 0.30, the others 0.08 → 0.09")


def test_a_judge_that_fails_more_is_named() -> None:
    """With the rate before, so that one sees how much."""
    more = JudgeFailures(before=0.004, rate=0.062, picks=96, verdict="more")
    assert "; judge failures 6.2 % (more, 0.4 % before);" in sentence(alarm(judge_failures=more))
    unknown = JudgeFailures(before=None, rate=0.062, picks=96, verdict="unknown")
    assert "; judge failures 6.2 % (nothing before);" in sentence(alarm(judge_failures=unknown))


def test_a_mix_that_hides_the_change() -> None:
    """The mean did not rise; the sentence says why there is an alarm all the same."""
    hidden = change(value=0.07, lower=0.05, upper=0.1, explained_by_mix=-1.2)
    found = sentence(alarm(change=hidden))
    assert "support-bot worsened within segments, 0.08 → about 0.07 (0.05–0.10" in found
    assert "; traffic mix hides 120 %;" in found


def test_a_mix_that_hides_next_to_nothing_has_no_size() -> None:
    """A share of almost no change says nothing by its digits, however many there are."""
    hidden = change(value=0.07, lower=0.05, upper=0.1, explained_by_mix=-1e308)
    assert "; traffic mix hides 999 %;" in sentence(alarm(change=hidden))


def test_an_unknown_mix_is_not_spoken_of() -> None:
    """No traffic before to compare with."""
    found = sentence(alarm(change=change(mix=None, explained_by_mix=None)))
    assert "mix" not in found


def test_small_numbers_get_another_digit() -> None:
    """Two decimals would say 0.00 → 0.00, or 0.00 → 0.03: two digits of each mean tell."""
    small = change(before=0.001, value=0.004, lower=0.002, upper=0.009)
    assert " rose 0.0010 → about 0.0040 (0.0020–0.0090, n = 96)" in sentence(alarm(change=small))
    rarely = change(before=0.0043, value=0.03, lower=0.02, upper=0.04)
    assert " rose 0.0043 → about 0.0300 (0.0200–0.0400, n = 96)" in sentence(alarm(change=rarely))
    back = alarm(
        state="closed",
        closed_at=NOON,
        closed_because="recovered",
        recovered=SettledMean(value=0.004, lower=0.001, upper=0.01, n=80.0),
    )
    assert "back at 0.0040 (0.0010–0.0100, n = 80)" in sentence(back)


def test_numbers_near_one_are_not_one() -> None:
    """Of a metric that is nearly always 1, what is missing tells."""
    near = change(before=0.9982, value=0.97, lower=0.95, upper=0.98)
    found = sentence(alarm(change=near, metric="faithfulness", higher_is_better=True))
    assert " fell 0.9982 → about 0.9700 (0.9500–0.9800, n = 96)" in found


def test_a_closed_alarm_says_that_it_is_over() -> None:
    """And what it was."""
    closed = alarm(state="closed", closed_at=NOON, closed_because="recovered")
    assert closed.answer == f"recovered at 12:00 UTC: {SENTENCE}"
    gone = alarm(state="closed", closed_at=NOON, closed_because="not_watched")
    assert gone.answer == f"no longer watched at 12:00 UTC: {SENTENCE}"


def test_the_record_begins_with_its_answer() -> None:
    """After the schema, in the order in which the fields are written."""
    assert list(json.loads(alarm().to_json()))[:2] == ["schema", "answer"]


@given(TEXTS, TEXTS, TIMES, st.floats(0, 1), st.floats(-1, 1))
def test_what_is_written_is_read_back(
    application: str, name: str, when: Any, value: float, share: float
) -> None:
    """Bit for bit, for any names and numbers."""
    written = alarm(
        application=application,
        since=when,
        change=change(value=value, explained_by_mix=share),
        segments=(segment(name),),
    )
    assert read_alarm_record(written.key.encode(), written.to_json()) == written


def test_a_tombstone_leaves_nothing_known() -> None:
    """Whatever its key."""
    assert read_alarm_record(b"faithfulness/bot/offline@1", None) is None


@pytest.mark.parametrize(
    ("key", "change_of_line", "message"),
    [
        (b"other", {}, "it speaks of 'noise_sensitivity_irrelevant/support-bot/offline@3f2a91'"),
        (None, {"schema": "rag.score/1"}, "schema: Input should be 'rag.alarm/1'"),
        (None, {"change": {"before": 2}}, "change.before: Input should be less than or equal to 1"),
        (
            None,
            {"since": "0001-01-01T00:00:00+14:00"},
            "since: Value error, lies outside the years",
        ),
        (None, {"opened_at": "9999-12-31T23:00:00-10:00"}, "opened_at: Value error, lies outside"),
        (None, {"threshold": math.nan}, "threshold: Input should be a finite number"),
        (
            None,
            {"change": {**json.loads(change().model_dump_json()), "explained_by_mix": math.inf}},
            "change.explained_by_mix: Input should be a finite number",
        ),
    ],
)
def test_what_cannot_be_read_is_said(
    key: bytes | None, change_of_line: dict[str, Any], message: str
) -> None:
    """The error names the key and the path."""
    good = alarm()
    line = json.dumps({**json.loads(good.to_json()), **change_of_line}).encode()
    with pytest.raises(RecordSkipped) as caught:
        read_alarm_record(key or good.key.encode(), line)
    assert message in str(caught.value)
    assert str(caught.value).startswith("alarm record '")
    assert caught.value.cause == "malformed"


def test_a_newer_schema_is_left_out_and_a_newer_minor_one_is_read() -> None:
    """As score records: one record of a newer version ends nobody, and unknown fields are none."""
    good = alarm()
    key, fields = good.key.encode(), json.loads(good.to_json())
    newer = json.dumps({**fields, "schema": "rag.alarm/2"}).encode()
    with pytest.raises(RecordSkipped, match="upgrade rag-monitor") as caught:
        read_alarm_record(key, newer)
    assert caught.value.cause == "newer_schema"
    minor = json.dumps({**fields, "schema": "rag.alarm/1.4", "surprise": 1}).encode()
    assert read_alarm_record(key, minor) == good


def test_no_text_goes_to_the_log() -> None:
    """Ids, numbers and names do; claims do not. It can be written as JSON."""
    shown = json.dumps(log_fields(alarm()), ensure_ascii=False)
    assert "secret" not in shown
    assert all(part in shown for part in (SENTENCE, "i-1", "doc-7", "acme: 0.10 → 0.30"))


def test_a_settled_alarm_says_what_the_mean_is_since() -> None:
    """From slots after the alarm only, and without «about»."""
    found = sentence(alarm(settled=SettledMean(value=0.15, lower=0.11, upper=0.2, n=120.0)))
    assert " rose 0.08 → 0.15 (0.11–0.20, n = 120 since the alarm) since 02:10 UTC" in found
