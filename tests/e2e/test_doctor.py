"""``rag-monitor doctor`` against real brokers: what it finds, and that it leaves no trace."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiokafka.errors import GroupLoadInProgressError

from monitor.app import connections
from monitor.config import load
from monitor.doctor.judging import judged_pace
from monitor.doctor.llm import TINY
from monitor.records.control import BaselineRecord, MetricBaseline
from monitor.stats.period import DAY_S
from tests.e2e.snapshot import snapshot
from tests.servers.judge_server import JudgeServer, Labels
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, RunningBroker, missing_kafka
from tests.servers.kafka_security import PASSWORD, STRANGER, SecuredBroker
from tests.servers.kafka_topics import Record, create_topic, produce
from tests.servers.ports import free_ports
from tests.stages.command import environ_of, rag_monitor
from tests.stages.daily_exporter import PAIR
from tests.stages.judged_days import judged_each_day
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.stub_judges import known_pairs
from tests.stages.topics import Topics
from tests.tools import requires_tool

COMPACTED = {"cleanup.policy": "compact"}
LABELS = (
    Labels(
        claims={(TINY.user_input, TINY.response): (TINY.response,)},
        supported=frozenset({(TINY.response, TINY.response)}),
    )
    | known_pairs()
)


class Said(NamedTuple):
    """How it ended, its lines as JSON objects, and all that it wrote."""

    code: int
    lines: list[dict[str, str]]
    text: str

    def of(self, check: str, target: str | None = None) -> list[dict[str, str]]:
        """The lines of one check."""
        return [x for x in self.lines if x["check"] == check and target in (None, x["target"])]

    def status(self, check: str, target: str | None = None) -> set[str]:
        """The statuses of one check; empty when nothing was said."""
        return {line["status"] for line in self.of(check, target)}

    @property
    def failed(self) -> list[dict[str, str]]:
        """The FAIL lines."""
        return [line for line in self.lines if line["status"] == "FAIL"]


async def doctor(bootstrap: str, *arguments: str, **settings: Any) -> Said:
    """Run ``doctor --json`` with these settings."""
    environ = environ_of(bootstrap, {"http__port": 0, **settings})
    ended = await asyncio.to_thread(rag_monitor, "doctor", "--json", *arguments, environ=environ)
    assert ended.stderr == ""
    return Said(ended.returncode, json.loads(ended.stdout), ended.stdout)


async def whole(broker: RunningBroker, **differently: dict[str, str]) -> Topics:
    """All five topics as they should be, but for these settings of them; a group of its own."""
    run = uuid.uuid4().hex[:8]
    configs = {
        "interactions": {},
        "scores": {"retention.ms": "-1"},
        "dead_letters": {},
        "control": COMPACTED,
        "alarms": COMPACTED,
    } | differently
    for key, config in configs.items():
        partitions = 3 if key in ("interactions", "scores") else 1
        await create_topic(broker.bootstrap, f"{key}-{run}", partitions, config)
    settings = {f"kafka__topics__{key}": f"{key}-{run}" for key in configs}
    return {**settings, "kafka__group_id": f"group-{run}"}


def traffic(count: int) -> Iterable[Record]:
    """Good interactions with their id as key."""
    for n in range(count):
        value = interaction(f"i-{n:05d}", timestamp=int(time.time() * 1000))
        yield Record(encoded(value), value["interaction_id"].encode())


def own_broker(directory: Path, **properties: str) -> KafkaBroker:
    """A broker that a test may freeze, or that has settings of its own; not started."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    return KafkaBroker(directory, {key.replace("__", "."): v for key, v in properties.items()})


