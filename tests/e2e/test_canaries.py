"""Canaries over Kafka and HTTP: a judge that guesses is found, told, and trusted again."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from monitor.records import read_score_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.servers.stub_judge_server import StubJudgeServer
from tests.stages.budget import PRICES
from tests.stages.canaries import TEXTS
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, total, until
from tests.stages.stub_judges import HABITS, Erring, Stub
from tests.stages.topics import MakeTopics

#: Judgements that may be under way while a canary is asked.
AT_ONCE = 4


class Stage:
    """A scorer with canaries as they are by default, and what it says."""

    def __init__(self, broker: str, topics: dict[str, str], scorer: MonitorProcess) -> None:
        self.broker, self.topics, self.scorer = broker, topics, scorer
        self.sent = 0

    async def send(self, number: int) -> Samples:
        """So many interactions, until all have ended; in every scrape the sum holds."""
        names = [f"i{self.sent + i:04d}" for i in range(number)]
        stamp = int(time.time() * 1_000)
        values = [{**TEXTS, "interaction_id": name, "timestamp": stamp} for name in names]
        self.sent += number
        await produce(
            self.broker,
            self.topics["kafka__topics__interactions"],
            [Record(json.dumps(value).encode()) for value in values],
        )

        async def ended() -> Samples | None:
            samples = await self.scorer.metrics()
            consumed = total(samples, "rag_monitor_interactions_consumed_total")
            in_flight = total(samples, "rag_monitor_interactions_in_flight")
            assert consumed == sum(outcomes(samples).values()) + in_flight
            return samples if sum(outcomes(samples).values()) == self.sent else None

        samples: Samples = await until(ended, f"{self.sent} ended")
        return samples

    async def says(self, guesses: float) -> None:
        """Wait until the gauge says whether the judge guesses."""

        async def so() -> bool:
            found = total(await self.scorer.metrics(), "rag_monitor_judge_not_judging")
            return found == guesses

        await until(so, f"not judging is {guesses}")


@pytest.mark.parametrize("habit", ["always n", "always y", "alternates by verdict"])
async def test_a_judge_that_guesses_is_found_and_trusted_again(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, habit: str
) -> None:
    """Within 50 judgements: not ready, and from there on not asked; a better one is found, too."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=2)
    async with StubJudgeServer(Stub(HABITS[habit])) as server:
        settings = asking(
            server, judge__concurrency=AT_ONCE, judge__canaries=50, **PRICES, **topics
        )
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
        try:
            await scorer.ready()
            stage = Stage(broker, topics, scorer)
            first = await stage.send(100)
            await stage.says(1)
            assert outcomes(first)["scored"] <= 50 + AT_ONCE
            status, text = await scorer.get("/readyz")
            assert status == 503
            assert "answers, but does not judge: " in text
            later = await stage.send(20)
            reason = {"outcome": "judge_failed", "reason": "not_judging"}
            marked = total(later, "rag_monitor_interactions_total", **reason)
            assert marked >= 120 - 50 - AT_ONCE
            server.model = Erring(0.0, seed=1)
            await stage.send(60)
            await stage.says(0)
            await scorer.ready()
            before = outcomes(await scorer.metrics())["scored"]
            assert outcomes(await stage.send(20))["scored"] == before + 20
            assert total(await scorer.metrics(), "rag_monitor_judge_canary_usd_total") > 0
        finally:
            await scorer.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    assert sorted(read_score_record(record.value or b"").interaction_id for record in read) == [
        f"i{n:04d}" for n in range(200)
    ]


async def test_another_model_judges_where_the_first_one_guesses(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Nothing fails, the scorer stays ready, and records say whose verdicts they hold."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=2)
    others = {"other": Erring(0.0, seed=1)}
    async with StubJudgeServer(Stub(HABITS["always n"]), others) as server:
        settings = asking(
            server,
            judge__concurrency=AT_ONCE,
            judge__canaries=50,
            judge__fallback_models='["openai/other"]',
            **topics,
        )
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
        try:
            await scorer.ready()
            stage = Stage(broker, topics, scorer)
            await stage.send(100)
            samples = await stage.send(20)
            assert (await scorer.get("/readyz"))[0] == 200
        finally:
            await scorer.end()
    assert outcomes(samples) == {"scored": 120}
    for model, guesses in (("openai/judge", 1), ("openai/other", 0)):
        assert total(samples, "rag_monitor_judge_not_judging", model=model) == guesses
    read = await read_all(broker, topics["kafka__topics__scores"])
    records = [read_score_record(record.value or b"") for record in read]
    by_other = [each for each in records if each.judge.model == "other"]
    assert len(by_other) >= 120 - 50 - AT_ONCE
    assert {each.scores["faithfulness"] for each in by_other} == {1.0}


async def test_a_good_judge_keeps_its_traffic(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """All is scored, with 5 % of the verdicts wrong; what canaries say and cost is shown."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    async with StubJudgeServer(model := Erring(0.05, seed=2)) as server:
        settings = asking(server, judge__canaries=50, **topics)
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
        try:
            await scorer.ready()
            samples = await Stage(broker, topics, scorer).send(300)
            assert (await scorer.get("/readyz"))[0] == 200
        finally:
            await scorer.end()
    assert outcomes(samples) == {"scored": 300}
    assert total(samples, "rag_monitor_judge_canary_accuracy", kind="passage") > 0.8
    asked = [m for m in model.asked if str(TEXTS["user_input"]) not in json.dumps(m)]
    canaries = total(samples, "rag_monitor_judge_canaries_total")
    assert 8 <= canaries <= 60  # six without errors; 13 to 19 were seen with these
    calls = total(samples, "rag_monitor_judge_canary_calls_total")
    assert len(asked) >= calls
    assert canaries <= calls <= canaries + 1  # one may have been asked about at the scrape
