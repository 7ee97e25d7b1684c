"""``dead-letters list | show | redrive`` on a real broker."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.records import read_score_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.broken import produce_strange_header
from tests.stages.command import environ_of, rag_monitor, running
from tests.stages.dead_letters import Record as Consumed
from tests.stages.dead_letters import dead_letter
from tests.stages.otlp_spans import as_json, made, rag_trace
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, until
from tests.stages.topics import MakeTopics, Topics

SECRET = "the moon landing was sponsored by Acme"


async def ended(
    broker: str, topics: Topics, *arguments: str, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """``rag-monitor dead-letters …`` with these topics, ended with ``code``."""
    command, environ = ("dead-letters", *arguments), environ_of(broker, topics)
    found = await asyncio.to_thread(rag_monitor, *command, environ=environ)
    assert found.returncode == code, found.stderr
    return found


async def said(broker: str, topics: Topics, *arguments: str, code: int = 0) -> str:
    """What the command prints, ended with ``code``."""
    return (await ended(broker, topics, *arguments, code=code)).stdout


async def told(broker: str, topics: Topics, *arguments: str, code: int = 0) -> Any:
    """What the command says as JSON."""
    return json.loads(await said(broker, topics, *arguments, "--json", code=code))


def letter_of(topics: Topics, value: bytes, offset: int, **fields: Any) -> Record:
    """A dead letter of a record that was at an offset of partition 0 of the input topic."""
    inputs = topics["kafka__topics__interactions"]
    source = Consumed(inputs, 0, offset, 1_795_176_000_000, b"k", value, (("tenant", b"acme"),))
    made = dead_letter(record=source, **fields)
    headers = tuple((key, value or b"") for key, value in made.headers)
    return Record(made.value, made.key, None, made.timestamp, headers)


async def ids(broker: str, topics: Topics) -> list[str]:
    """The ids of all score records."""
    read = await read_all(broker, topics["kafka__topics__scores"])
    return sorted(read_score_record(record.value or b"").interaction_id for record in read)


async def test_a_bad_record_comes_back_twice_and_is_refused_then(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Attempts 1, 2, 3: letters keep the first place and time; the third redrive sends none."""
    topics, broker = await make_topics(partitions=2), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    bad = Record(b'{"response": 5}', b"k", 1, 1_700_000_000_123, (("tenant", b"acme"),))
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        await produce(broker, inputs, [bad])
        for attempts in (1, 2):
            await counted(broker, dead, attempts)
            answer = await told(broker, topics, "redrive")
            assert answer["answers"] == {"redriven": 1}
        await counted(broker, dead, 3)
        refused = await told(broker, topics, "redrive", code=1)
        assert refused["answers"] == {"refused": 1}
        assert refused["letters"][0]["original"] == f"{inputs}/1/0"
        assert await said(broker, topics, "redrive") == ""
    finally:
        await scorer.end()
    sent = await read_all(broker, inputs)
    assert [(r.value, r.key, r.partition, r.timestamp_ms) for r in sent] == [
        (bad.value, bad.key, bad.partition, bad.timestamp_ms)
    ] * 3
    found = [dict(letter.headers) for letter in await read_all(broker, dead)]
    assert sorted(one.pop("x-error.attempts") for one in found) == [b"1", b"2", b"3"]
    assert found[0] == found[1] == found[2]
    assert found[0]["tenant"] == b"acme"
    assert not any(key.startswith("x-redrive.") for key in found[0])
    shown = await told(broker, topics, "show", f"{inputs}/1/0")
    assert shown["attempts"] == 3


async def counted(broker: str, topic: str, count: int) -> None:
    """Wait until a topic has so many records."""

    async def has_them() -> bool:
        return len(await read_all(broker, topic)) == count

    await until(has_them, f"{count} records on {topic}")


