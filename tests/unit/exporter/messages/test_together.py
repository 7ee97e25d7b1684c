"""One cause for many applications is one incident."""

from __future__ import annotations

from datetime import timedelta

from monitor.exporter.messages.together import together
from monitor.records.alarm import AlarmRecord
from tests.stages.alarm_records import alarm


def opened(application: str, minute: float, **fields: object) -> AlarmRecord:
    """An alarm of an application that opened so many minutes after the first one."""
    first = alarm()
    return first.model_copy(
        update={
            "application": application,
            "opened_at": first.opened_at + timedelta(minutes=minute),
            **fields,
        }
    )


def test_openings_close_to_the_first_are_one_incident() -> None:
    """Within a quarter of an hour of it; several metrics of an application are one of it.

    What opens later has another cause, and calls for itself.
    """
    records = [
        *(opened("a", 0), opened("a", 1, metric="faithfulness"), opened("b", 14)),
        *(opened("c", 15), opened("late", 15.1), opened("over", 3, state="closed")),
    ]
    found = together(records)
    assert {key.split("/")[1]: number for key, number in found.items()} == {
        "a": 4,
        "b": 4,
        "c": 4,
        "late": 1,
    }
    assert found == together(reversed(records))
