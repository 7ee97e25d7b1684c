"""The end of a scorer whose judgements wait: at once, where nothing was paid for; and then the next
one judges each of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from itertools import count, islice
from pathlib import Path
from random import Random

import pytest
from aiohttp import web

from monitor.records import read_score_record
from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import spoken
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, committed, produce, read_all
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.topics import MakeTopics

CASES = 6
SLOT = 4
FORCED = '[{"attribute": "tenant", "exists": true}]'


async def test_what_waits_for_a_limit_is_handed_over_at_once(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """SIGTERM while all wait for the next request of the minute: the ten minutes of the drain are
    not waited for, nothing was asked in vain, nothing is lost, and nothing is scored twice."""
    rng, broker = Random(9), kafka_broker.bootstrap
    cases = [case(f"w{i:03d}", rng, time.time() - 60, together=True) for i in range(CASES)]
    topics = await make_topics(partitions=1)
    async with JudgeServer(all_labels(cases)) as judge:
        limited = asking(
            judge, limits__requests_per_minute=1, ingest__drain_s=600, judge__concurrency=4
        )
        first = MonitorProcess("score", broker, tmp_path, "first", **limited, **topics)
        try:
            await first.ready()
            await produce(broker, topics["kafka__topics__interactions"], as_logged(cases))
            state = {"model": "openai/judge", "state": "waiting"}

            async def all_wait() -> bool:
                samples = await first.metrics()
                under_way = total(samples, "rag_monitor_interactions_in_flight")
                waiting = total(samples, "rag_monitor_judge_state", **state)
                return (under_way, waiting) == (CASES, 1)

            await until(all_wait, "a limit that all wait for")
        finally:
            await first.end()
        assert judge.log == [], "whoever was here before may have had the one of this minute"
        second = MonitorProcess("score", broker, tmp_path, "second", **asking(judge), **topics)
        try:
            await second.ready()

            async def all_scored() -> bool:
                return outcomes(await second.metrics()) == {"scored": CASES}

            await until(all_scored, "all scores")
        finally:
            await second.end()
        assert len({entry.conversation for entry in judge.log}) == len(judge.log)
    read = await read_all(broker, topics["kafka__topics__scores"])
    ids = [read_score_record(record.value or b"").interaction_id for record in read]
    assert sorted(ids) == [one.id for one in cases]


@pytest.mark.parametrize(("session_s", "assignments"), [(120, 1), (10, 2)])
async def test_who_stands_still_for_less_than_the_session_keeps_its_partitions(
    session_s: int,
    assignments: int,
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
) -> None:
    """Asleep for 13 s: with ``kafka.session_timeout_s`` of two minutes nobody notices; with the
    default the group has given its partition away, and it gets it anew."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    topics["kafka__session_timeout_s"] = str(session_s)
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)

    def assigned() -> int:
        return len([one for one in scorer.events() if one["event"] == "partitions_assigned"])

    async def scored() -> bool:
        return outcomes(await scorer.metrics()) == {"scored": 1}

    try:
        await scorer.ready()
        await until(assigned, "its partition")
        os.kill(scorer.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(13)
        finally:
            os.kill(scorer.pid, signal.SIGCONT)
        await until(lambda: assigned() >= assignments, "its partition, if it has lost it")
        inputs = topics["kafka__topics__interactions"]
        await produce(broker, inputs, [Record(encoded(interaction("one")))])
        await until(scored, "a score")
    finally:
        await scorer.end()
    if session_s == 120:
        assert assigned() == 1


class _Second:
    """A gate that bears no second interaction for so many seconds from its first request on."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._first: str | None = None
        self.refused_at: float | None = None

    async def __call__(self, text: str) -> web.Response | None:
        now = time.monotonic()
        question = json.loads(json.loads(text)["messages"][-1]["content"])["question"]
        self._first = self._first or question
        if question == self._first:
            return None
        self.refused_at = self.refused_at or now
        left_s = self.refused_at + self._wait_s - now
        body = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
        return spoken(429, body, {"Retry-After": f"{left_s:.2f}"}) if left_s > 0 else None

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""


async def test_a_slot_of_which_something_is_written_is_brought_to_its_end(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """SIGTERM while the second of four judgements waits, with nothing asked: whoever would begin
    the slot again would pay again for the first one, whose record is on the topic."""
    rng, broker = Random(9), kafka_broker.bootstrap
    made = (case(f"h{i:03d}", rng, time.time() - 60, together=True) for i in count())
    cases = list(islice((one for one in made if one.by_reference is not None), SLOT))
    topics, gate = await make_topics(partitions=1), _Second(wait_s=8.0)
    inputs = topics["kafka__topics__interactions"]
    async with JudgeServer(all_labels(cases), gate=gate) as judge:
        slots = asking(judge, sampling__block=SLOT, sampling__forced=FORCED, ingest__drain_s=600)
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **slots, **topics)
        try:
            await scorer.ready()
            await produce(broker, inputs, as_logged(cases))
            await until(lambda: gate.refused_at, "the second one")
        finally:
            await scorer.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    found = [read_score_record(record.value or b"") for record in read]
    assert sorted(record.interaction_id for record in found) == [one.id for one in cases]
    assert [record.sampling.forced for record in found] == [False] + [True] * (SLOT - 1)
    assert await committed(broker, topics["kafka__group_id"], inputs) == {0: SLOT}