async def test_list_and_show_tell_what_is_wrong_and_nothing_that_users_wrote(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Newest first, since a time, grouped; the value only with ``--value``; else exit 1."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    dead = topics["kafka__topics__dead_letters"]
    text = encoded(interaction("secret", response=SECRET))
    days = [datetime(2026, 11, day, tzinfo=UTC) for day in (3, 1, 2)]
    letters = [letter_of(topics, text, i, at=day, cause=f"c{i % 2}") for i, day in enumerate(days)]
    await produce(broker, dead, [*letters, Record(b"no letter")])
    rows = await told(broker, topics, "list")
    assert [row["offset"] for row in rows] == [0, 2, 1]
    assert [row["original"]["offset"] for row in rows] == [0, 2, 1]
    since = await told(broker, topics, "list", "--since", "2026-11-02T00:00:00Z", "--max", "1")
    assert [row["offset"] for row in since] == [0]
    groups = await told(broker, topics, "list", "--grouped")
    assert [(group["class"], group["count"]) for group in groups] == [("c0", 2), ("c1", 1)]
    plain = await said(broker, topics, "list")
    assert plain.splitlines()[0].startswith("2026-11-03T00:00:00+00:00  0/0  validate/c0")
    shown = await said(broker, topics, "show", "0/0") + await said(broker, topics, "list", "--json")
    assert SECRET not in plain + shown
    assert "tenant: acme" in shown
    full = await told(broker, topics, "show", "0/0", "--value")
    assert json.loads(full["value"])["response"] == SECRET
    for absent in ("0/3", "0/99", "7/0", f"{dead}/0/0"):
        assert await said(broker, topics, "show", absent, code=1) == ""


async def test_a_terminal_does_not_obey_what_was_logged(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Keys and headers are anybody's: one line each, control characters are written out."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    made = letter_of(topics, b"a\nb", 0)
    odd = replace(made, key=b"k\x1b[2J\nkey: x", headers=(("h", b"\x07"), *made.headers))
    await produce(broker, topics["kafka__topics__dead_letters"], [odd])
    lines = (await said(broker, topics, "show", "0/0", "--value")).splitlines()
    assert r"key: k\x1b[2J\nkey: x" in lines
    assert r"  h: \x07" in lines
    assert r"value: a\nb" in lines
    assert (await told(broker, topics, "show", "0/0"))["key"] == "k\x1b[2J\nkey: x"


ESCAPE = "\x1b]0;mine\x07\x1b[2J\nkey: x"


def saying(made: Record, **said: bytes) -> Record:
    """The letter with other ``x-error`` headers: whoever may write to the topic writes any."""
    found = {f"x-error.{key}": value for key, value in said.items()}
    return replace(made, headers=tuple((key, found.get(key, v)) for key, v in made.headers))


def hostile_letters(topics: Topics) -> dict[str, Record]:
    """What is on the topic beside a good one, at offset 0."""
    good, large = letter_of(topics, b"good", 0), b"9" * 18
    escape = ESCAPE.encode()
    odd = saying(good, message=escape, stage=escape, group=b"\xff\xfe", **{"class": escape})
    return {
        "good": good,
        "odd": replace(odd, key=b"\xff", headers=(*odd.headers, (ESCAPE, escape))),
        "topic": saying(good, topic=escape),
        "year": saying(good, first_failed_at=b"0001-01-01T00:00:00+14:00"),
        "tried": saying(good, attempts=large),
        "later": saying(good, timestamp=large),
        "long": saying(good, message=b"m" * 900_000),
        "many": replace(good, headers=(*good.headers, *[("h", b"v")] * 9_000)),
        "too_many": replace(good, headers=(*good.headers, *[("h", b"v")] * 100_000)),
        "foreign": Record(b"no letter"),
    }


async def test_hostile_letters_neither_end_a_command_nor_fill_the_screen(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Names of headers that are no UTF-8, 100,000 of them, escapes, megabytes, years, numbers."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    dead, letters = topics["kafka__topics__dead_letters"], hostile_letters(topics)
    at = {name: f"0/{offset}" for offset, name in enumerate(letters)}
    await produce(broker, dead, letters.values())
    at["strange"] = f"0/{await produce_strange_header(broker, dead, b'strange')}"

    plain = await said(broker, topics, "list")
    assert len(plain) < 10_000
    assert len(plain.splitlines()) == 6
    rows = await told(broker, topics, "list")
    assert rows == await told(broker, topics, "list", "--since", "9999d")
    read = ["good", "odd", "tried", "later", "long", "many"]
    assert sorted(f"0/{row['offset']}" for row in rows) == sorted(at[name] for name in read)
    groups = await told(broker, topics, "list", "--grouped")
    assert [group["count"] for group in groups] == [5, 1]
    for name in read:
        shown = await said(broker, topics, "show", at[name])
        assert len(shown) < 100_000
        assert shown.splitlines()[0] == "partition: 0"
    assert "(900000 characters, --json shows them)" in await said(
        broker, topics, "show", at["long"]
    )
    for name, why in (
        ("topic", "the record there has no headers of a dead letter"),
        ("year", "the record there has no headers of a dead letter"),
        ("foreign", "the record there has no headers of a dead letter"),
        ("too_many", "no client can unpack the record there (TooManyHeaders)"),
        ("strange", "no client can unpack the record there (UnicodeDecodeError)"),
    ):
        absent = await ended(broker, topics, "show", at[name], code=1)
        assert absent.stdout == ""
        assert absent.stderr == f"no dead letter {at[name]} on {dead}: {why}\n"
    dry = await told(broker, topics, "redrive", "--dry-run", code=1)
    assert dry["answers"] == {"no_dead_letter": 5, "redriven": 5, "refused": 1}
    sent = await told(broker, topics, "redrive", code=1)
    # A broker takes no time that far away.
    assert sent["answers"] == {"no_dead_letter": 5, "redriven": 4, "refused": 1, "too_large": 1}
    assert await said(broker, topics, "redrive") == ""


async def test_a_letter_of_a_good_record_is_scored_once_however_often_it_is_sent(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Dry run: nothing. Max: the rest next time. An id-less record keeps its first place as id."""
    topics, broker = await make_topics(partitions=2), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    nameless = interaction("x")
    del nameless["interaction_id"]
    values = [encoded(interaction("a")), encoded(nameless), encoded(interaction("c"))]
    written = [letter_of(topics, value, i, cause="stuck") for i, value in enumerate(values)]
    await produce(broker, dead, written)
    dry = await told(broker, topics, "redrive", "--dry-run")
    assert (dry["answers"], dry["dry_run"]) == ({"redriven": 3}, True)
    assert await read_all(broker, inputs) == []
    one = await told(broker, topics, "redrive", "--max", "1")
    assert one["answers"] == {"redriven": 1}
    rest = await told(broker, topics, "redrive", "--dry-run")
    assert rest["answers"] == {"redriven": 2}
    assert (await told(broker, topics, "redrive"))["answers"] == {"redriven": 2}
    # As after a kill between sending and committing: all of them once more.
    again = {**topics, "kafka__group_id": f"{topics['kafka__group_id']}-again"}
    assert (await told(broker, again, "redrive"))["answers"] == {"redriven": 3}
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()

        async def all_scored() -> bool:
            return outcomes(await scorer.metrics()) == {"scored": 6}

        await until(all_scored, "6 scored")
    finally:
        await scorer.end()
    assert set(await ids(broker, topics)) == {"a", f"{inputs}/0/1", "c"}


async def test_an_omitted_value_comes_from_the_source_while_that_has_it(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Where it is gone, the letter is named and stays; the exit code asks for a person."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    value = encoded(interaction("large", response="x" * 5_000))
    await produce(broker, inputs, [Record(b"another"), Record(value, b"k")])
    there = letter_of(topics, value, 1, omitted=len(value))
    gone = letter_of(topics, value, 700, omitted=len(value))
    await produce(broker, dead, [there, gone])
    answer = await told(broker, topics, "redrive", code=1)
    assert answer["answers"] == {"redriven": 1, "value_omitted": 1}
    assert answer["letters"][1]["original"] == f"{inputs}/0/700"
    back = (await read_all(broker, inputs))[-1]
    assert (back.value, back.key) == (value, b"k")
    assert dict(back.headers)["x-redrive.attempts"] == b"1"


async def test_a_trace_without_a_value_is_told_how_to_be_judged(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Its spans are still on its topic, which no redrive puts together."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    spans = rag_trace(1, 1, 10**18)
    await produce(broker, inputs, [Record(as_json(made(*part))) for part in (spans[:2], spans[2:])])
    whole = as_json(made(*spans))
    await produce(broker, dead, [letter_of(topics, whole, 1, omitted=len(whole))])
    of_spans = {**topics, "ingest__format": "otlp_json"}
    answer = await told(broker, of_spans, "redrive", code=1)
    assert answer["answers"] == {"value_omitted": 1}
    (letter,) = answer["letters"]
    assert letter["why"].startswith("and it is of a trace, whose spans may stand in several")
    assert "docs/dead-letters.md" in letter["why"]


async def test_two_redrives_side_by_side_send_everything_once(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Partitions change hands between chunks only: of 20,000 letters none is lost or doubled."""
    topics, broker = await make_topics(partitions=6), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    letters = [letter_of(topics, b"%d" % i, i) for i in range(20_000)]
    await produce(broker, dead, [replace(one, partition=i % 6) for i, one in enumerate(letters)])
    both = await asyncio.gather(*(told(broker, topics, "redrive") for _ in range(2)))
    sent = [int(record.value or b"") for record in await read_all(broker, inputs)]
    assert sorted(sent) == list(range(20_000))
    assert sum(one["answers"].get("redriven", 0) for one in both) == 20_000


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_redrive_that_is_ended_anywhere_loses_nothing(
    kafka_broker: RunningBroker, make_topics: MakeTopics, number: signal.Signals
) -> None:
    """The next one sends the rest; after a kill at most one chunk twice, after SIGTERM nothing."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    await produce(broker, dead, [letter_of(topics, b"%d" % i, i) for i in range(2_000)])
    with running("dead-letters", "redrive", environ=environ_of(broker, topics)) as process:
        await until(lambda: _some(broker, inputs), "the first ones", every_s=0.01)
        process.signal(number)
        await process.ended()
    done = len(await read_all(broker, inputs))
    await said(broker, topics, "redrive")
    sent = [int(record.value or b"") for record in await read_all(broker, inputs)]
    assert set(sent) == set(range(2_000))
    if number == signal.SIGTERM:
        assert len(sent) == 2_000
    assert len(sent) <= 2_000 + min(done, 100)


async def _some(broker: str, inputs: str) -> bool:
    return len(await read_all(broker, inputs)) > 0


async def test_what_cannot_be_read_is_said_in_one_line(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """A missing topic is a refusal (3), a wrong time or place is usage (2)."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    gone = {**topics, "kafka__topics__dead_letters": "nowhere"}
    for command in (["list"], ["show", "0/0/0"], ["redrive"], ["redrive", "--dry-run"]):
        (line,) = (await ended(broker, gone, *command, code=3)).stderr.splitlines()
        assert "there is no topic nowhere" in line
    for command in (["list", "--since", "noon"], ["show", "here"], ["show", "a/b/c"]):
        await ended(broker, topics, *command, code=2)
