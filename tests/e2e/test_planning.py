"""``plan --from-topic`` and ``score --dry-run``: they read, and leave no trace."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from random import Random
from typing import Any

import pytest

from tests.e2e.conftest import MakeTopics, Topics
from tests.e2e.labelled import all_labels, as_logged, case
from tests.e2e.process import asking
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import produce, read_all

INTERACTIONS = 120
PRICED = {
    "judge__price__input_usd_per_million": 1.0,
    "judge__price__output_usd_per_million": 4.0,
}


async def told(broker: str, settings: dict[str, Any], *arguments: str) -> dict[str, Any]:
    """What a command says as JSON; it ends with 0."""
    variables = {f"RAG_MONITOR_{name.upper()}": str(value) for name, value in settings.items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "monitor", *arguments, "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": broker, **variables},
    )
    out, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    found: dict[str, Any] = json.loads(out)
    return found


async def filled(broker: str, topics: Topics) -> list[Any]:
    """So many interactions of a minute ago."""
    rng = Random(4)
    cases = [case(f"p{i:03d}", rng, time.time() - 60) for i in range(INTERACTIONS)]
    await produce(broker, topics["kafka__topics__interactions"], as_logged(cases))
    return cases


@pytest.mark.timeout(150)
async def test_neither_asks_commits_or_writes(
    kafka_broker: KafkaBroker, make_topics: MakeTopics
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
    assert await read_all(broker, topics["kafka__topics__scores"]) == []
    assert await read_all(broker, topics["kafka__topics__dead_letters"]) == []


@pytest.mark.timeout(150)
async def test_a_dry_run_picks_from_blocks(
    kafka_broker: KafkaBroker, make_topics: MakeTopics
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