async def test_a_good_set_up_is_ok_throughout(kafka_broker: RunningBroker) -> None:
    """Every check says OK, only the unknown price warns; exit 0; 1,000 of 1,500 records read."""
    topics = await whole(kafka_broker)
    name = topics["kafka__topics__interactions"]
    await produce(kafka_broker.bootstrap, name, traffic(1_500))
    async with JudgeServer(LABELS) as judge:
        said = await doctor(kafka_broker.bootstrap, **asking(judge, sampling__rate=0.1, **topics))
        asked = ["extract_claims", "verify_claims", "verify_claims"]
        assert [entry.task for entry in judge.log] == asked
    assert said.code == 0
    assert [line for line in said.lines if line["status"] != "OK"] == said.of("price")
    assert set(said.lines[0]) == {"check", "target", "status", "found", "mend"}
    assert said.of("records", name)[0]["found"].startswith("1000 read")
    assert said.of("decode", name)[0]["found"] == "100 % of 1000 decoded"
    assert "record_key" in said.of("sampling", name)[0]["mend"]
    checks = [line["check"] for line in said.lines]
    order = ("settings", "dns", "tcp", "cluster", "topic", "group", "records", "judge", "port")
    assert sorted(order, key=checks.index) == list(order)


async def test_each_fault_of_a_bad_set_up_has_its_line(kafka_broker: RunningBroker) -> None:
    """Topics that are missing or set wrongly, bad records, a taken port: each named, exit 1."""
    topics = await whole(
        kafka_broker,
        scores={"retention.ms": "3600000"},
        dead_letters={"max.message.bytes": "100000"},
        alarms={},
    )
    topics["kafka__topics__control"] = "nobody-made-this"
    name = topics["kafka__topics__interactions"]
    bad = [Record(b"{", b"t"), Record(encoded(interaction("x", response=7)), b"t")]
    same = [Record(encoded(interaction("same")), b"t") for _ in range(40)]
    await produce(kafka_broker.bootstrap, name, [*bad, *same])
    taken = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with taken:
        port = taken.sockets[0].getsockname()[1]
        said = await doctor(
            kafka_broker.bootstrap,
            **topics,
            sampling__rate=0.1,
            sampling__key="record_key",
            http__port=port,
        )
    assert said.code == 1
    assert {line["check"] for line in said.failed} == {"retention", "port", "topic"}
    assert said.status("topic", "nobody-made-this") == {"FAIL"}
    assert said.status("cleanup", topics["kafka__topics__alarms"]) == {"WARN"}
    assert said.status("size", topics["kafka__topics__dead_letters"]) == {"WARN"}
    assert [line["found"] for line in said.of("decode", name)] == [
        "95 % of 42 decoded",
        "1 × invalid json: the record; the first: not JSON (EOF while parsing an object at line 1 "
        "column 1), expected a JSON object in UTF-8",
        "1 × wrong value: response; the first: found a number, expected a valid string",
    ]
    assert said.status("sampling", name) == said.status("ids", name) == {"WARN"}
    assert all(line["mend"] for line in said.lines if line["status"] != "OK")


async def test_what_waits_for_money_is_weighed_against_its_retention(
    kafka_broker: RunningBroker,
) -> None:
    """Only where reading pauses without money; a day of retention is too short for that."""
    topics = await whole(kafka_broker, interactions={"retention.ms": "86400000"})
    name = topics["kafka__topics__interactions"]
    prices = {f"judge__price__{each}_usd_per_million": 1 for each in ("input", "output")}
    for when_behind, status in (("completeness", {"WARN"}), ("freshness", set())):
        async with JudgeServer(LABELS) as judge:
            settings = asking(judge, limits__usd_per_day=1, **prices, **topics)
            said = await doctor(kafka_broker.bootstrap, ingest__when_behind=when_behind, **settings)
        assert said.status("retention", name) == status


@pytest.fixture
async def untouched(tmp_path: Path) -> AsyncIterator[KafkaBroker]:
    """A new broker of one's own that creates topics on use; no group has ever been on it."""
    broker = own_broker(tmp_path, auto__create__topics__enable="true")
    await asyncio.to_thread(broker.start)
    yield broker
    await asyncio.to_thread(broker.stop)


