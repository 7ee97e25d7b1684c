"""``plan --from-topic`` and ``score --dry-run``: they read, and leave no trace."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.command import environ_of, rag_monitor
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.process import asking
from tests.stages.topics import MakeTopics, Topics

INTERACTIONS = 120
PRICED = {
    "judge__price__input_usd_per_million": 1.0,
    "judge__price__output_usd_per_million": 4.0,
}


async def told(broker: str, settings: dict[str, Any], *arguments: str) -> dict[str, Any]:
    """What a command says as JSON; it ends with 0."""
    code, out, complaint = await ended(broker, settings, *arguments)
    assert code == 0, complaint
    found: dict[str, Any] = json.loads(out)
    return found


async def ended(broker: str, settings: dict[str, Any], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and complaint of a command that is asked for JSON."""
    environ = environ_of(broker, settings)
    done = await asyncio.to_thread(rag_monitor, *arguments, "--json", environ=environ)
    return done.returncode, done.stdout, done.stderr


async def filled(
    broker: str, topics: Topics, sent_at: Callable[[int], float] | None = None, **where: Any
) -> list[Any]:
    """So many interactions, each written at its time (epoch seconds; default: a minute ago)."""
    rng, minute_ago = Random(4), time.time() - 60
    cases = [
        case(f"p{i:03d}", rng, minute_ago if sent_at is None else sent_at(i))
        for i in range(INTERACTIONS)
    ]
    records = [
        replace(record, timestamp_ms=int(found.event_time * 1000), **where)
        for record, found in zip(as_logged(cases), cases, strict=True)
    ]
    await produce(broker, topics["kafka__topics__interactions"], records)
    return cases


async def test_a_window_in_which_nothing_arrived(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Exit code 1 and a line that names topic and minutes; partitions without records are fine.

    What is older is not counted, in the same partition neither.
    """
    broker, topics = kafka_broker.bootstrap, await make_topics()
    old, now = time.time() - 7_200, time.time()
    settings = {**topics, "judge__kind": "offline"}
    arguments = ("plan", "--from-topic", "--minutes", "2")
    code, out, complaint = await ended(broker, settings, *arguments)
    assert (code, out) == (1, "")
    await filled(broker, topics, lambda _: old, partition=1)
    code, out, again = await ended(broker, settings, *arguments)
    assert (code, out, again) == (1, "", complaint)
    assert complaint.count("\n") == 1
    assert f"nothing was sent to {topics['kafka__topics__interactions']}" in complaint
    assert "in the last 2 minutes" in complaint
    await filled(broker, topics, lambda _: now - 10, partition=1)
    plan = await told(broker, settings, *arguments)
    assert plan["traffic_per_minute"] == INTERACTIONS / 2
    assert plan["sampling_probability"] == 1
    assert plan["interval_width"].keys() == {"5m", "1h", "24h"}


async def test_neither_asks_commits_or_writes(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Traffic and tokens are the topic's; a dry run, twice, counts all of it; nobody is asked."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    cases = await filled(broker, topics)
    async with JudgeServer(all_labels(cases)) as judge:
        settings = {**asking(judge, **topics), **PRICED}
        plan = await told(
            broker, settings, "plan", "--from-topic", "--minutes", "2", "--budget", "1usd/day"
        )
        first = await told(broker, settings, "score", "--dry-run")
        again = await told(broker, settings, "score", "--dry-run")
        unpriced = await told(broker, asking(judge, **topics), "score", "--dry-run")
        assert judge.log == []
    assert plan["traffic_per_minute"] == INTERACTIONS / 2
    one = plan["judgement"]
    assert 1 < one["calls"] <= 3
    usd = (one["prompt_tokens"] + 4 * one["completion_tokens"]) / 1e6
    assert one["usd"] == pytest.approx(usd)
    assert plan["judged_per_minute"] == pytest.approx(1 / usd / 1_440)
    assert first == again
    assert first["consumed"] == INTERACTIONS
    assert first["judged"] == first["outcomes"]["scored"] > 0.9 * INTERACTIONS
    assert first["usage"]["usd"] == pytest.approx(usd * INTERACTIONS, rel=0.2)
    assert first["unpriced"] == []
    assert unpriced["unpriced"] == [settings["judge__model"]]
    assert unpriced["usage"]["usd"] == 0
    assert await read_all(broker, topics["kafka__topics__scores"]) == []
    assert await read_all(broker, topics["kafka__topics__dead_letters"]) == []


async def test_a_dry_run_picks_from_blocks(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """One of each slot is judged; what is in an open block is waited for in vain, and said."""
    broker, topics = kafka_broker.bootstrap, await make_topics(1)
    await filled(broker, topics)
    found = await told(broker, {**topics, "sampling__block": "16"}, "score", "--dry-run")
    outcomes = found["outcomes"]
    assert found["consumed"] == INTERACTIONS
    assert outcomes["handed_over/open_block"] <= INTERACTIONS % 16
    # Seven blocks, each with a slot of those with a reference, and mostly one of those without.
    assert 7 <= outcomes["scored"] <= 14
    assert sum(outcomes.values()) == INTERACTIONS
