"""For how long score records ask to count: by what is scored, and not by what was refused."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace

import pytest

from monitor.app.connections import connection
from monitor.config import load
from monitor.doctor.judging import judged_pace
from monitor.exporter.period import OVER_S, RUNS, asked_for, of_times
from monitor.kafka.replay import TopicScan
from monitor.records import read_score_record
from monitor.runtime.health import Health
from monitor.stats.period import DAY_S, HorizonSpan, day_bounds, horizon_span
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce
from tests.stages.judged_days import judged_each_day

REFUSED = 300


def refused(records: list[Record]) -> list[Record]:
    """The same, where there was no money for any."""
    found = []
    for each in records:
        one = read_score_record(each.value or b"")
        gone = {"outcome": "over_budget", "reason": "usd_per_day", "scores": {}}
        found.append(replace(each, value=one.model_copy(update=gone).to_json()))
    return found


@pytest.mark.parametrize(("scored", "days"), [(10, 28), (300, 7)])
async def test_what_is_refused_shortens_no_period(
    kafka_broker: RunningBroker, scored: int, days: int
) -> None:
    """Ten scored a day ask for four weeks beside 300 that are refused, 300 for one.

    What is written today changes nothing, and nor does what cannot be read.
    """
    topic = f"scores-{uuid.uuid4().hex[:8]}"
    await create_topic(kafka_broker.bootstrap, topic, 3)
    records = judged_each_day(7, scored, 0.9) + refused(judged_each_day(7, REFUSED, 0.9))
    records.sort(key=lambda each: each.timestamp_ms or 0)
    await produce(kafka_broker.bootstrap, topic, records)
    kafka = connection(load({}, None, {"kafka.bootstrap_servers": kafka_broker.bootstrap}))
    scan = await TopicScan.start(kafka, Health(time.monotonic))
    try:
        found = await asked_for(scan, topic, time.time())
        assert found == horizon_span(scored) == HorizonSpan(days * DAY_S, 8 * DAY_S)
        today = [Record(b"{", timestamp_ms=int(time.time() * 1000))] * (50 * RUNS)
        await produce(kafka_broker.bootstrap, topic, today)
        assert await asked_for(scan, topic, time.time()) == found
    finally:
        await scan.stop()


async def test_a_weekend_changes_nothing(kafka_broker: RunningBroker) -> None:
    """Two empty days where the week begins are of it, once there is anything before them.

    Ten of them are not: it begins anew. The day on which it begins need not be whole.
    """
    start = day_bounds(time.time())[-8]
    one = judged_each_day(1, 1, 0.9)[0]
    working = [
        Record(one.value, timestamp_ms=1_000 * (start + day * DAY_S + 60 * number))
        for day in range(2, 7)
        for number in range(250)
    ]
    friday = Record(one.value, timestamp_ms=1_000 * (start - DAY_S // 3))
    settings = load({}, None, {"kafka.bootstrap_servers": kafka_broker.bootstrap})
    kafka = connection(settings)
    tried = [
        Record(one.value, timestamp_ms=1_000 * (start - 10 * DAY_S + number)) for number in range(4)
    ]
    cases = ((working, 250), ([friday, *working], 250 * 5 / 7), ([*tried, *working], 250))
    for records, per_day in cases:
        topic = f"scores-{uuid.uuid4().hex[:8]}"
        await create_topic(kafka_broker.bootstrap, topic, 1, {"retention.ms": "-1"})
        await produce(kafka_broker.bootstrap, topic, records)
        scan = await TopicScan.start(kafka, Health(time.monotonic))
        try:
            assert await asked_for(scan, topic, time.time()) == horizon_span(per_day)
        finally:
            await scan.stop()
        told = await judged_pace(settings, time.time, (kafka, ()), (kafka, topic))
        assert told is not None
        assert told.per_day == pytest.approx(per_day, rel=0.01)
        assert told.span == horizon_span(per_day)
    times = [(record.timestamp_ms or 0) / 1_000 for record in (friday, *working)]
    assert of_times(times, time.time()) == horizon_span(250 * 5 / 7) != horizon_span(250)
    assert of_times(times[1:], time.time()) == horizon_span(250)


@pytest.mark.parametrize(("scored", "refused_a_day", "days"), [(100, 1_900, 28), (300, 1_700, 7)])
async def test_money_that_is_spent_at_once_counts_in_full(
    kafka_broker: RunningBroker, scored: int, refused_a_day: int, days: int
) -> None:
    """The first minutes of a day take all of it; what somebody has forced is no evidence."""
    topic = f"scores-{uuid.uuid4().hex[:8]}"
    await create_topic(kafka_broker.bootstrap, topic, 1, {"retention.ms": "-1"})
    day = judged_each_day(1, 1, 0.9)[0]
    one = read_score_record(day.value or b"")
    gone = {"outcome": "over_budget", "reason": "usd_per_day", "scores": {}}
    kinds = {
        "scored": day.value,
        "refused": one.model_copy(update=gone).to_json(),
        "forced": one.model_copy(
            update={"sampling": one.sampling.model_copy(update={"u": None})}
        ).to_json(),
    }
    order = ["scored"] * scored + ["refused"] * refused_a_day + ["forced"] * 100
    today = int(time.time()) // DAY_S * DAY_S
    records = [
        Record(kinds[kind], timestamp_ms=1000 * (today - back * DAY_S) + 10_000 * k)
        for back in range(8, 0, -1)
        for k, kind in enumerate(order)
    ]
    await produce(kafka_broker.bootstrap, topic, records)
    flags = {"kafka.bootstrap_servers": kafka_broker.bootstrap, "kafka.topics.scores": topic}
    settings = load({}, None, flags)
    scan = await TopicScan.start(connection(settings), Health(time.monotonic))
    counted = dict[int, int]()
    try:
        found = await asked_for(scan, topic, today + OVER_S, counted)
        assert found == horizon_span(scored) == HorizonSpan(days * DAY_S, 8 * DAY_S)
        assert [*counted.values()] == [scored] * 7
        assert await asked_for(scan, topic, today + OVER_S, counted) == found
    finally:
        await scan.stop()
    there = connection(settings)
    told = await judged_pace(settings, time.time, (there, ()), (there, topic))
    assert told is not None
    assert (round(told.per_day), told.span) == (scored, found)


async def test_what_comes_after_midnight_counts_for_all_alike(kafka_broker: RunningBroker) -> None:
    """A day that was counted a moment after its end is counted again, until it is over for long."""
    topic = f"scores-{uuid.uuid4().hex[:8]}"
    await create_topic(kafka_broker.bootstrap, topic, 1)
    records, late = judged_each_day(7, 215, 0.9), judged_each_day(1, 215, 0.9)[-7:]
    await produce(kafka_broker.bootstrap, topic, records[:-10])
    kafka = connection(load({}, None, {"kafka.bootstrap_servers": kafka_broker.bootstrap}))
    scan, counted = await TopicScan.start(kafka, Health(time.monotonic)), dict[int, int]()
    today = int(time.time()) // DAY_S * DAY_S
    try:
        before = await asked_for(scan, topic, today + 5, counted)
        assert len(counted) == 5  # neither the first day nor the last one
        await produce(kafka_broker.bootstrap, topic, late)
        running = await asked_for(scan, topic, today + OVER_S, counted)
        assert running == await asked_for(scan, topic, today + OVER_S)
    finally:
        await scan.stop()
    assert (before, running) == (
        HorizonSpan(14 * DAY_S, 8 * DAY_S),
        HorizonSpan(7 * DAY_S, 8 * DAY_S),
    )


async def test_doctor_foresees_it_on_the_first_day(kafka_broker: RunningBroker) -> None:
    """Where exporters have no whole day to go by yet."""
    topic = f"scores-{uuid.uuid4().hex[:8]}"
    await create_topic(kafka_broker.bootstrap, topic, 1)
    records = judged_each_day(1, 20, 0.9)[1:] + refused(judged_each_day(1, REFUSED, 0.9)[15:])
    records.sort(key=lambda each: each.timestamp_ms or 0)
    await produce(kafka_broker.bootstrap, topic, records)
    flags = {"kafka.bootstrap_servers": kafka_broker.bootstrap, "kafka.topics.scores": topic}
    settings = load({}, None, flags)
    there = connection(settings)
    found = await judged_pace(settings, time.time, (there, ()), (there, topic))
    assert found is not None
    assert found.per_day < 25.0 < 100.0 < found.others_per_day
    assert found.span == HorizonSpan(28 * DAY_S, 8 * DAY_S)
