"""Where a new group begins, and that what can count in no gauge is not paid for."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import NewPartitions

from monitor.app.backlog import Backlog, backlog
from monitor.app.connections import connection
from monitor.config import load
from monitor.plan.dry_run import dry_run
from monitor.runtime.health import Health
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, admin_client, produce
from tests.stages.plain import encoded, interaction
from tests.stages.process import KILLED, MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics

HOUR_S, DAY_S = 3_600, 86_400
ENDED = "rag_monitor_interactions_total"


def logged(name: str, ago_s: float, *, arrived_ago_s: float | None = None) -> Record:
    """An interaction of so long ago, that reached the broker then or later."""
    now = time.time()
    at = datetime.fromtimestamp(now - ago_s, UTC).isoformat()
    arrived = now - (ago_s if arrived_ago_s is None else arrived_ago_s)
    value = encoded(interaction(name, timestamp=at))
    return Record(value, partition=0, timestamp_ms=int(arrived * 1000))


async def begun(broker: str, topics: Topics) -> None:
    """Four days ago 8, 30 hours ago 4 (which counts or not by the hour), of the last hour 5."""
    old = [logged(f"old{n}", 4 * DAY_S - n) for n in range(8)]
    recent = [logged(f"recent{n}", HOUR_S - n) for n in range(5)]
    await produce(broker, topics["kafka__topics__interactions"], [*old, *recent])


async def ended(scorer: MonitorProcess, count: int) -> dict[str, int]:
    """The outcomes, once there are so many, and not more a moment later."""

    async def enough() -> bool:
        return sum(outcomes(await scorer.metrics()).values()) >= count

    await until(enough, f"{count} outcomes")
    return outcomes(await scorer.metrics())


@pytest.mark.parametrize(
    ("start", "judged"), [("horizon", 5), ("earliest", 13), ("2h", 5), ("5d", 13)]
)
async def test_a_new_group_begins_where_it_is_told_to(
    start: str, judged: int, kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """What lies before is neither read nor judged; the dry run counts the same."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    await begun(broker, topics)
    flags = {key.replace("__", "."): value for key, value in topics.items()}
    flags |= {"kafka.bootstrap_servers": broker, "ingest.start": start}
    planned = await dry_run(load({}, flags=flags), time.time(), Health(time.monotonic))
    assert (planned["consumed"], planned["judged"]) == (judged, judged)
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", ingest__start=start, **topics)
    try:
        await scorer.ready()
        assert await ended(scorer, judged) == {"scored": judged}
        (said,) = [one for one in scorer.events() if one["event"] == "partition_begun"]
        assert (said["start"], said["unread"], said["offset"]) == (start, judged, 13 - judged)
    finally:
        await scorer.end()


