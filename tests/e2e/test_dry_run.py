"""``score --dry-run`` plans as the scorers would: by limits, money, pauses; and leaves no trace."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from monitor.app.inspection import traffic_access
from monitor.config import load
from monitor.errors import DependencyRefused
from monitor.plan.dry_run import dry_run
from monitor.plan.topic import measured
from monitor.records import Outcome, ScoreRecord, Source, Usage
from monitor.records.control import PauseRecord
from monitor.runtime.health import Health
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, admin_client, produce, read_all
from tests.servers.ports import free_ports
from tests.stages import otlp_spans
from tests.stages.plain import encoded, interaction
from tests.stages.records import JUDGE, forced
from tests.stages.topics import MakeTopics, Topics

#: Noon: no midnight comes between.
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
PRICED = {
    "judge.kind": "llm",
    "judge.model": "openai/judge",
    "judge.api_base": "http://127.0.0.1:1/v1",
    "judge.price.input_usd_per_million": "1",
    "judge.price.output_usd_per_million": "4",
}


async def rehearsed(broker: str, topics: Topics, **settings: str) -> dict[str, Any]:
    """What the command prints as JSON, at noon."""
    names = {name.replace("__", "."): value for name, value in topics.items()}
    flags = {"kafka.bootstrap_servers": broker, **names, **PRICED, **settings}
    return await dry_run(load({}, flags=flags), NOON, Health(time.monotonic))


async def sent(broker: str, topics: Topics, count: int, minutes: float) -> None:
    """So many interactions, evenly over the minutes before noon, and one record that is none.

    They go to the first two partitions in turns: what is found is the same each time.
    """
    records = []
    for number in range(count):
        then = NOON - 60 * minutes * (1 - number / count)
        value = encoded(interaction(f"d{number:04d}"))
        records.append(Record(value, partition=number % 2, timestamp_ms=int(then * 1000)))
    records.append(Record(b"nothing", partition=0, timestamp_ms=int(NOON * 1000)))
    await produce(broker, topics["kafka__topics__interactions"], records)


def spent(days_ago: int, usd: float, number: int = 0) -> Record:
    """A score record of eleven o'clock that says so."""
    then = datetime.fromtimestamp(NOON, UTC) - timedelta(days=days_ago, hours=1)
    record = ScoreRecord(
        application="bot",
        interaction_id=f"old{days_ago}-{number}",
        event_time=then,
        judged_at=then,
        source=Source(topic="t", partition=days_ago, offset=number),
        judge=JUDGE,
        sampling=forced("with_reference"),
        outcome=Outcome.SCORED,
        usage=Usage(calls=1, usd=usd),
    )
    return Record(record.to_json(), timestamp_ms=int(then.timestamp() * 1000))


async def test_a_broker_that_is_away_is_not_waited_for_for_ever() -> None:
    """Neither by a dry run nor by a plan from the topic; both say what was found."""
    (port,) = free_ports(1)
    address, health = f"127.0.0.1:{port}", Health(time.monotonic)
    settings = load({}, flags={"kafka.bootstrap_servers": address})
    for asked in (
        dry_run(settings, NOON, health, 2.0),
        measured(traffic_access(settings, health, 2.0), NOON, 10.0),
    ):
        with pytest.raises(DependencyRefused, match=rf"{address}: connecting .* within 2 s"):
            await asked