async def test_a_new_cluster_is_as_new_afterwards(untouched: KafkaBroker) -> None:
    """Where topics are made on use none is made, not even the one in which groups commit."""
    broker = untouched.bootstrap
    before = await snapshot(broker)
    assert before.topics == {}
    said = await doctor(broker)
    assert [line["found"] for line in said.of("topic")][:3] == ["does not exist"] * 3
    assert said.status("topic") == {"FAIL"}
    assert await snapshot(broker) == before
    topics = await whole(untouched)
    await produce(broker, topics["kafka__topics__interactions"], traffic(50))
    before = await snapshot(broker)
    said = await doctor(broker, **topics)
    assert said.failed == []
    assert await snapshot(broker) == before


async def test_a_running_scorer_of_the_same_group_is_not_disturbed(
    untouched: KafkaBroker, tmp_path: Path
) -> None:
    """No rebalance, no commit, no record: the cluster and the scorer's counters stay the same."""
    topics, broker = await whole(untouched), untouched.bootstrap
    name, group = topics["kafka__topics__interactions"], topics["kafka__group_id"]
    await produce(broker, name, traffic(200))
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()

        async def committed() -> bool:
            with suppress(GroupLoadInProgressError):  # no group was ever on this broker
                found = await snapshot(broker)
                return sum(found.groups.get(group, {}).values()) == 200
            return False

        await until(committed, "200 committed", every_s=0.5)
        samples, before = await scorer.metrics(), await snapshot(broker)
        port = scorer.url.rpartition(":")[2]
        said = await doctor(broker, **topics, http__port=port)
        assert await snapshot(broker) == before
        after = await scorer.metrics()
        rebalances = "rag_monitor_rebalances_total"
        assert total(after, rebalances) == total(samples, rebalances) > 0
        assert outcomes(after) == outcomes(samples) == {"scored": 200}
    finally:
        await scorer.end()
    assert said.code == 0
    assert "1 member now" in said.of("group", group)[0]["found"]
    (line,) = said.of("port")
    assert line["status"] == "WARN"
    assert "running rag-monitor" in line["found"]


async def test_a_dead_broker_is_said_and_the_rest_is_looked_at() -> None:
    """Nobody listens: FAIL naming the address; judge and port are looked at all the same."""
    (port,) = free_ports(1)
    said = await doctor(f"127.0.0.1:{port}")
    assert said.code == 1
    assert [(line["check"], line["target"]) for line in said.failed] == [
        ("tcp", f"127.0.0.1:{port}")
    ]
    assert said.status("judge") == said.status("port") == {"OK"}
    assert said.status("topics") == {"WARN"}


async def test_one_dead_address_of_two_is_a_warning(kafka_broker: RunningBroker) -> None:
    """The other one serves: all is looked at, and only the dead one is warned of."""
    topics, (port,) = await whole(kafka_broker), free_ports(1)
    said = await doctor(f"127.0.0.1:{port}, {kafka_broker.bootstrap}", **topics)
    assert said.code == 0
    assert said.status("tcp", f"127.0.0.1:{port}") == {"WARN"}
    assert said.status("kafka", kafka_broker.bootstrap) == {"OK"}
    assert said.status("topic") == {"OK"}


async def test_a_frozen_broker_is_no_hang(tmp_path: Path) -> None:
    """Connections are taken and nothing is answered: FAIL lines within the patience."""
    broker = own_broker(tmp_path)
    await asyncio.to_thread(broker.start)
    try:
        broker.freeze()
        said = await doctor(broker.bootstrap)
    finally:
        broker.thaw()
        await asyncio.to_thread(broker.stop)
    assert said.code == 1
    assert said.failed


async def test_an_address_that_only_the_cluster_knows_is_the_classic_mistake(
    tmp_path: Path,
) -> None:
    """Bootstrap answers, but the name that the cluster hands out resolves nowhere: FAIL says so."""
    broker = own_broker(tmp_path, advertised__listeners="PLAINTEXT://kafka.invalid:9092")
    await asyncio.to_thread(broker.start)
    try:
        said = await doctor(broker.bootstrap)
    finally:
        await asyncio.to_thread(broker.stop)
    assert said.status("dns", broker.bootstrap) == {"OK"}
    (line,) = said.of("dns", "kafka.invalid:9092")
    assert line["status"] == "FAIL"
    assert "advertised.listeners" in line["mend"]


