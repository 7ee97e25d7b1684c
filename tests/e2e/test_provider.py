"""A provider in bad weather, seen from a running scorer: every interaction ends, nothing stalls."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import Weather
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics

STATE = "rag_monitor_judge_state"


def made(count: int) -> list[Case]:
    rng = Random(11)
    return [case(f"p{i:03d}", rng, time.time() - 60, together=True) for i in range(count)]


def state(samples: Samples) -> str:
    """The state in force; there is exactly one."""
    found = [dict(labels)["state"] for (name, labels), v in samples.items() if name == STATE and v]
    (one,) = found
    return one


class Scene:
    """A scorer, and what becomes of what it is sent."""

    def __init__(self, scorer: MonitorProcess, broker: str, topics: Topics) -> None:
        self.scorer, self._broker, self._topics = scorer, broker, topics
        self.sent = 0

    async def send(self, cases: list[Case]) -> None:
        await produce(self._broker, self._topics["kafka__topics__interactions"], as_logged(cases))
        self.sent += len(cases)

    async def page(self) -> Samples:
        """A scrape, in which consumed = outcomes + in flight."""
        samples = await self.scorer.metrics()
        in_flight = total(samples, "rag_monitor_interactions_in_flight")
        consumed = total(samples, "rag_monitor_interactions_consumed_total")
        assert consumed == sum(outcomes(samples).values()) + in_flight
        return samples

    async def until_state(self, wanted: str) -> Samples:
        async def there() -> Samples | None:
            samples = await self.page()
            return samples if state(samples) == wanted else None

        samples: Samples = await until(there, f"state {wanted}", every_s=0.05)
        return samples

    async def ended(self) -> Samples:
        """The page when all that was sent has ended."""

        async def all_done() -> Samples | None:
            samples = await self.page()
            return samples if sum(outcomes(samples).values()) == self.sent else None

        samples: Samples = await until(all_done, f"{self.sent} ended")
        return samples

    async def records(self) -> int:
        return len(await read_all(self._broker, self._topics["kafka__topics__scores"]))


async def test_away_then_a_storm_then_slow_answers(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Judging pauses, says so, and recovers by itself; one record for each interaction."""
    cases, weather = made(120), Weather()
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=2)
    async with JudgeServer(all_labels(cases), gate=weather) as judge:
        port = judge.port
        settings = asking(judge, judge__attempt_timeout_s=5, **topics)
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
    scene = Scene(scorer, broker, topics)
    try:
        await scorer.ready()
        await scene.send(cases[:80])  # nobody is there
        away = await scene.until_state("circuit_open")
        status, waits = await scorer.get("/readyz")
        assert (status, "the provider does not answer" in waits) == (503, True)
        assert (await scorer.get("/healthz"))[0] == 200
        assert outcomes(away).get("judge_failed", 0) < 40, "the backlog waits"
        refusal = 429, {"error": {"code": "rate_limit_exceeded"}}, {"Retry-After": "0.5"}
        weather.refusal = refusal
        async with JudgeServer(all_labels(cases), port=port, gate=weather):
            await scene.until_state("waiting")
            weather.refusal, weather.latency_s = None, 1.0
            await scene.send(cases[80:])
            samples = await scene.ended()
            await scene.until_state("judging")
        await scorer.ready()
    finally:
        await scorer.end()
    assert outcomes(samples)["scored"] >= 80
    assert set(outcomes(samples)) <= {"scored", "judge_failed"}
    assert await scene.records() == len(cases)


async def test_a_key_that_is_refused_and_mended(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """At most 20 requests and a probe an interval; offsets go on; once mended it goes on alone."""
    cases, weather = made(160), Weather()
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=2)
    weather.refusal = 401, {"error": {"code": "invalid_api_key", "message": "no"}}, {}
    async with JudgeServer(all_labels(cases), gate=weather) as judge:
        settings = asking(judge, limits__stop_probe="5s", **topics)
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
        scene = Scene(scorer, broker, topics)
        try:
            await scorer.ready()
            await scene.send(cases[:100])
            await scene.ended()
            stopped = await scene.until_state("stopped")
            requests, since = len(weather.requests), time.monotonic() - weather.requests[0]
            weather.refusal = None
            rest = iter(cases[100:])

            async def heals() -> bool:
                await scene.send([next(rest)])
                return state(await scene.ended()) == "judging"

            await until(heals, "a key that works again", every_s=0.5)
            await scene.send(list(rest))
            samples = await scene.ended()
        finally:
            await scorer.end()
    assert outcomes(stopped) == {"judge_failed": 100}
    assert total(stopped, "rag_monitor_interactions_total", reason="auth") == 100
    assert requests <= 20 + since / 5
    assert outcomes(samples)["scored"] >= 20
    assert await scene.records() == scene.sent
    told = [event for event in scorer.events() if event.get("event") == "judge_state"]
    assert [event["state"] for event in told] == ["stopped", "judging"]