async def test_limits_make_blocks_longer(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """40 a minute for 20 minutes, and 12 requests a minute: one of some ten, and nobody waits."""
    broker, topics = kafka_broker.bootstrap, await make_topics(2)
    await sent(broker, topics, 800, 20)
    auto = {"sampling.block": "auto", "sampling.directed": "false"}
    free = await rehearsed(broker, topics, **auto)
    assert free["judged"] == free["outcomes"]["scored"] == 800
    assert free["outcomes"]["dead_lettered/invalid_json"] == 1
    found = await rehearsed(broker, topics, **auto, **{"limits.requests_per_minute": "12"})
    outcomes = found["outcomes"]
    assert found["consumed"] == sum(outcomes.values()) == 801
    # In the first minute nobody knows what they cost; then about four judgements a minute.
    assert 40 <= found["judged"] <= 40 + 60 + 20 * 4
    assert outcomes["not_sampled/slot"] > 500
    assert found["block"] in (8, 16)
    assert found["seconds"] == pytest.approx(20 * 60, abs=2)
    assert found["usage"]["calls"] <= 3 * 40 + 12 * found["seconds"] / 60
    assert found == await rehearsed(broker, topics, **auto, **{"limits.requests_per_minute": "12"})


async def test_a_group_that_has_read_everything_can_look_back(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Nothing is unread, which is no price; the last minutes are counted with a day's money."""
    broker, topics = kafka_broker.bootstrap, await make_topics(2)
    await sent(broker, topics, 120, 60)
    names = {name.replace("__", "."): value for name, value in topics.items()}
    flags = {
        "kafka.bootstrap_servers": broker,
        **names,
        **PRICED,
        "kafka.group_id": "done-look-back",
    }
    settings, health = load({}, flags=flags), Health(time.monotonic)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=broker, group_id="done-look-back", enable_auto_commit=False
    )
    await consumer.start()
    parts = [TopicPartition(topics["kafka__topics__interactions"], n) for n in range(2)]
    consumer.assign(parts)
    await consumer.commit(await consumer.end_offsets(parts))
    await consumer.stop()
    nothing = await dry_run(settings, NOON, health)
    assert (nothing["consumed"], nothing["usage"]["usd"]) == (0, 0.0)
    found = await dry_run(settings, NOON, health, minutes=30)
    assert 58 <= found["judged"] <= 61
    assert found["usage"]["usd"] > 0
    assert (await dry_run(settings, NOON + 7_200, health, minutes=30))["consumed"] == 0


async def test_the_rest_of_the_days_money_is_all_there_is(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """What scorers have spent today is gone; yesterday's is not. The rest ends as over_budget."""
    broker, topics = kafka_broker.bootstrap, await make_topics(2)
    await sent(broker, topics, 100, 5)
    free = await rehearsed(broker, topics)
    one = free["usage"]["usd"] / 100
    # No record is believed to have cost more than a quarter of the day's money.
    records = [*(spent(0, 10 * one, n) for n in range(3)), spent(1, 50 * one)]
    await produce(broker, topics["kafka__topics__scores"], records)
    found = await rehearsed(broker, topics, **{"limits.usd_per_day": f"{70 * one:.9f}"})
    assert found["outcomes"]["over_budget/usd_per_day"] == pytest.approx(60, abs=10)
    assert found["judged"] == pytest.approx(40, abs=10)
    assert found["usage"]["usd"] <= 42 * one


async def test_what_is_paused_is_not_judged_and_no_trace_is_left(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """No group, no score record, no dead letter, no alarm, nothing on the control topic."""
    broker, topics = kafka_broker.bootstrap, await make_topics(1)
    names = ("bot", "other", "bot")
    records = [Record(encoded(interaction(f"i{n}", application=a))) for n, a in enumerate(names)]
    await produce(broker, topics["kafka__topics__interactions"], [*records, Record(b"{")])
    pause = PauseRecord(application="bot")
    at = int(NOON * 1000)
    control = [Record(pause.to_json(), key=pause.key.encode(), timestamp_ms=at)]
    await produce(broker, topics["kafka__topics__control"], control)
    found = await rehearsed(broker, topics)
    assert found["outcomes"] == {
        "not_sampled/paused": 2,
        "scored": 1,
        "dead_lettered/invalid_json": 1,
    }
    for name in ("scores", "dead_letters", "alarms"):
        assert await read_all(broker, topics[f"kafka__topics__{name}"]) == []
    assert len(await read_all(broker, topics["kafka__topics__control"])) == 1
    async with admin_client(broker) as admin:
        groups = {name for name, _ in await admin.list_consumer_groups()}
    assert topics["kafka__group_id"] not in groups


async def test_spans_are_put_together_to_traces_in_the_time_of_their_records(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Each whole one is judged, the last one too; one that has no root yet is left open."""
    broker, topics, traces = kafka_broker.bootstrap, await make_topics(1), 20
    records = []
    for number in range(1, traces + 1):
        then = NOON - 60 * (traces - number)
        spans = otlp_spans.rag_trace(number, number, int((then - 2) * 1e9))
        for part in (spans[1:], spans[:1]) if number < traces else (spans, spans[1:]):
            value = otlp_spans.as_json(otlp_spans.made(*part))
            records.append(Record(value, timestamp_ms=int(then * 1000)))
    open_one = [span for span in otlp_spans.rag_trace(99, 1) if span.get("parentSpanId")]
    value = otlp_spans.as_json(otlp_spans.made(*open_one))
    records.append(Record(value, timestamp_ms=int(NOON * 1000)))
    await produce(broker, topics["kafka__topics__interactions"], records)
    found = await rehearsed(broker, topics, **{"ingest.format": "otlp_json"})
    assert found["outcomes"] == {"scored": traces, "handed_over/open_trace": 1}
    assert found["seconds"] == pytest.approx(60 * (traces - 1) + 5, abs=1)
