"""Two topics, rules, and applications with a judge, a rate, a segment and metrics of their own."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from random import Random
from typing import Any

from monitor.metrics.catalogue import CATALOGUE
from monitor.records import ScoreRecord, read_score_record
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, Samples, outcomes, total, until
from tests.stages.topics import MakeTopics

TENANTS = [{"attribute": "tenant", "in": ["acme", "globex"]}]
NO_TESTS = [
    {"attribute": "debug", "exists": True},
    {"attribute": "model.name", "regex": "^test-"},
]


def entries(judge: JudgeServer) -> list[dict[str, Any]]:
    """Settings by application: one asks the server, one is never judged, one by halves."""
    llm: dict[str, Any] = {"kind": "llm", "name": "asked", "model": "openai/judge"}
    llm["api_base"] = judge.url
    llm["canaries"] = 0  # it knows the labels of its traffic, and nothing else
    return [
        {"application": "labelled", "judge": llm},
        {"application": "quiet-*", "sampling": {"rate": 0.0}},
        {"application": "half", "sampling": {"rate": 0.5}, "segment": "region"},
        {"application": ["bot", "cat"], "metrics": ["faithfulness"], "segment": None},
    ]


def plain(name: str, application: str, **attributes: Any) -> Record:
    """The record of an interaction that the offline judge can score."""
    said = {"tenant": "acme", "region": "eu", **attributes}
    kept = {key: value for key, value in said.items() if value is not None}
    return Record(encoded(interaction(name, application=application, attributes=kept)))


def sent() -> list[Record]:
    """What the offline judge gets: 10 bots, 40 by halves; 6 by rate 0, 9 by rules are left out."""
    return [
        *(plain(f"bot-{n}", "bot") for n in range(10)),
        *(plain(f"half-{n}", "half") for n in range(40)),
        *(plain(f"quiet-{n}", f"quiet-{n % 2}") for n in range(6)),
        *(plain(f"other-{n}", "bot", tenant="initech") for n in range(2)),
        *(plain(f"none-{n}", "bot", tenant=None) for n in range(2)),
        *(plain(f"debug-{n}", "bot", debug=False) for n in range(2)),
        *(plain(f"test-{n}", "bot", model={"name": "test-4"}) for n in range(3)),
    ]


def below_half(name: str) -> bool:
    """Whether the hash of an id lies below a half."""
    return hashlib.blake2b(name.encode()).digest()[0] < 128


async def test_every_application_is_treated_as_it_is_configured(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """From two topics into outcomes, score records, gauges and lag."""
    rng = Random(7)
    cases = [case(f"l{i:02d}", rng, time.time() - 60) for i in range(20)]
    topics = await make_topics(partitions=2)
    first = topics.pop("kafka__topics__interactions")
    second = f"{first}-more"
    await create_topic(kafka_broker.bootstrap, second, 1)
    (tmp_path / "key").write_text("none\n", encoding="utf-8")
    async with JudgeServer(all_labels(cases)) as judge:
        monitor = MonitorProcess(
            "run",
            kafka_broker.bootstrap,
            tmp_path,
            "monitor",
            kafka__topics__interactions=f"{first},{second}",
            judge__name="screen",
            export__segment="tenant",
            ingest__include=json.dumps(TENANTS),
            ingest__exclude=json.dumps(NO_TESTS),
            applications=json.dumps(entries(judge)),
            applications__0__judge__api_key_file=tmp_path / "key",
            **topics,
        )
        try:
            await monitor.ready()
            await produce(kafka_broker.bootstrap, first, as_logged(cases[:10]))
            await produce(kafka_broker.bootstrap, second, [*as_logged(cases[10:]), *sent()])
            samples = await until(lambda: _finished(monitor, 20 + len(sent())), "all of it")
        finally:
            await monitor.end()
        assert judge.counts()["requests"] >= 20
    halves = [f"half-{n}" for n in range(40) if below_half(f"half-{n}")]
    _check_outcomes(samples, left_out=40 - len(halves))
    _check_lag(samples, {first: 10, second: 10 + len(sent())})
    _check_gauges(samples)
    read = await read_all(kafka_broker.bootstrap, topics["kafka__topics__scores"])
    records = [read_score_record(record.value or b"") for record in read]
    _check_records(records, cases, set(halves))


async def _finished(monitor: MonitorProcess, count: int) -> Samples | None:
    samples = await monitor.metrics()
    ended = outcomes(samples)
    picks = sum(ended.values()) - ended.get("not_sampled", 0)
    read = total(samples, "rag_monitor_score_records_total", result="read")
    lag = [v for (name, _), v in samples.items() if name == "rag_monitor_group_lag_records"]
    # The lag is looked at now and then: it must be that of after all was sent.
    seen = total(samples, "rag_monitor_input_end_offset") == count
    done = sum(ended.values()) == count and read == picks and seen
    return samples if done and len(lag) == 3 and not any(lag) else None


def _check_outcomes(samples: Samples, left_out: int) -> None:
    name = "rag_monitor_interactions_total"
    assert total(samples, name, outcome="not_sampled", reason="filtered") == 9 + 6
    assert total(samples, name, outcome="not_sampled", reason="hash") == left_out
    assert outcomes(samples).keys() <= {"scored", "unscorable", "not_sampled"}


def _check_lag(samples: Samples, ends: dict[str, int]) -> None:
    for topic, end in ends.items():
        assert total(samples, "rag_monitor_input_end_offset", topic=topic) == end


def _check_gauges(samples: Samples) -> None:
    """Each application under its own judge, and with its own metrics."""
    found: dict[str, set[tuple[str, str]]] = {}
    for name, labels in samples:
        if name == "rag_score_samples":
            said = dict(labels)
            judge = said["judge"].partition("@")[0]
            found.setdefault(said["application"], set()).add((judge, said["metric"]))
    assert found == {
        "labelled": {("asked", metric) for metric in CATALOGUE},
        "half": {("screen", metric) for metric in CATALOGUE},
        "bot": {("screen", "faithfulness")},
    }


def _check_records(records: list[ScoreRecord], cases: list[Case], halves: set[str]) -> None:
    by_application: dict[str, list[ScoreRecord]] = {}
    for record in records:
        by_application.setdefault(record.application, []).append(record)
    assert {name: len(found) for name, found in by_application.items()} == {
        "labelled": 20,
        "half": len(halves),
        "bot": 10,
    }
    expected = {one.id: one.scores()["faithfulness"] for one in cases}
    for record in by_application["labelled"]:
        assert (record.judge.name, record.sampling.q) == ("asked", 1.0)
        assert record.segment == record.attributes["tenant"]
        value = record.scores["faithfulness"]
        assert (value if isinstance(value, float) else None) == expected[record.interaction_id]
    for record in by_application["half"]:
        assert (record.judge.name, record.sampling.q, record.segment) == ("screen", 0.5, "eu")
    assert {record.interaction_id for record in by_application["half"]} == halves
    for record in by_application["bot"]:
        assert (record.judge.name, record.sampling.q, record.segment) == ("screen", 1.0, "")
        assert record.scores == {"faithfulness": 1.0}
