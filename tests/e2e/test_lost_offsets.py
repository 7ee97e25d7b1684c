"""Records that are deleted before they are read, and logs that are not the ones they were."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.errors import TopicAlreadyExistsError

from monitor.kafka.bounded.consumer import LOOK_S
from monitor.records import read_score_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import (
    Record,
    admin_client,
    committed,
    create_topic,
    delete_topic,
    produce,
    read_all,
)
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics

LOST = "rag_monitor_offsets_lost_total"
WENT_BACK = "rag_monitor_offsets_went_back_total"


async def send(broker: str, topic: str, first: int, number: int) -> list[str]:
    """Write interactions; their ids."""
    names = [f"i{n}" for n in range(first, first + number)]
    await produce(broker, topic, [Record(encoded(interaction(name))) for name in names])
    return names


async def cut(broker: str, topic: str, before: int) -> None:
    """Delete the records before an offset, as retention does."""
    async with admin_client(broker) as admin:
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before)})


async def make_anew(broker: str, topic: str, partitions: int = 1) -> None:
    """Delete the topic, and create it under the same name."""
    await delete_topic(broker, topic)
    await create_again(broker, topic, partitions)


async def create_again(broker: str, topic: str, partitions: int = 1) -> None:
    """Create a topic that is being deleted."""
    await until(lambda: _created(broker, topic, partitions), "the new topic")


async def _created(broker: str, topic: str, partitions: int) -> bool:
    try:
        await create_topic(broker, topic, partitions)
    except TopicAlreadyExistsError:  # the old one is not gone yet
        return False
    return True


async def scored(scorer: MonitorProcess, number: int) -> None:
    """Wait until so many are."""

    async def are() -> bool:
        assert scorer.alive(), scorer.log.read_text("utf-8")[-3_000:]
        return outcomes(await scorer.metrics()).get("scored", 0) >= number

    await until(are, f"{number} scores")


async def mark_of(broker: str, group: str) -> str:
    """What stands beside the one offset that the group has committed: which log it is of."""
    async with admin_client(broker) as admin:
        (one,) = (await admin.list_consumer_group_offsets(group)).values()
    return str(one.metadata)


async def mark_of_ten_read(broker: str, topics: Topics, directory: Path) -> str:
    """What a scorer has committed beside the offset 10, when it has read ten and ended."""
    scorer = MonitorProcess("score", broker, directory, "scorer", **topics)
    try:
        await scorer.ready()
        await send(broker, topics["kafka__topics__interactions"], 0, 10)
        await scored(scorer, 10)
    finally:
        await scorer.end()
    assert await _has_committed(broker, topics, 10)
    return await mark_of(broker, topics["kafka__group_id"])


async def commit(broker: str, group: str, place: TopicPartition, offset: int, mark: str) -> None:
    """As a member of the group that no other member sees."""
    options = {"group_id": group, "enable_auto_commit": False}
    async with AIOKafkaConsumer(bootstrap_servers=broker, **options) as member:
        member.assign([place])
        await member.commit({place: (offset, mark)})


async def _has_committed(broker: str, topics: Topics, offset: int) -> bool:
    group, inputs = topics["kafka__group_id"], topics["kafka__topics__interactions"]
    return await committed(broker, group, inputs) == {0: offset}


async def _ended_or_lost(scorer: MonitorProcess, number: int) -> bool:
    samples = await scorer.metrics()
    return sum(outcomes(samples).values()) + total(samples, LOST) == number


def told(process: MonitorProcess, event: str) -> list[tuple[int, int]]:
    """From where to where, as the log has it."""
    return [(one["from"], one["to"]) for one in process.events() if one["event"] == event]


def _assigned(scorer: MonitorProcess) -> list[list[str]]:
    events = scorer.events()
    return [one["partitions"] for one in events if one["event"] == "partitions_assigned"]


async def judged(broker: str, topics: Topics) -> set[str]:
    """The ids on the topic of score records."""
    records = await read_all(broker, topics["kafka__topics__scores"])
    return {read_score_record(record.value or b"").interaction_id for record in records}


async def test_what_retention_takes_under_a_scorer_is_counted(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """It sleeps, 30 come and are deleted, 10 more come: 30 are counted as lost, and told; so they
    are when it was not running; and reading goes on."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        await send(broker, inputs, 0, 20)
        await scored(scorer, 20)
        assert (LOST, frozenset({("topic", inputs)})) in await scorer.metrics()
        os.kill(scorer.pid, signal.SIGSTOP)
        try:
            await send(broker, inputs, 20, 1)  # the answer that it has asked for before
            await send(broker, inputs, 21, 30)
            await cut(broker, inputs, 51)
            await send(broker, inputs, 51, 10)
        finally:
            os.kill(scorer.pid, signal.SIGCONT)
        await scored(scorer, 30)
        await until(lambda: _ended_or_lost(scorer, 61), "all of them")
        samples = await scorer.metrics()
    finally:
        await scorer.end()
    lost = int(total(samples, LOST, topic=inputs))
    assert lost in (30, 31), "one more where it had asked for nothing when it fell asleep"
    assert outcomes(samples) == {"scored": 61 - lost}
    assert told(scorer, "offsets_lost") == [(51 - lost, 50)]
    await send(broker, inputs, 61, 5)
    await cut(broker, inputs, 64)
    again = MonitorProcess("score", broker, tmp_path, "again", **topics)
    try:
        await again.ready()
        await scored(again, 2)
        assert total(await again.metrics(), LOST, topic=inputs) == 3
    finally:
        await again.end()


