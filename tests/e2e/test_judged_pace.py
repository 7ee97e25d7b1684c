"""How many ``doctor`` takes to be judged a day, by real topics with odd histories."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from monitor.app import connections
from monitor.config import Settings, load
from monitor.doctor.applications import LEAST_KNOWN_S
from monitor.doctor.judging import JudgedPace, judged_pace
from monitor.exporter.period import of_times
from monitor.kafka.connection import Connection
from monitor.stats.period import DAY_S, HorizonSpan, horizon_span
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce
from tests.stages.judged_days import judged_each_day

HOUR_S = 3_600.0
KEPT = {"retention.ms": str(60 * DAY_S * 1000)}


class Topics(NamedTuple):
    """Of one broker, in settings that watch faithfulness alone."""

    settings: Settings
    connection: Connection
    interactions: tuple[str, ...]
    scores: str

    async def pace(self, now: float) -> JudgedPace:
        """What is found at this time."""
        inputs, output = (self.connection, self.interactions), (self.connection, self.scores)
        found = await judged_pace(self.settings, lambda: now, inputs, output)
        assert found is not None
        return found


async def topics(
    broker: RunningBroker, scores: Sequence[Record], *sent: Sequence[Record]
) -> Topics:
    """A topic of scores, and topics of interactions, with these records."""
    run = uuid.uuid4().hex[:8]
    there = {f"scores-{run}": scores, **{f"sent-{n}-{run}": one for n, one in enumerate(sent)}}
    for name, records in there.items():
        await create_topic(broker.bootstrap, name, 2, KEPT)
        await produce(broker.bootstrap, name, records)
    named, *interactions = there
    flags = {"kafka.bootstrap_servers": broker.bootstrap, "kafka.topics.scores": named}
    settings = load({}, flags={**flags, "drift.metrics": "faithfulness"})
    return Topics(settings, connections.connection(settings), tuple(interactions), named)


def scored_at(times: Iterable[float], **changes: Any) -> list[Record]:
    """Score records of these times, with these fields differently."""
    fields = json.loads(judged_each_day(1, 1, 0.9)[0].value or b"") | changes
    found = []
    for at in times:
        said = {"event_time": datetime.fromtimestamp(at, UTC).isoformat()}
        found.append(Record(json.dumps(fields | said).encode(), timestamp_ms=int(1_000 * at)))
    return found


def evenly(start: float, end: float, number: int) -> list[float]:
    """So many times between these two."""
    return [start + n * (end - start) / number for n in range(number)]


def midnight() -> float:
    """The last one, in UTC."""
    return float(time.time() // DAY_S * DAY_S)


async def test_clocks_that_are_ahead_are_no_silence(kafka_broker: RunningBroker) -> None:
    """All records are of a time that is still to come: so many in the least that is known."""
    now = time.time()
    ahead = scored_at(evenly(now - 1_000.0, now - 500.0, 40))
    here = await topics(kafka_broker, ahead)
    found = await here.pace(now - 2_000.0)
    assert found.per_day == pytest.approx(40 / LEAST_KNOWN_S * DAY_S)
    assert found.first_s == LEAST_KNOWN_S
    assert sum(one.per_day for one in found.seen.found) > 0.0


async def test_an_empty_last_day_is_looked_past(kafka_broker: RunningBroker) -> None:
    """A weekend is over, and more are there of the days before it than are read one by one."""
    today = midnight()
    until = today - 2 * DAY_S
    here = await topics(kafka_broker, scored_at(evenly(until - 2 * DAY_S, until, 24_000)))
    found = await here.pace(today + 1.0)
    assert found.per_day == pytest.approx(24_000 / 4, rel=0.01)
    (one,) = found.seen.found
    assert one.per_day == pytest.approx(24_000 / 4, rel=0.01)


async def test_a_friday_alone_is_not_nothing(kafka_broker: RunningBroker) -> None:
    """All that there is was scored on the day before a weekend: it counts until there is more."""
    today = midnight()
    until = today - 2 * DAY_S
    here = await topics(kafka_broker, scored_at(evenly(until - DAY_S, until, 450)))
    found = await here.pace(today + 1.0)
    assert found.per_day == pytest.approx(450 / 3, rel=0.01)
    assert found.span == HorizonSpan(4 * DAY_S, 8 * DAY_S)
    (one,) = found.seen.found
    assert one.per_day == pytest.approx(450 / 3, rel=0.01)


@pytest.mark.parametrize("seen_s", [2 * HOUR_S, 600.0])
async def test_a_first_evening_is_no_day(kafka_broker: RunningBroker, seen_s: float) -> None:
    """180 an hour before the first midnight are 4,320 a day after it, and ask for one day."""
    until = midnight()
    times = evenly(until - seen_s, until, int(seen_s / 20))
    here = await topics(kafka_broker, scored_at(times))
    found = await here.pace(until + 60.0)
    assert found.span == horizon_span(4_320) == HorizonSpan(DAY_S, 8 * DAY_S)
    assert of_times(times, until + 60.0) == found.span


async def test_money_that_was_spent_in_an_evening_was_for_a_day(
    kafka_broker: RunningBroker,
) -> None:
    """300 in six minutes, and the rest of two hours refused, are 300 a day."""
    until = midnight()
    began = until - 2 * HOUR_S
    gone = {"outcome": "over_budget", "reason": "usd_per_day", "scores": {}}
    times, refused = evenly(began, began + 360.0, 300), evenly(began + 360.0, until, 3_000)
    here = await topics(kafka_broker, scored_at(times) + scored_at(refused, **gone))
    found = await here.pace(until + 60.0)
    assert found.span == horizon_span(300) == HorizonSpan(7 * DAY_S, 8 * DAY_S)
    assert of_times(times, until + 60.0, refused) == found.span
    assert of_times(times, until + 60.0) != found.span
    assert found.per_day == pytest.approx(300, rel=0.01)
    # What is refused goes on all day.
    assert found.others_per_day == pytest.approx(12 * 3_300 - 300, rel=0.02)
    (one,) = found.seen.found
    assert one.per_day == pytest.approx(300, rel=0.01)


@pytest.mark.parametrize(("zone", "days"), [("UTC", 2), ("America/Los_Angeles", 1)])
async def test_money_is_for_a_day_of_its_zone(
    kafka_broker: RunningBroker, zone: str, days: int
) -> None:
    """Refused before and after midnight (UTC): what was judged was for two days, or for one."""
    until = midnight()
    began, now = until - 2 * HOUR_S, until + 60.0
    gone = {"outcome": "over_budget", "reason": "usd_per_day", "scores": {}}
    times, refused = evenly(began, began + 360.0, 300), evenly(began + 360.0, now, 3_000)
    here = await topics(kafka_broker, scored_at(times) + scored_at(refused, **gone))
    budget = here.settings.budget.model_copy(update={"timezone": zone})
    there = here._replace(settings=here.settings.model_copy(update={"budget": budget}))
    (one,) = (await there.pace(now)).seen.found
    assert one.per_day == pytest.approx(300 / days, rel=0.01)


async def test_the_largest_topic_says_how_much_is_known(kafka_broker: RunningBroker) -> None:
    """Three whole days of one topic, and an hour of another: no pace by the first hour of all."""
    now = time.time()
    days = [Record(b"{}", timestamp_ms=int(1_000 * at)) for at in _whole_days(300)]
    hour = [Record(b"{}", timestamp_ms=int(1_000 * at)) for at in evenly(now - HOUR_S, now, 4)]
    here = await topics(kafka_broker, [], days, hour)
    found = await here.pace(now)
    assert found.is_expected
    assert found.first_s is None
    assert found.sent_per_day == pytest.approx(300 + 96, rel=0.1)
    other = await topics(kafka_broker, [], hour)
    alone = await other.pace(now)
    assert alone.first_s == pytest.approx(HOUR_S, rel=0.05)
    assert alone.sent_per_day == pytest.approx(96, rel=0.05)


async def test_only_values_of_what_is_watched_are_judged(kafka_broker: RunningBroker) -> None:
    """Of three whole days a quarter has faithfulness; the rest has another metric."""
    times = _whole_days(400)
    other = {"noise_sensitivity_relevant": 0.5, "faithfulness": {"unscored": "no_claims"}}
    without = scored_at((at for n, at in enumerate(times) if n % 4), scores=other)
    there = [*scored_at(times[::4]), *without]
    here = await topics(kafka_broker, sorted(there, key=lambda one: one.timestamp_ms or 0))
    found = await here.pace(time.time())
    assert found.per_day == pytest.approx(100, rel=0.02)
    assert found.others_per_day == pytest.approx(300, rel=0.02)


def _whole_days(a_day: int) -> list[float]:
    today = midnight()
    return evenly(today - 3 * DAY_S, today, 3 * a_day)
