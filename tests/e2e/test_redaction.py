"""Planted secrets: judge server, topics, log and gauges hold their tokens only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aiohttp import web

from monitor.config import Settings
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.records import Outcome, read_score_record
from tests.servers.judge_labels import Labels
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics

SECRETS = {
    "email": "jane.roe@example.org",
    "phone": "+49 30 901820",
    "card": "4012 8888 8888 1881",
    "iban": "GB29 NWBK 6016 1331 9268 19",
    "key": "hunter2hunter2",
}
#: As they might be logged otherwise.
OTHERWISE = ("4012888888881881", "GB29NWBK60161331926819", "030/901820", "jane.roe\\u0040")
QUESTION = f"Who is {SECRETS['email']}?"
RESPONSE = f"Call 030/901820 or write to {SECRETS['email']}."
PASSAGES = [
    f"Jane: {SECRETS['phone']}, {SECRETS['email']}",
    f"card {SECRETS['card']}, account {SECRETS['iban']}, password: {SECRETS['key']}",
]
CLAIM = "Jane can be called."
TOKENS = Redactor(RedactionRules(regions=Settings().redaction.regions))


class Hearing(JudgeServer):
    """A judge that keeps what it was sent."""

    def __init__(self, labels: Labels) -> None:
        super().__init__(labels)
        self.heard: list[str] = []

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        self.heard.append(await http.text())
        return await super()._complete(http)


def logged(name: str, **changed: Any) -> bytes:
    found: dict[str, Any] = {
        "interaction_id": name,
        "user_input": QUESTION,
        "response": RESPONSE,
        "retrieved_contexts": PASSAGES,
        "attributes": {"user": SECRETS["email"], "card": 4012888888881881},
        **changed,
    }
    return json.dumps({key: value for key, value in found.items() if value is not None}).encode()


def labels() -> Labels:
    """What the judge says of the texts as it gets them."""
    response = TOKENS.text(RESPONSE)
    return Labels(
        claims={(TOKENS.text(QUESTION), response): (CLAIM,)},
        supported=frozenset([(CLAIM, TOKENS.text(PASSAGES[0])), (CLAIM, response)]),
    )


def no_secret(text: str) -> None:
    for secret in (*SECRETS.values(), *OTHERWISE):
        assert secret not in text


async def test_no_planted_secret_gets_anywhere(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """One is scored, one is no interaction, one hides its response: tokens are all that is seen."""
    topics = await make_topics(partitions=1)
    records = [
        Record(logged("good")),
        Record(
            key=SECRETS["email"].encode(),
            value=logged("bad", response=None),
            headers=(("user", SECRETS["phone"].encode()),),
        ),
        Record(logged("hidden", response="__REDACTED__")),
    ]
    async with Hearing(labels()) as judge:
        scorer = MonitorProcess(
            "score", kafka_broker.bootstrap, tmp_path, "scorer", **asking(judge, **topics)
        )
        await scorer.ready()
        await produce(kafka_broker.bootstrap, topics["kafka__topics__interactions"], records)

        async def done() -> bool:
            return sum(outcomes(await scorer.metrics()).values()) == len(records)

        await until(done, "three outcomes")
        samples = await scorer.metrics()
        _, page = await scorer.get("/metrics")
        await scorer.end()
        assert outcomes(samples) == {"scored": 1, "dead_lettered": 1, "unscorable": 1}
        for kind in SECRETS:
            assert total(samples, "rag_monitor_redactions_total", kind=kind) >= 2
        assert len(judge.heard) == len(judge.log) >= 2
        no_secret("".join(judge.heard))
        assert TOKENS.text(PASSAGES[1]) in "".join(judge.heard)
    no_secret(page)
    no_secret(scorer.log.read_text(encoding="utf-8"))
    await _topics_hold_none(kafka_broker, topics)


async def _topics_hold_none(kafka_broker: RunningBroker, topics: Topics) -> None:
    scores = await read_all(kafka_broker.bootstrap, topics["kafka__topics__scores"])
    letters = await read_all(kafka_broker.bootstrap, topics["kafka__topics__dead_letters"])
    for record in (*scores, *letters):
        no_secret(repr((record.key, record.value, record.headers)))
    found = {one.interaction_id: one for one in map(read_score_record, map(_value, scores))}
    assert found["good"].scores["faithfulness"] == 1.0
    assert found["good"].attributes["user"] == TOKENS.text(SECRETS["email"])
    assert found["hidden"].outcome is Outcome.UNSCORABLE
    assert found["hidden"].reason == "redacted"
    (letter,) = letters
    assert letter.key == TOKENS.text(SECRETS["email"]).encode()
    assert json.loads(_value(letter))["user_input"] == TOKENS.text(QUESTION)


def _value(record: Record) -> bytes:
    assert record.value is not None
    return record.value
