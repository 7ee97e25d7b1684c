"""One cause for many applications is one incident, and another cause another one."""

from __future__ import annotations

import functools
from datetime import timedelta

from monitor.exporter.messages.together import incident_since, together
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


def applications(records: list[AlarmRecord]) -> dict[str, int]:
    """How many each application belongs to."""
    found = together(records)
    assert found == together(reversed(records))
    return {key.split("/")[1]: one.applications for key, one in found.items()}


def joined(latest: list[AlarmRecord], record: AlarmRecord) -> list[AlarmRecord]:
    """The latest records once one more has opened, as an exporter writes it."""
    by_key = {one.key: one for one in latest}
    since = incident_since(record, by_key)
    by_key[record.key] = record.model_copy(update={"incident_since": since})
    return [*by_key.values()]


def written(*records: AlarmRecord) -> list[AlarmRecord]:
    """All of them, as they open one after the other."""
    return functools.reduce(joined, records, [])


def over(record: AlarmRecord, minute: float) -> AlarmRecord:
    """The same, which has closed so many minutes after the first one opened."""
    at = alarm().opened_at + timedelta(minutes=minute)
    update = {"state": "closed", "closed_at": at, "closed_because": "recovered"}
    return record.model_copy(update=update)


def test_each_opens_soon_after_the_one_before() -> None:
    """Within a quarter of an hour; several metrics of an application are one of it.

    A model's change is seen last where little is judged, which is one incident still. What opens
    later has another cause, and calls for itself.
    """
    records = [
        *(opened("a", 0), opened("a", 1, metric="faithfulness"), opened("b", 14)),
        *(opened("c", 29), opened("late", 44.1), opened("over", 3, state="closed")),
    ]
    expected = {"a": 4, "over": 4, "b": 4, "c": 4, "late": 1}
    assert applications(records) == expected
    assert applications(written(*records)) == expected
    assert {one.since for one in together(records).values()} == {
        records[0].opened_at,
        records[4].opened_at,
    }


def test_one_that_opens_again_stays_in_its_incident() -> None:
    """Its evidence had a dip while the others went on: they are as many as before.

    Nor does it make the incident longer: what opens near to it is another one.
    """
    a, b, c = written(opened("a", 0), opened("b", 2), opened("c", 4))
    again = joined([over(a, 20), b, c], opened("a", 40))
    assert applications(again) == {"a": 3, "b": 3, "c": 3}
    assert len({one.since for one in together(again).values()}) == 1
    assert applications(joined(again, opened("other", 41))) == {"a": 3, "b": 3, "c": 3, "other": 1}


def test_one_that_opens_again_later_is_news() -> None:
    """More than an hour after its end, or where nothing of its incident goes on.

    Who was first may be gone: what the others say of the incident stays.
    """
    a, b, c = written(opened("a", 0), opened("b", 2), opened("c", 4))
    first = a.opened_at
    later = together(joined([over(a, 20), b, c], opened("a", 81)))
    assert {key.split("/")[1]: one.since == first for key, one in later.items()} == {
        "a": False,
        "b": True,
        "c": True,
    }
    ended = [over(a, 20), over(b, 21), over(c, 22)]
    assert applications(joined(ended, opened("a", 40))) == {"a": 1, "b": 2, "c": 2}


def test_who_did_not_know_of_the_first_belongs_to_it() -> None:
    """Two that open within some seconds know nothing of each other."""
    a, b = opened("a", 0), opened("b", 0.1)
    alone = [one.model_copy(update={"incident_since": one.opened_at}) for one in (a, b)]
    assert applications(alone) == {"a": 2, "b": 2}