def stranger_at(secured: SecuredBroker, password: str = PASSWORD) -> dict[str, Any]:
    """A user who may do nothing but what he is granted."""
    return {
        "kafka__security_protocol": "SASL_SSL",
        "kafka__sasl_mechanism": "SCRAM-SHA-512",
        "kafka__sasl_username": STRANGER,
        "kafka__sasl_password": password,
        "kafka__ssl_cafile": secured.authority.cafile,
    }


async def test_each_lacking_right_is_named(secured_broker: SecuredBroker) -> None:
    """Hidden topic, no write, no read, no group: FAIL with the right to grant; no key, no write."""
    broker = secured_broker
    topics = await whole(broker.broker)
    named = {key.rpartition("__")[2]: name for key, name in topics.items()}
    await produce(broker.broker.bootstrap, named["interactions"], traffic(30))

    async def grant(*what: str, **on: str) -> None:
        await asyncio.to_thread(broker.grant, STRANGER, list(what), **on)

    await grant("READ", "DESCRIBE_CONFIGS", name=named["interactions"])
    await grant("READ", name=named["scores"])
    await grant("DESCRIBE", name=named["control"])
    await grant("READ", name=named["alarms"])
    before = await snapshot(broker.broker.bootstrap)
    address = broker.address("SASL_TLS")
    said = await doctor(address, **topics, **stranger_at(broker))
    assert said.code == 1
    assert said.status("rights", named["interactions"]) == {"OK"}
    assert said.of("rights", named["scores"])[0]["mend"] == "grant Write to this user"
    assert said.status("topic", named["dead_letters"]) == {"FAIL"}
    assert said.status("rights", named["control"]) == {"FAIL"}
    assert said.status("rights", named["alarms"]) == {"WARN"}
    assert said.of("settings", named["scores"])[0]["mend"] == "grant DescribeConfigs to this user"
    assert said.status("group", topics["kafka__group_id"]) == {"FAIL"}
    assert said.status("records", named["interactions"]) == {"OK"}
    assert PASSWORD not in said.text
    assert await snapshot(broker.broker.bootstrap) == before


async def test_all_rights_over_a_login_are_ok(secured_broker: SecuredBroker) -> None:
    """DNS, TCP, TLS and the login each have their line; with the rights nothing fails."""
    broker = secured_broker
    topics = await whole(broker.broker)
    await asyncio.to_thread(broker.grant, STRANGER, ["READ"], resource="GROUP")
    for key, name in topics.items():
        if "topics" in key:
            operations = ["READ", "WRITE", "DESCRIBE_CONFIGS"]
            await asyncio.to_thread(broker.grant, STRANGER, operations, name=name)
    address = broker.address("SASL_TLS")
    try:
        said = await doctor(address, **topics, **stranger_at(broker))
    finally:
        await asyncio.to_thread(broker.revoke, STRANGER, ["READ"], resource="GROUP")
    for step in ("dns", "tcp", "tls", "sasl"):
        assert said.status(step, address) == {"OK"}, step
    assert said.failed == []


async def test_a_wrong_password_fails_at_the_login_only(secured_broker: SecuredBroker) -> None:
    """The steps before it are fine; neither password is ever shown."""
    address = secured_broker.address("SASL_TLS")
    said = await doctor(address, **stranger_at(secured_broker, "wrong-and-secret"))
    assert said.code == 1
    assert [line["check"] for line in said.failed] == ["sasl"]
    assert "wrong-and-secret" not in said.text


