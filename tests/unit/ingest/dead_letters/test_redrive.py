"""What a redrive sends back, and what it leaves where it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.ingest.dead_letter_headers import FailureOrigin, read_dead_letter
from monitor.ingest.dead_letters.listing import (
    MOST_GROUPS,
    DeadLetterGroups,
    DeadLetterList,
    in_full,
)
from monitor.ingest.dead_letters.redrive import Redriven, Redriver, RedriveResult, RedriveSelection
from monitor.kafka.producer import Producer
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.records import Reason
from tests.stages.dead_letters import ORIGINAL, Record, dead_letter
from tests.stages.producers import Memory, at_most

INPUTS = {"rag.interactions.v1": [0, 1, 2, 3]}
OLD, NEW = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)


async def redriven(
    letters: Sequence[KafkaRecord],
    producer: Producer | None,
    source: dict[FailureOrigin, KafkaRecord] | None = None,
    **chosen: Any,
) -> tuple[int, list[Redriven]]:
    """How many were taken, and what was said of each."""
    told: list[Redriven] = []

    async def fetch(origin: FailureOrigin) -> KafkaRecord | None:
        return (source or {}).get(origin)

    selection = RedriveSelection(chosen.pop("topics", INPUTS), **chosen)
    redriver = Redriver(selection, fetch, producer, told.append)
    taken = await redriver.take(letters)
    assert sum(redriver.counts.values()) == len(told) == taken
    return taken, told


async def test_a_letter_goes_back_as_the_record_that_it_was() -> None:
    """Topic, partition, key, value, time and headers; only the history is added."""
    producer = Memory()
    _, told = await redriven([dead_letter()], producer)
    assert [one.answer for one in told] == [RedriveResult.REDRIVEN]
    (sent,) = producer.sent
    assert sent[:-1] == ("rag.interactions.v1", b"{", b"key", 3, 1_795_176_000_000)
    assert list(sent.headers[: len(ORIGINAL)]) == ORIGINAL
    assert dict(sent.headers[len(ORIGINAL) :]) == {
        "x-redrive.topic": b"rag.interactions.v1",
        "x-redrive.partition": b"3",
        "x-redrive.offset": b"42",
        "x-redrive.timestamp": b"1795176000000",
        "x-redrive.attempts": b"1",
        "x-redrive.first_failed_at": b"2026-11-20T12:00:00+00:00",
    }


async def test_a_partition_that_is_no_more_is_left_to_the_key() -> None:
    """A topic that was made anew with fewer partitions still takes its records."""
    producer = Memory()
    await redriven([dead_letter()], producer, topics={"rag.interactions.v1": [0]})
    assert producer.sent[0].partition is None


async def test_the_third_attempt_was_the_last() -> None:
    """One and two go back, three and more are refused by name, and count as answered."""
    producer = Memory()
    letters = [dead_letter(n, place=(0, n)) for n in (1, 2, 3, 4)]
    taken, told = await redriven(letters, producer)
    assert taken == 4
    assert [one.answer for one in told] == [RedriveResult.REDRIVEN] * 2 + [
        RedriveResult.REFUSED
    ] * 2
    assert told[2].why == "3 attempts, last missing_field"
    assert len(producer.sent) == 2


async def test_a_dry_run_gives_the_same_answers_and_sends_nothing() -> None:
    """The producer is not even there."""
    letters = [dead_letter(), dead_letter(3), Record(), dead_letter(omitted=9)]
    _, dry = await redriven(letters, None)
    _, wet = await redriven(letters, Memory())
    assert dry == wet
    assert {one.answer for one in dry} == {
        RedriveResult.REDRIVEN,
        RedriveResult.REFUSED,
        RedriveResult.NO_DEAD_LETTER,
        RedriveResult.VALUE_OMITTED,
    }


async def test_an_omitted_value_is_fetched_from_its_source() -> None:
    """Key, value and headers then are the source's; the history is the letter's."""
    value = b"x" * 5_000
    letter = dead_letter(2, omitted=len(value))._replace(key=None)
    source = Record(value=value)
    origin = FailureOrigin("rag.interactions.v1", 3, 42, 1_795_176_000_000)
    producer = Memory()
    await redriven([letter], producer, {origin: source})
    (sent,) = producer.sent
    assert (sent.value, sent.key) == (value, b"key")
    assert list(sent.headers[: len(ORIGINAL)]) == ORIGINAL
    assert dict(sent.headers)["x-redrive.attempts"] == b"2"


async def test_a_stranger_at_the_source_offset_is_not_sent() -> None:
    """A topic made anew has other records at the same offsets; another size tells."""
    origin = FailureOrigin("rag.interactions.v1", 3, 42, 1_795_176_000_000)
    producer = Memory()
    _, told = await redriven([dead_letter(omitted=5_000)], producer, {origin: Record()})
    assert [one.answer for one in told] == [RedriveResult.VALUE_OMITTED]
    assert producer.sent == []
    assert told[0].why == "and its source topic has another record in its place"


async def test_a_record_that_could_not_be_unpacked_is_not_sent_empty() -> None:
    """Its letter has no value to send; the record itself is still on its topic."""
    producer = Memory()
    letter = dead_letter(cause=Reason.UNREADABLE, record=Record(value=b"", key=None))
    _, told = await redriven([letter], producer)
    assert [one.answer for one in told] == [RedriveResult.VALUE_OMITTED]
    assert producer.sent == []


async def test_letters_of_foreign_topics_stay() -> None:
    """A header says where a record goes: only to the topics that the settings read from."""
    producer = Memory()
    letter = dead_letter(record=Record(topic="payments"))
    _, told = await redriven([letter], producer)
    assert [one.answer for one in told] == [RedriveResult.OTHER_TOPIC]
    assert producer.sent == []


async def test_a_record_that_its_topic_does_not_take_is_named_and_the_next_goes_on() -> None:
    """Its limit may have been lowered meanwhile."""
    producer = Memory(at_most(10))
    large = dead_letter(record=Record(value=b"x" * 11))
    _, told = await redriven([large, dead_letter(place=(0, 8))], producer)
    assert [one.answer for one in told] == [RedriveResult.TOO_LARGE, RedriveResult.REDRIVEN]
    assert "raise max.message.bytes of rag.interactions.v1" in told[0].why


async def test_max_ends_before_the_next_one_that_would_be_sent() -> None:
    """Those that are not sent do not count; what is not taken is there for the next redrive."""
    letters = [dead_letter(3), dead_letter(), dead_letter(), dead_letter()]
    taken, told = await redriven(letters, Memory(), most=2)
    assert taken == 3
    assert [one.answer for one in told] == [
        RedriveResult.REFUSED,
        RedriveResult.REDRIVEN,
        RedriveResult.REDRIVEN,
    ]


async def test_since_passes_over_older_ones() -> None:
    """By the time of the first failure."""
    letters = [dead_letter(at=OLD), dead_letter(at=NEW)]
    _, told = await redriven(letters, Memory(), since=NEW)
    assert [one.answer for one in told] == [RedriveResult.OLDER, RedriveResult.REDRIVEN]


def test_the_list_is_newest_first_and_bounded() -> None:
    """Total counts all; nothing that a user wrote, and no key, is in it."""
    letters = DeadLetterList(most=3)
    for day in range(1, 11):
        at = datetime(2026, 11, day, tzinfo=UTC)
        letters.add(dead_letter(at=at, record=Record(value=b"SECRET", key=b"SECRET")))
    letters.add(Record())
    rows = letters.rows()
    assert [row["first_failed_at"][:10] for row in rows] == [
        "2026-11-10",
        "2026-11-09",
        "2026-11-08",
    ]
    assert (letters.total, letters.foreign) == (10, 1)
    assert "SECRET" not in str(rows)
    assert rows[0]["original"]["offset"] == 42
    assert rows[0]["value_bytes"] == 6


def test_the_list_stays_small_whatever_is_read() -> None:
    """10,000 letters leave the newest five, in any order of reading."""
    letters = DeadLetterList(most=5)
    for i in range(10_000):
        letters.add(dead_letter(place=(0, (i * 7_919) % 10_000)))
    assert [row["offset"] for row in letters.rows()] == [9_999, 9_998, 9_997, 9_996, 9_995]
    assert letters.total == 10_000


def test_groups_count_by_stage_class_and_topic() -> None:
    """The largest first, with the first and the last time."""
    groups = DeadLetterGroups(most=10, since=OLD)
    for at, cause in ((OLD, "a"), (NEW, "a"), (NEW, "b"), (datetime(2020, 1, 1, tzinfo=UTC), "b")):
        groups.add(dead_letter(at=at, cause=cause))
    assert [(row["class"], row["count"]) for row in groups.rows()] == [("a", 2), ("b", 1)]
    first = groups.rows()[0]
    assert (first["first"], first["last"]) == (OLD.isoformat(), NEW.isoformat())
    assert (first["stage"], first["topic"]) == ("validate", "rag.interactions.v1")


def test_groups_stay_few_whatever_is_read() -> None:
    """Whose headers are never the same: beyond ten thousand groups the rest is one."""
    groups = DeadLetterGroups(most=1)
    for number in range(MOST_GROUPS + 7):
        groups.add(dead_letter(cause=f"c{number}"))
    groups.add(dead_letter(cause="c5"))
    (largest,) = groups.rows()
    assert (largest["class"], largest["count"]) == ("other", 7)
    assert groups.total == MOST_GROUPS + 1


@pytest.mark.parametrize("topic", [b"", b"a b", b"a/b", b"\x1b[2J", b"a" * 250, b"\xff"])
def test_what_names_no_topic_is_no_letter(topic: bytes) -> None:
    """Whoever may write to the topic may write any headers."""
    made = dead_letter()
    headers = [(key, topic if key == "x-error.topic" else value) for key, value in made.headers]
    assert read_dead_letter(made._replace(headers=headers)) is None


@pytest.mark.parametrize("name", ["stage", "class", "message", "group", "version"])
def test_texts_of_a_letter_have_an_end(name: str) -> None:
    """A list keeps a thousand of them."""
    headers = [*dead_letter().headers, (f"x-error.{name}", b"m" * 900_000)]
    (row,) = _rows(dead_letter()._replace(headers=headers))
    assert len(row[name]) == 500


def test_the_value_is_shown_only_on_request() -> None:
    """Key and headers are; bytes that are no text come as base64."""
    record = dead_letter(record=Record(value=b"\xffSECRET"))
    (row,) = _rows(record)
    assert "value" not in row
    assert row["key"] == "key"
    assert ["binary", {"base64": "/wA="}] in row["headers"]
    (row,) = _rows(record, with_value=True)
    assert row["value"] == {"base64": "/1NFQ1JFVA=="}
    (row,) = _rows(dead_letter(omitted=9), with_value=True)
    assert row["value"] is None


def _rows(record: Record, *, with_value: bool = False) -> list[dict[str, Any]]:
    letter = read_dead_letter(record)
    return [in_full(record, letter, with_value=with_value)] if letter else []


def redacted_letter(value: bytes = b"<EMAIL:3f2a91>", size: int = 15) -> Record:
    """The letter of a record of ``size`` bytes in which something was redacted."""
    letter = dead_letter(record=Record(value=value))
    return letter._replace(headers=(*letter.headers, ("x-error.redacted", str(size).encode())))


async def test_a_redacted_letter_goes_back_as_its_record_was() -> None:
    """The source topic still has it: value and key are the original ones."""
    original = Record(value=b"bob@example.com", key=b"bob")
    producer = Memory()
    source: dict[FailureOrigin, KafkaRecord] = {
        FailureOrigin("rag.interactions.v1", 3, 42, 1_795_176_000_000): original
    }
    _, told = await redriven([redacted_letter()], producer, source)
    assert [one.answer for one in told] == [RedriveResult.REDRIVEN]
    assert (producer.sent[0].value, producer.sent[0].key) == (b"bob@example.com", b"bob")


async def test_a_redacted_letter_is_not_lost_with_its_record() -> None:
    """The source topic has it no more, or a stranger in its place: it goes back redacted."""
    stranger = Record(value=b"somebody else's record")
    origin = FailureOrigin("rag.interactions.v1", 3, 42, 1_795_176_000_000)
    for source in ({}, {origin: stranger}):
        producer = Memory()
        _, told = await redriven(
            [redacted_letter()], producer, dict[FailureOrigin, KafkaRecord](source)
        )
        assert [one.answer for one in told] == [RedriveResult.REDRIVEN]
        assert producer.sent[0].value == b"<EMAIL:3f2a91>"
        assert not any(name.startswith("x-error.") for name, _ in producer.sent[0].headers)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (None, "its source topic has the record no more"),
        (Record(value=b"another"), "its source topic has another record in its place"),
        (
            Unreadable("rag.interactions.v1", 3, 42, 0, "TooLarge"),
            "no client can unpack the record on its source topic",
        ),
    ],
)
async def test_a_record_that_its_source_does_not_give_is_told_with_why(
    there: KafkaRecord | None, why: str
) -> None:
    """Of what goes out redacted, and of what cannot go out."""
    origin = FailureOrigin("rag.interactions.v1", 3, 42, 1_795_176_000_000)
    source = {} if there is None else {origin: there}
    letters = [redacted_letter(), dead_letter(omitted=5_000)]
    _, told = await redriven(letters, Memory(), source)
    assert [one.answer for one in told] == [RedriveResult.REDRIVEN, RedriveResult.VALUE_OMITTED]
    assert [one.why for one in told] == [
        f"attempt 2, after missing_field; redacted, since {why}",
        f"and {why}",
    ]
