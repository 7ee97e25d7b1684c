"""The alarms of a span: each opening by itself, by its last record."""

from __future__ import annotations

from datetime import timedelta

from monitor.records.alarm import AlarmRecord
from monitor.report.openings import AlarmOpenings
from tests.stages.alarm_records import alarm
from tests.stages.records import NOON

HOUR = timedelta(hours=1)


def opened(hour: int, closed: int | None = None, application: str = "bot") -> AlarmRecord:
    """So many hours after noon, and closed after so many."""
    if closed is None:
        return alarm(application=application, opened_at=NOON + hour * HOUR)
    ended = {"state": "closed", "closed_at": NOON + closed * HOUR, "closed_because": "recovered"}
    return alarm(application=application, opened_at=NOON + hour * HOUR, **ended)


def of_span(since: int, until: int, *records: AlarmRecord) -> list[tuple[int, str | None]]:
    """Hours after noon at which alarms opened that were open in a span, and why each ended."""
    openings = AlarmOpenings(NOON + since * HOUR, NOON + until * HOUR)
    for one in records:
        assert openings.apply(one.key.encode(), one.to_json()) is None
    assert openings.records == len(records)
    return [(round((one.opened_at - NOON) / HOUR), one.closed_because) for one in openings.alarms()]


def test_each_opening_of_a_key_is_of_its_own_span() -> None:
    """The first is not forgotten when it opens again."""
    records = opened(0), opened(0, 2), opened(5), opened(5, 7)
    assert of_span(-1, 3, *records) == [(0, "recovered")]
    assert of_span(3, 5, *records) == []
    assert of_span(-1, 9, *records) == [(0, "recovered"), (5, "recovered")]
    assert of_span(6, 9, *records[:3]) == [(5, None)]


def test_one_that_nobody_closed_is_over_when_its_key_opens_again() -> None:
    """By the order of the records: two exporters may have opened it at two times."""
    assert of_span(-1, 9, opened(0), opened(5)) == [(0, "opened_again"), (5, None)]
    assert of_span(6, 9, opened(0), opened(5)) == [(5, None)]
    assert of_span(6, 9, opened(0), opened(3, 4)) == []
    assert of_span(-1, 9, opened(5), opened(0)) == [(0, None), (5, "opened_again")]
    assert of_span(-1, 9, opened(0), opened(5), opened(0, 6)) == [
        (0, "recovered"),
        (5, "opened_again"),
    ]


def test_a_record_without_a_value_takes_its_key_away() -> None:
    """Nothing is known under it any more; other keys stay."""
    openings = AlarmOpenings(NOON, NOON + 9 * HOUR)
    for one in (opened(0, 1), opened(2), opened(3, application="other")):
        assert openings.apply(one.key.encode(), one.to_json()) is None
    assert openings.apply(opened(0).key.encode(), None) is None
    assert [one.opened_at for one in openings.alarms()] == [NOON + 3 * HOUR]


def test_no_more_are_held_than_are_allowed() -> None:
    """Those beyond are left out and said; what is held may still be written anew."""
    openings = AlarmOpenings(NOON, NOON + 9 * HOUR, most=2)
    for one in (opened(0, 1), opened(2), opened(2, 3)):
        assert openings.apply(one.key.encode(), one.to_json()) is None
    more, others = opened(4), opened(-5, -4)
    refused = openings.apply(more.key.encode(), more.to_json())
    assert refused is not None
    assert refused.cause == "too_many"
    assert openings.apply(others.key.encode(), others.to_json()) is None, "it is of another span"
    assert openings.apply(b"a", b"{") is not None
    assert [one.closed_because for one in openings.alarms()] == ["recovered", "recovered"]
    assert openings.apply(more.key.encode(), None) is None
    assert openings.apply(more.key.encode(), more.to_json()) is None, "there is room again"
    assert len(openings.alarms()) == 1