async def test_several_topics_rules_and_judges_each_have_their_lines(
    kafka_broker: RunningBroker,
) -> None:
    """Two input topics, one of them empty; a rule that nothing passes; one more judge."""
    topics, empty = await whole(kafka_broker), f"empty-{uuid.uuid4().hex[:8]}"
    name = topics["kafka__topics__interactions"]
    await create_topic(kafka_broker.bootstrap, empty, 2)
    await produce(kafka_broker.bootstrap, name, traffic(30))
    topics["kafka__topics__interactions"] = f"{name},{empty}"
    async with JudgeServer(LABELS) as judge:
        said = await doctor(
            kafka_broker.bootstrap,
            **topics,
            ingest__include='[{"attribute": "tenant", "equals": "nobody"}]',
            applications=json.dumps(
                [{"application": "bot", "judge": {"kind": "llm", "model": "openai/gpt-4o-mini"}}]
            ),
            judge__api_base=judge.url,
            judge__api_key="none",
        )
    assert said.code == 0
    assert said.status("records", empty) == {"WARN"}
    assert said.status("filter", name) == {"WARN"}
    assert [line["target"] for line in said.of("judge")] == ["offline", "openai/gpt-4o-mini"]
    assert said.status("judge") == said.status("price") == {"OK"}


async def test_output_topics_on_another_cluster_are_looked_for_there(
    kafka_broker: RunningBroker, secured_broker: SecuredBroker
) -> None:
    """Each cluster is tried, and each topic is asked for on its own one only."""
    here, there = kafka_broker.bootstrap, secured_broker.broker.bootstrap
    topics = await whole(secured_broker.broker)
    name = f"in-{uuid.uuid4().hex[:8]}"
    await create_topic(here, name)
    await produce(here, name, traffic(30))
    topics["kafka__topics__interactions"] = name
    said = await doctor(here, **topics, kafka_output__bootstrap_servers=there)
    assert [line["target"] for line in said.of("cluster")] == ["kafka", "kafka_output"]
    assert said.status("dns", here) == said.status("dns", there) == {"OK"}
    assert said.failed == []
    assert len(said.of("topic")) == 5
    control = topics["kafka__topics__control"]
    assert said.status("control", control) == {"OK"}
    await produce(there, control, [Record(b"{", b"pause/bot/x"), Record(b"{}", b"plan/bot")])
    again = await doctor(here, **topics, kafka_output__bootstrap_servers=there)
    (line,) = again.of("control")
    assert (again.code, line["status"]) == (0, "WARN")
    start = "2 records are left out, the first at partition 0, offset 0: control record 'pause/bot"
    assert line["found"].startswith(start)


async def test_a_wrong_setting_is_the_first_line() -> None:
    """FAIL with the path of the key, and nothing else is looked at; exit 1."""
    said = await doctor("127.0.0.1:9", sampling__rate="2")
    assert said.code == 1
    (line,) = said.lines
    assert (line["check"], line["target"], line["status"]) == (
        *("settings", "sampling.rate"),
        "FAIL",
    )


async def test_a_certificate_that_cannot_be_read_is_a_wrong_setting(tmp_path: Path) -> None:
    """The file is named, and no broker is asked."""
    nowhere = tmp_path / "nowhere.pem"
    said = await doctor("127.0.0.1:9", kafka__security_protocol="SSL", kafka__ssl_cafile=nowhere)
    assert said.code == 1
    assert [line["check"] for line in said.failed] == ["settings"]
    assert str(nowhere) in said.text