async def test_what_retention_takes_under_an_exporter_is_counted(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Score records that were deleted before it read them are counted under their topic."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    scores = topics["kafka__topics__scores"]
    exporter = MonitorProcess("export", broker, tmp_path, "exporter", **topics)
    try:
        await exporter.ready()
        os.kill(exporter.pid, signal.SIGSTOP)
        try:
            await produce(broker, scores, [Record(b"{}")])  # the answer, likewise
            await produce(broker, scores, [Record(b"{}")] * 7)
            await cut(broker, scores, 6)
        finally:
            os.kill(exporter.pid, signal.SIGCONT)

        async def read() -> int | None:
            samples = await exporter.metrics()
            number = total(samples, "rag_monitor_score_records_total")
            return int(number) if number + total(samples, LOST, topic=scores) == 8 else None

        number = await until(read, "all of them")
    finally:
        await exporter.end()
    assert number in (2, 3), "one less where it had asked for nothing when it fell asleep"
    assert told(exporter, "offsets_lost") == [(number - 2, 5)]


async def test_a_topic_made_anew_is_read_from_its_beginning(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """40 are read, the topic is made anew while the scorer sleeps, 20 come: 60 have ended, and it
    has neither died nor lost one; told, and nothing of it is a loss."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, group = topics["kafka__topics__interactions"], topics["kafka__group_id"]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        names = await send(broker, inputs, 0, 40)
        await scored(scorer, 40)
        await until(lambda: _has_committed(broker, topics, 40), "a commit")
        mark = await mark_of(broker, group)
        os.kill(scorer.pid, signal.SIGSTOP)
        try:
            await make_anew(broker, inputs)
            names += await send(broker, inputs, 40, 20)
        finally:
            os.kill(scorer.pid, signal.SIGCONT)
        await scored(scorer, 60)
        await until(lambda: _has_committed(broker, topics, 20), "a commit in the new log")
        assert await mark_of(broker, group) != mark
        await send(broker, inputs, 60, 1)
        await scored(scorer, 61)
        samples = await scorer.metrics()
    finally:
        await scorer.end()
    assert outcomes(samples) == {"scored": 61}
    assert total(samples, LOST) == 0
    assert total(samples, WENT_BACK, topic=inputs) == 1
    assert told(scorer, "offsets_went_back") == [(40, 0)]
    assert await judged(broker, topics) == {*names, "i60"}


async def test_what_begins_in_a_log_made_anew_is_read_once(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The topic goes and comes while the scorer is awake, and is assigned to it again: it begins
    where nothing was committed, and does not go back when it sees that the log is another one."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        names = await send(broker, inputs, 0, 7)
        await scored(scorer, 7)
        await delete_topic(broker, inputs)
        await until(lambda: _assigned(scorer)[-1] == [], "an assignment without it")
        await create_again(broker, inputs)
        names += await send(broker, inputs, 7, 3)
        await scored(scorer, 10)
        until_looked = time.monotonic() + LOOK_S + 2
        while time.monotonic() < until_looked:
            names += await send(broker, inputs, len(names), 1)
            await scored(scorer, len(names))
        assert outcomes(await scorer.metrics()) == {"scored": len(names)}
    finally:
        await scorer.end()
    assert await judged(broker, topics) == set(names)
    assert len(await read_all(broker, topics["kafka__topics__scores"])) == len(names)


@pytest.mark.parametrize("runs_on", [True, False])
async def test_a_longer_log_does_not_hide_that_it_is_another_one(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, runs_on: bool
) -> None:
    """The new log goes further than the old one had been read: its id tells a scorer that
    sleeps meanwhile; for one that is started afterwards, the group stands nowhere."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        names = await send(broker, inputs, 0, 10)
        await scored(scorer, 10)
        if runs_on:
            os.kill(scorer.pid, signal.SIGSTOP)
        else:
            await scorer.end()
        await make_anew(broker, inputs)
        names += await send(broker, inputs, 10, 30)
        if runs_on:
            os.kill(scorer.pid, signal.SIGCONT)
        else:
            scorer = MonitorProcess("score", broker, tmp_path, "again", **topics)
            await scorer.ready()

        async def all_are() -> bool:
            return await judged(broker, topics) == set(names)

        await until(all_are, "a score for each")
        assert bool(told(scorer, "offsets_went_back")) == runs_on
    finally:
        await scorer.end()


async def test_the_last_commit_is_none_of_a_log_that_is_no_more(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The scorer is told to end while it sleeps, its topic is another one by then, and what it had
    done is not committed yet: the next scorer reads the whole of the new log."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    rarely = topics | {"ingest__commit_interval_s": "60"}
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **rarely)
    try:
        await scorer.ready()
        names = await send(broker, inputs, 0, 10)
        await scored(scorer, 10)
        os.kill(scorer.pid, signal.SIGSTOP)
        await make_anew(broker, inputs)
        names += await send(broker, inputs, 10, 30)
        os.kill(scorer.pid, signal.SIGTERM)
        os.kill(scorer.pid, signal.SIGCONT)
        await scorer.end()
        scorer = MonitorProcess("score", broker, tmp_path, "again", **topics)
        await scorer.ready()
        await scored(scorer, 30)
        assert await judged(broker, topics) == set(names)
    finally:
        await scorer.end()


@pytest.mark.parametrize("by_hand", [False, True])
async def test_a_commit_of_the_old_log_says_nothing_of_the_new_one(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, by_hand: bool
) -> None:
    """A commit is tried again while its topic is gone, and may be accepted when it is there again:
    the next scorer reads the whole of the new log. What an operator sets by hand holds."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, group = topics["kafka__topics__interactions"], topics["kafka__group_id"]
    mark = await mark_of_ten_read(broker, topics, tmp_path)
    await make_anew(broker, inputs)
    names = await send(broker, inputs, 10, 30)
    await commit(broker, group, TopicPartition(inputs, 0), 10, "" if by_hand else mark)
    number = 20 if by_hand else 30
    scorer = MonitorProcess("score", broker, tmp_path, "again", **topics)
    try:
        await scorer.ready()
        await scored(scorer, number)
        await send(broker, inputs, 40, 1)
        await scored(scorer, number + 1)
        samples = await scorer.metrics()
        told_of = told(scorer, "offsets_went_back")
    finally:
        await scorer.end()
    assert outcomes(samples) == {"scored": number + 1}
    assert told_of == ([] if by_hand else [(10, 0)])
    assert {*names[-number:], "i40"} <= await judged(broker, topics)


async def test_a_commit_of_the_old_log_is_told_once_where_the_new_one_is_empty(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The beginning of the new log is committed though nothing is read of it."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, group = topics["kafka__topics__interactions"], topics["kafka__group_id"]
    mark = await mark_of_ten_read(broker, topics, tmp_path)
    await make_anew(broker, inputs)
    await commit(broker, group, TopicPartition(inputs, 0), 10, mark)
    first = MonitorProcess("score", broker, tmp_path, "first", **topics)
    try:
        await first.ready()
        await until(partial(told, first, "offsets_went_back"), "that it is another log")
    finally:
        await first.end()
    second = MonitorProcess("score", broker, tmp_path, "second", **topics)
    try:
        await second.ready()
        await send(broker, inputs, 10, 5)
        await scored(second, 5)
    finally:
        await second.end()
    assert told(first, "offsets_went_back") == [(10, 0)]
    assert told(second, "offsets_went_back") == []


async def test_an_exporter_notices_another_log_soon_after_its_start(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Its topic of score records is made anew while it sleeps, with one partition, and a longer
    log than the old one: it reads all of it, some twice, and tells; partitions that are gone stop
    nothing."""
    topics, broker = await make_topics(partitions=3), kafka_broker.bootstrap
    scores = topics["kafka__topics__scores"]
    exporter = MonitorProcess("export", broker, tmp_path, "exporter", **topics)

    async def have_read(number: int) -> bool:
        return total(await exporter.metrics(), "rag_monitor_score_records_total") >= number

    async def is_told() -> bool:
        return total(await exporter.metrics(), WENT_BACK, topic=scores) == 1

    try:
        await exporter.ready()
        await produce(broker, scores, [Record(b"{}", partition=i % 3) for i in range(6)])
        await until(lambda: have_read(6), "the old log")
        os.kill(exporter.pid, signal.SIGSTOP)
        try:
            await make_anew(broker, scores)
            await produce(broker, scores, [Record(b"{}", partition=0)] * 30)
        finally:
            os.kill(exporter.pid, signal.SIGCONT)
        await until(is_told, "that the log is another one")
        [(stood, begin)] = told(exporter, "offsets_went_back")
        assert begin == 0
        # Until then it may have read on from where it stood in the old log.
        await until(lambda: have_read(6 + (stood - 2) + 30), "the whole new log")
    finally:
        await exporter.end()