async def test_the_latest_is_a_place_that_a_kill_does_not_move(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Killed before its first commit it goes on where it began, and reads what came meanwhile."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    await begun(broker, topics)
    settings: dict[str, Any] = {"ingest__start": "latest", **topics, **KILLED}
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
    await scorer.ready()
    await until(
        lambda: [one for one in scorer.events() if one["event"] == "partition_begun"], "a place"
    )
    scorer.kill()
    new = [logged(f"new{n}", 60 - n) for n in range(3)]
    await produce(broker, topics["kafka__topics__interactions"], new)
    again = MonitorProcess("score", broker, tmp_path, "again", **settings)
    try:
        await again.ready()
        assert await ended(again, 3) == {"scored": 3}
    finally:
        await again.end()


ASKING = {
    "judge.kind": "llm",
    "judge.model": "openai/judge",
    "judge.api_base": "http://127.0.0.1:1/v1",
    "judge.price.input_usd_per_million": "1",
    "judge.price.output_usd_per_million": "4",
}


async def test_what_is_unread_and_what_it_costs_is_known_before(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """The price is that of the dry run; half the rate is half the price, and none costs none."""
    topics, broker = await make_topics(partitions=2), kafka_broker.bootstrap
    await begun(broker, topics)
    flags = {key.replace("__", "."): value for key, value in topics.items()}
    flags |= {"kafka.bootstrap_servers": broker, **ASKING}

    async def found(**more: str) -> Backlog:
        told = {key.replace("__", "."): value for key, value in more.items()}
        settings = load({}, flags={**flags, **told})
        inputs, health = connection(settings), Health(time.monotonic)
        return await backlog(settings, time.time, inputs, health, 10.0)

    whole = await found()
    assert (whole.is_new, whole.unread, whole.per_day) == (True, 5, 5)
    assert whole.oldest_s == pytest.approx(HOUR_S, abs=60)
    planned = await dry_run(load({}, flags=flags), time.time(), Health(time.monotonic))
    assert whole.usd == pytest.approx(planned["usage"]["usd"], rel=0.01)
    assert whole.usd == whole.usd_per_day
    half = await found(sampling__rate="0.5", ingest__start="earliest")
    assert half.unread == 13
    assert (half.usd or 0.0) / 13 == pytest.approx((whole.usd or 0.0) / 10)
    nothing = await found(applications='[{"application": "bot", "sampling": {"rate": 0}}]')
    assert (nothing.unread, nothing.usd) == (5, 0.0)
    flags = {name: value for name, value in flags.items() if not name.startswith("judge.")}
    offline = await found()
    assert (offline.usd, offline.is_asked) == (0.0, False)


async def test_what_will_be_too_old_is_not_priced(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Only records of four days ago: they are read, since a broker may know no times, and end."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    old = [logged(f"old{n}", 4 * DAY_S - n) for n in range(12)]
    await produce(broker, topics["kafka__topics__interactions"], old)
    flags = {key.replace("__", "."): value for key, value in topics.items()}
    settings = load({}, flags={"kafka.bootstrap_servers": broker, **flags, **ASKING})
    inputs, health = connection(settings), Health(time.monotonic)
    found = await backlog(settings, time.time, inputs, health, 10.0)
    assert (found.unread, found.too_old, found.usd) == (12, 12, None)
    assert "about 12 too old to be judged" in found.in_words()
    assert "nothing came in the last day" in (found.unbounded() or "")


async def test_the_oldest_is_looked_for_where_most_is_unread(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Of 48 partitions number 40 is nine hours behind, and the others two minutes."""
    topics, broker = await make_topics(partitions=48), kafka_broker.bootstrap
    late = [replace(logged(f"late{n}", 9 * HOUR_S), partition=40) for n in range(5)]
    new = [replace(logged(f"new{n}", 120), partition=n) for n in range(48)]
    await produce(broker, topics["kafka__topics__interactions"], [*late, *new])
    flags = {key.replace("__", "."): value for key, value in topics.items()}
    settings = load({}, flags={"kafka.bootstrap_servers": broker, **flags})
    inputs, health = connection(settings), Health(time.monotonic)
    found = await backlog(settings, time.time, inputs, health, 10.0)
    assert found.oldest_s == pytest.approx(9 * HOUR_S, abs=60)
    said = "53 unread, the oldest 9 h old (in the 20 of 48 partitions with the most unread)"
    assert said in found.in_words()


async def test_a_partition_that_is_added_is_read_from_its_first_record(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Whatever the start is: between its making and our seeing it nobody else has read it."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, settings = topics["kafka__topics__interactions"], {"ingest__start": "latest", **topics}
    first = MonitorProcess("score", broker, tmp_path, "first", **settings)
    await first.ready()
    await until(
        lambda: [one for one in first.events() if one["event"] == "partition_begun"], "a place"
    )
    await first.end()
    async with admin_client(broker) as admin:
        await admin.create_partitions({inputs: NewPartitions(total_count=2)})
    values = [encoded(interaction(f"i{n}")) for n in range(4)]
    await produce(broker, inputs, [Record(value, partition=1) for value in values])
    second = MonitorProcess("score", broker, tmp_path, "second", **settings)
    try:
        await second.ready()
        assert await ended(second, 4) == {"scored": 4}
    finally:
        await second.end()


@pytest.mark.parametrize(
    ("settings", "scored"),
    [({}, 2), ({"ingest__start": "earliest"}, 5), ({"ingest__when_behind": "completeness"}, 5)],
)
async def test_what_is_logged_late_is_too_old_unless_all_is_asked_for(
    settings: dict[str, str],
    scored: int,
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
) -> None:
    """A shipper that was stuck for days sends now what could count in no gauge."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    late = [logged(f"late{n}", 4 * DAY_S, arrived_ago_s=60) for n in range(3)]
    fresh = [logged(f"fresh{n}", 30) for n in range(2)]
    await produce(broker, topics["kafka__topics__interactions"], [*late, *fresh])
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings, **topics)
    try:
        await scorer.ready()
        found = await ended(scorer, 5)
        samples = await scorer.metrics()
    finally:
        await scorer.end()
    assert found == {"scored": scored, **({"not_sampled": 5 - scored} if scored < 5 else {})}
    assert total(samples, ENDED, outcome="not_sampled", reason="too_old") == 5 - scored