async def test_little_traffic_is_told_what_it_can_expect(kafka_broker: RunningBroker) -> None:
    """Twelve judged a day for three days, kept for a month: a WARN each, and a better start."""
    topics = await whole(kafka_broker, scores={"retention.ms": str(30 * DAY_S * 1000)})
    scores, name = topics["kafka__topics__scores"], topics["kafka__topics__interactions"]
    objectives = json.dumps([{"metric": "faithfulness", "window": "1h", "bound": 0.9}])
    await produce(kafka_broker.bootstrap, name, traffic(4))
    sent = await doctor(kafka_broker.bootstrap, **topics, sampling__rate=0.5)
    (expected,) = sent.of("evidence", name)
    assert expected["found"].startswith(
        "about 48 a day would be judged of the traffic so far (by the first 60 min): "
    )
    # A rate for each: nobody knows how much of the traffic has which, whatever the others' is.
    for rate in (0, 1):
        unknown = await doctor(
            kafka_broker.bootstrap,
            **topics,
            sampling__rate=rate,
            applications=json.dumps([{"application": "bot", "sampling": {"rate": 0.5}}]),
        )
        (untold,) = unknown.of("evidence", scores)
        assert untold["status"] == "OK"
        assert untold["found"].startswith("not told yet: applications have a sampling.rate of th")
    await produce(kafka_broker.bootstrap, scores, judged_each_day(3, 12, 0.9))
    said = await doctor(kafka_broker.bootstrap, **topics, objectives=objectives)
    assert said.code == sent.code == 0
    (found,) = said.of("evidence", scores)
    assert found["status"] == "WARN"
    # A week after the first of them, which was three days before the last midnight.
    assert re.match(
        r"about 12 judged a day: first evidence in about (3|3\.\d|4) d, after 7 d", found["found"]
    )
    assert "learned from 84 judged; P is 28 d" in found["found"]
    assert "drift.metrics: [faithfulness]" in found["mend"]
    assert "\n  - {metric: faithfulness, window: 7d, bound: 0.9}" in found["mend"]
    assert said.status("retention", scores) == said.status("objective") == {"WARN"}
    assert "57 d needed" in said.of("retention", scores)[0]["found"]
    # What is judged tells it, also where the interactions cannot be seen.
    topics["kafka__topics__interactions"] = "nobody-made-this"
    unseen = await doctor(kafka_broker.bootstrap, **topics)
    assert unseen.of("evidence", scores)[0]["found"].startswith("about 12 judged a day: ")


async def test_the_first_hours_tell_a_pace(kafka_broker: RunningBroker) -> None:
    """Of what is sent and of what is judged: 180 an hour are no 180 a day, nor 180 in two days."""
    topics = await whole(kafka_broker)
    scores, name = topics["kafka__topics__scores"], topics["kafka__topics__interactions"]
    began = time.time() - 2 * 3_600.0
    times = [int(1_000 * (began + 20.0 * number)) for number in range(360)]
    sent = [replace(one, timestamp_ms=at) for one, at in zip(traffic(360), times, strict=True)]
    await produce(kafka_broker.bootstrap, name, sent)
    expected = await doctor(kafka_broker.bootstrap, **topics, sampling__rate=0.5)
    assert re.match(
        r"about 2,1\d\d a day would be judged of the traffic so far \(by the first (2|2\.1) h\): ",
        expected.of("evidence", name)[0]["found"],
    )
    scored = json.loads(judged_each_day(1, 1, 0.9)[0].value or b"")
    there = list[Record]()
    for number, at in enumerate(times):
        said = {"event_time": datetime.fromtimestamp(at / 1_000, UTC).isoformat()}
        said |= {"application": "cat"} if number % 3 == 0 else {}
        there.append(Record(json.dumps(scored | said).encode(), timestamp_ms=at))
    await produce(kafka_broker.bootstrap, scores, there)
    rates = json.dumps([{"application": "bot", "sampling": {"rate": 0.5}}])
    found = await doctor(kafka_broker.bootstrap, **topics, applications=rates)
    assert re.match(
        r"about 4,(2|3)\d\d judged a day \(by the first (2|2\.1) h\) of 2 applications and judges: "
        r"0 of 2 have a baseline by now \(rag-monitor baseline show\), 2 learn one, the last one "
        r"due in about (21\.9|22|22\.\d) h; P is 24 h",
        found.of("evidence", scores)[0]["found"],
    )


async def test_evidence_is_told_by_application(kafka_broker: RunningBroker) -> None:
    """Beside one that has a baseline is one that learns, and one that has too few for any."""
    topics = await whole(kafka_broker, scores={"retention.ms": str(60 * DAY_S * 1000)})
    scores, control = topics["kafka__topics__scores"], topics["kafka__topics__control"]
    there = [
        *judged_each_day(3, 500, 0.9),
        *judged_each_day(3, 30, 0.9, "cat"),
        *judged_each_day(3, 2, 0.9, "owl"),
    ]
    await produce(
        kafka_broker.bootstrap, scores, sorted(there, key=lambda one: one.timestamp_ms or 0)
    )
    held = BaselineRecord(
        application="bot",
        judge=PAIR[1],
        origin="learned",
        effective_from=datetime.now(UTC),
        metrics={"faithfulness": MetricBaseline(mean=0.9)},
    )
    await produce(kafka_broker.bootstrap, control, [Record(held.to_json(), held.key.encode())])
    said = await doctor(kafka_broker.bootstrap, **topics, drift__metrics="faithfulness")
    (found,) = said.of("evidence", scores)
    assert found["found"].startswith(
        "about 532 judged a day of 3 applications and judges: 1 of 3 have a baseline by now "
    )
    assert re.search(
        r"1 learn one, the last one due in about (3|3\.\d|4) d, 1 late or never, with fewer than "
        r"8 a day: owl \(2\); P is 4 d",
        found["found"],
    )
    assert found["found"].endswith("(cat, the smallest that gets one, with 30 a day)")


