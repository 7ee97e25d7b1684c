"""Some kilobytes that unpack to hundreds of megabytes, on every topic that is read."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import aiohttp

from monitor.kafka.bounds import MOST_HEADERS
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, committed, produce, read_all
from tests.stages.batches import ZSTD, batch, bomb, packed, produce_batch, record
from tests.stages.command import environ_of, rag_monitor
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics

MOST_RSS, MANY = 500 * 2**20, 150_000
#: Far more than an answer takes, and far less than unpacking it all.
ANSWERS_WITHIN_S = 10.0


def largest(process: MonitorProcess) -> int:
    """The most bytes of memory that the process has ever had resident."""
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


class Watched:
    """Whether a process always answers."""

    def __init__(self, process: MonitorProcess) -> None:
        self._process, self.silences = process, 0

    async def watch(self) -> None:
        """Look until cancelled."""
        limit = aiohttp.ClientTimeout(total=ANSWERS_WITHIN_S)
        async with aiohttp.ClientSession(timeout=limit) as session:
            while True:
                try:
                    async with session.get(f"{self._process.url}/healthz") as answer:
                        self.silences += answer.status != 200
                except TimeoutError:
                    self.silences += 1
                await asyncio.sleep(0.05)


async def hostile(broker: str, topic: str) -> None:
    """A bomb, a record with a million headers, and more records than anybody puts in a batch."""
    await produce_batch(broker, topic, bomb(300))
    await produce_batch(broker, topic, packed([record(0, b"{}", 1_000_000)], ZSTD))
    await produce_batch(broker, topic, packed((record(i, b"{}") for i in range(MANY)), ZSTD))


async def test_what_unpacks_to_too_much_is_a_dead_letter(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Three such batches among good ones: one letter each, an outcome for every offset, no more
    memory than is allowed, health all the time, all good ones scored, and all of it committed."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    good = [Record(encoded(interaction(f"i{n}"))) for n in range(200)]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        watched = Watched(scorer)
        watching = asyncio.create_task(watched.watch())
        await produce(broker, inputs, good[:100])
        await hostile(broker, inputs)
        await produce(broker, inputs, good[100:])
        await until(lambda: _scored(scorer, 200), "all scores")
        await until(lambda: _is_committed(broker, topics, 202 + MANY), "the commit of everything")
        samples = await scorer.metrics()
        rss = largest(scorer)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
    finally:
        await scorer.end()
    assert outcomes(samples) == {"scored": 200, "dead_lettered": 2 + MANY}
    assert total(samples, "rag_monitor_interactions_consumed_total") == 202 + MANY
    assert total(samples, "rag_monitor_dead_letters_total", cause="unreadable_record") == 3
    assert watched.silences == 0
    assert rss < MOST_RSS, f"{rss / 2**20:.0f} MB"
    await _check_letters(broker, topics)


async def _scored(scorer: MonitorProcess, number: int) -> bool:
    return outcomes(await scorer.metrics()).get("scored") == number


async def _is_committed(broker: str, topics: Topics, offset: int) -> bool:
    inputs = topics["kafka__topics__interactions"]
    return await committed(broker, topics["kafka__group_id"], inputs) == {0: offset}


async def _check_letters(broker: str, topics: Topics) -> None:
    letters = await read_all(broker, topics["kafka__topics__dead_letters"])
    assert {(letter.key, letter.value) for letter in letters} == {(None, b"")}
    said = [dict(letter.headers) for letter in letters]
    places = [(int(one["x-error.offset"]), one.get("x-error.last_offset")) for one in said]
    assert sorted(places) == [(100, None), (101, None), (102, b"%d" % (101 + MANY))]
    why = {int(one["x-error.offset"]): one["x-error.message"].decode() for one in said}
    assert "kafka.max_read_bytes" in why[100]
    assert f"more than {MOST_HEADERS} headers" in why[101]
    assert f"{MANY} records, offsets 102 to {101 + MANY}" in why[102]


async def test_followers_and_commands_pass_it_by(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """On the monitor's own topics: an exporter counts it and is ready, a command goes on."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    names = [topics[f"kafka__topics__{key}"] for key in ("scores", "control", "dead_letters")]
    for name in names:
        await produce_batch(broker, name, bomb(300))
        await produce_batch(broker, name, batch(record(0, b"{}")))
    exporter = MonitorProcess("export", broker, tmp_path, "exporter", **topics)
    try:
        await exporter.ready()
        rss = largest(exporter)
        samples = await exporter.metrics()
    finally:
        await exporter.end()
    assert rss < MOST_RSS, f"{rss / 2**20:.0f} MB"
    assert total(samples, "rag_monitor_score_records_total") == 2
    assert total(samples, "rag_monitor_score_records_total", result="read") == 0
    command, environ = ("dead-letters", "list", "--json"), environ_of(broker, topics)
    ended = await asyncio.to_thread(rag_monitor, *command, environ=environ)
    assert ended.returncode == 0, ended.stderr