async def test_only_what_is_scored_is_judged(kafka_broker: RunningBroker) -> None:
    """Money for the first 300 of 25,000 a day: a part of all is read, of all hours alike."""
    topics = await whole(kafka_broker, scores={"retention.ms": str(60 * DAY_S * 1000)})
    scores, sent, now = topics["kafka__topics__scores"], 25_000, int(time.time())
    scored = json.loads(judged_each_day(1, 1, 0.9)[0].value or b"")
    there = list[Record]()
    for number in range(2 * sent):
        at = now - 2 * DAY_S + number * DAY_S / sent
        told = scored | {"event_time": datetime.fromtimestamp(at, UTC).isoformat()}
        if at % DAY_S >= 300 * DAY_S / sent:
            told |= {"outcome": "over_budget", "scores": {}}
        there.append(Record(json.dumps(told).encode(), timestamp_ms=int(at * 1000)))
    await produce(kafka_broker.bootstrap, scores, there)
    said = await doctor(kafka_broker.bootstrap, **topics, drift__metrics="faithfulness")
    (found,) = said.of("evidence", scores)
    share = re.match(
        r"about (\d+) judged a day \(24,\d\d\d more are no evidence: over budget, forced, failed, "
        r"unscorable, or without a value of drift.metrics; by \d\d % of the records of the last "
        r"day: ",
        found["found"],
    )
    assert share is not None, found
    assert int(share[1]) == pytest.approx(300, rel=0.4)


async def test_a_begin_is_the_first_record_that_there_is(kafka_broker: RunningBroker) -> None:
    """Where there are earlier ones than what is looked at, nobody knows when it began."""
    topics = await whole(kafka_broker, scores={"retention.ms": str(60 * DAY_S * 1000)})
    there = [one for one in judged_each_day(9, 20, 0.9) if one.timestamp_ms is not None]
    name, first = topics["kafka__topics__scores"], there[11].timestamp_ms or 0
    await produce(kafka_broker.bootstrap, name, there[11:])
    flags = {key.replace("__", "."): value for key, value in topics.items()}
    for period, is_known in (("28d", True), ("1d", False)):
        flags |= {"kafka.bootstrap_servers": kafka_broker.bootstrap, "drift.period": period}
        settings = load({}, flags=flags)
        output = connections.connection(settings)
        found = await judged_pace(settings, time.time, (output, ()), (output, name))
        assert found is not None
        (one,) = found.seen.found
        # Of what is looked back at whole and part of a day: one record more or less of a day.
        assert one.per_day == pytest.approx(20.0, abs=1.0)
        assert found.per_day == pytest.approx(20.0, abs=0.2)
        assert (one.scored_s is not None) == is_known
        if one.scored_s is not None:
            assert one.scored_s == pytest.approx(time.time() - first / 1000, abs=30.0)
    late = judged_each_day(3, 20, 0.9)[19:]  # the first of them is of the end of a day
    topics = await whole(kafka_broker, scores={"retention.ms": str(60 * DAY_S * 1000)})
    await produce(kafka_broker.bootstrap, topics["kafka__topics__scores"], late)
    begun = await judged_pace(
        settings, time.time, (output, ()), (output, topics["kafka__topics__scores"])
    )
    assert begun is not None
    assert begun.per_day == pytest.approx(20.0, abs=0.5)
