"""Problems with a cluster, each with its sentence: refusals end in 3, what may pass is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, RunningBroker, missing_kafka
from tests.servers.kafka_security import PASSWORD, STRANGER, USER, Authority, SecuredBroker
from tests.servers.kafka_topics import Record, create_topic, delete_topic, produce, read_all
from tests.servers.ports import free_ports
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.secured import login, own_topics, scores, secret
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

WRONG = "wrong-and-secret"
Settings = dict[str, Any]


@pytest.fixture(scope="module")
def changing_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A secured broker whose passwords and rights these tests change, and put back."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    with SecuredBroker(tmp_path_factory.mktemp("changing")) as broker:
        yield broker


async def last_words(monitor: MonitorProcess) -> str:
    """The one line that a refused process ends with."""
    try:
        await until(lambda: not monitor.alive(), "the end of a refused monitor")
    finally:
        await monitor.end()
    assert monitor.exit_code() == 3
    said = monitor.log.read_text("utf-8")
    assert "Traceback" not in said
    assert WRONG not in said
    assert PASSWORD not in said
    (line,) = [line for line in said.splitlines() if line.startswith("rag-monitor: ")]
    return line


async def shows(monitor: MonitorProcess, kind: str, value: float = 1) -> bool:
    """Whether the gauge has this value for the kind."""
    samples = await monitor.metrics()
    key = ("rag_monitor_kafka_problem", frozenset({("kind", kind)}))
    return samples.get(key) == value


async def waits(monitor: MonitorProcess, why: str) -> bool:
    """Whether it is alive and not ready for this reason."""
    assert monitor.alive()
    assert (await monitor.get("/healthz"))[0] == 200
    status, body = await monitor.get("/readyz")
    return status == 503 and why in body


def problems(monitor: MonitorProcess) -> list[dict[str, Any]]:
    """The lines about problems so far."""
    return [event for event in monitor.events() if event.get("event") == "kafka_problem"]


PLAIN: Settings = {}
REFUSALS = {
    "plaintext to TLS": ("TLS", "plain", "speaks TLS, not plaintext", "security_protocol to SSL"),
    "plaintext to SASL": ("SASL_PLAIN", "plain", "without a login", "security_protocol to SASL"),
    "TLS to plaintext": ("", "TLS", "does not speak TLS", "set security_protocol"),
    "login where there is none": ("TLS", "PLAIN", "knows no login", "security_protocol to PLAIN"),
    "wrong CA": ("TLS", "other CA", "is not signed by the CA in ssl_cafile", "set ssl_cafile"),
    "expired": ("EXPIRED", "TLS", "has expired", "renew it on the broker"),
    "wrong host": ("MISNAMED", "TLS", "is not for 127.0.0.1", "advertised.listeners"),
    "no client certificate": ("MTLS", "TLS", "demands a client certificate", "set ssl_certfile"),
    "other client": ("MTLS", "other client", "refuses the client certificate", "CA that signed"),
    "password": ("SASL_TLS", "password", "user monitor or the password", "check sasl_username"),
    "token": ("SASL_TLS", "token", "no OAuth token is given", "check the sasl_oauth settings"),
}


def settings_for(way: str, broker: SecuredBroker, directory: Path) -> Settings:
    """Settings that are right but for one thing."""
    if way == "plain":
        return {}
    if way == "other CA":
        return login(broker, "TLS", directory) | {"kafka__ssl_cafile": _other(directory).cafile}
    if way == "other client":
        certfile, keyfile = _other(directory).client(USER)
        files = {"kafka__ssl_certfile": certfile, "kafka__ssl_keyfile": keyfile}
        return login(broker, "TLS", directory) | files
    if way == "password":
        settings = login(broker, "SCRAM-SHA-512", directory)
        return settings | {"kafka__sasl_password_file": secret(directory / "wrong", WRONG)}
    if way == "token":
        settings = login(broker, "OAUTHBEARER", directory)
        file = secret(directory / "wrong", WRONG)
        return settings | {"kafka__sasl_oauth_client_secret_file": file}
    return login(broker, way, directory)


def _other(directory: Path) -> Authority:
    return Authority(directory / "other-authority")


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refusal_at_start_ends_in_3_with_its_sentence(
    case: str, secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """One line: the broker, as whom, what was found, what to do; and no secret anywhere."""
    listener, way, found, mend = REFUSALS[case]
    plain = secured_broker.broker.bootstrap
    address = secured_broker.address(listener) if listener else plain
    settings = settings_for(way, secured_broker, tmp_path) | own_topics()
    line = await last_words(MonitorProcess("run", address, tmp_path, "refused", **settings))
    assert line.startswith(f"rag-monitor: Kafka {address} (")
    assert found in line
    assert mend in line.partition("; ")[2]


@pytest.mark.parametrize("create", ["true", "false"])
@pytest.mark.parametrize(("key", "value"), [("life_s", -60), ("audience", "another")])
async def test_a_token_that_the_broker_refuses_ends_in_3(
    key: str, value: Any, create: str, changing_broker: SecuredBroker, tmp_path: Path
) -> None:
    """The token server gives one, expired or for somebody else, and the broker does not take it."""
    settings = login(changing_broker, "OAUTHBEARER", tmp_path) | own_topics()
    settings["kafka__create_topics"] = create
    state = changing_broker.oauth.state
    before = getattr(state, key)
    setattr(state, key, value)
    try:
        address = changing_broker.address("SASL_TLS")
        line = await last_words(MonitorProcess("run", address, tmp_path, "refused", **settings))
    finally:
        setattr(state, key, before)
    assert f"Kafka {address} (SASL_SSL OAUTHBEARER as " in line
    assert "the broker refuses the OAuth token" in line
    assert (
        "check that the token has not expired, and that the broker expects its issuer, audience"
        in line
    )


RIGHTS = {
    "Describe topic": ({"scores": ["WRITE"], "dead_letters": ["WRITE"], "group": ["READ"]},
                       "no right to Describe topic {interactions}"),
    "Read group": ({"interactions": ["READ"], "scores": ["WRITE"], "dead_letters": ["WRITE"]},
                   "no right to Read group {group}"),
    "Read topic": ({"interactions": ["DESCRIBE"], "scores": ["WRITE"], "dead_letters": ["WRITE"],
                    "group": ["READ"]}, "no right to Read topic {interactions}"),
    "Write topic": ({"interactions": ["READ"], "scores": ["DESCRIBE"], "dead_letters": ["WRITE"],
                     "group": ["READ"]}, "no right to Write topic {scores}"),
}  # fmt: skip


@pytest.mark.parametrize("missing", RIGHTS)
async def test_a_missing_right_ends_in_3_and_is_named(
    missing: str, secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """Operation, topic or group, and principal: what to write into the access list."""
    granted, sentence = RIGHTS[missing]
    topics = own_topics() | {"kafka__create_topics": "false"}
    names = {key.rpartition("__")[2]: name for key, name in topics.items()}
    names["group"] = names["group_id"]
    plain = secured_broker.broker.bootstrap
    for key in ("interactions", "scores", "dead_letters"):
        await create_topic(plain, names[key])
    for key, operations in granted.items():
        resource = "GROUP" if key == "group" else "TOPIC"
        await asyncio.to_thread(
            secured_broker.grant, STRANGER, operations, resource=resource, name=names[key]
        )
    settings = login(secured_broker, "PLAIN", tmp_path) | topics
    settings["kafka__sasl_username"] = STRANGER
    await produce(plain, names["interactions"], [Record(encoded(interaction("one")))])
    address = secured_broker.address("SASL_TLS")
    line = await last_words(MonitorProcess("score", address, tmp_path, "score", **settings))
    assert f"(SASL_SSL PLAIN as {STRANGER})" in line
    assert f"{sentence.format(**names)} for {STRANGER}" in line
    assert f"grant {missing.split()[0]} on " in line


@pytest.mark.parametrize("moment", ["partitions_assigned", "ready"])
async def test_a_right_taken_away_while_running_ends_in_3(
    changing_broker: SecuredBroker, tmp_path: Path, moment: str
) -> None:
    """Named like one that was never there, also where the client keeps it to itself."""
    settings = login(changing_broker, "PLAIN", tmp_path) | own_topics()
    everything = {"resource": "TOPIC", "name": "*"}
    monitor = MonitorProcess(
        "score", changing_broker.address("SASL_TLS"), tmp_path, "score", **settings
    )
    try:
        if moment == "ready":
            await monitor.ready()
        else:
            await until(
                lambda: any(each["event"] == moment for each in monitor.events()),
                moment,
                every_s=0.01,
            )
        await asyncio.to_thread(changing_broker.revoke, USER, ["ALL"], **everything)
        line = await last_words(monitor)
    finally:
        await asyncio.to_thread(changing_broker.grant, USER, ["ALL"], **everything)
    topic = settings["kafka__topics__interactions"]
    assert f"no right to Read topic {topic} for {USER}" in line


async def test_a_password_changed_on_the_broker_only_is_waited_for(
    changing_broker: SecuredBroker, tmp_path: Path
) -> None:
    """It was right once: not ready, shown and said, alive; right again, it goes on alone."""
    topics = own_topics()
    settings = login(changing_broker, "SCRAM-SHA-512", tmp_path) | topics
    address, plain = changing_broker.address("SASL_TLS"), changing_broker.broker.bootstrap
    monitor = MonitorProcess("run", address, tmp_path, "monitor", **settings)
    try:
        await monitor.ready()
        await asyncio.to_thread(changing_broker.set_password, USER, "another-and-secret")
        await asyncio.to_thread(changing_broker.broker.restart)
        await until(lambda: waits(monitor, "user monitor or the password"), "the refused login")
        await until(lambda: shows(monitor, "wrong_password"), "the gauge")
        await asyncio.to_thread(changing_broker.set_password, USER, PASSWORD)
        await until(lambda: _ready(monitor), "ready again")
        await until(lambda: shows(monitor, "wrong_password", 0), "the gauge to end")
        await scores(topics, "after", plain)
    finally:
        await monitor.end()
        await asyncio.to_thread(changing_broker.set_password, USER, PASSWORD)
        # For PLAIN it holds from the next start on.
        await asyncio.to_thread(changing_broker.broker.restart)
    (said,) = [event for event in problems(monitor) if event["kind"] == "wrong_password"]
    assert (said["principal"], said["mechanism"]) == (USER, "SCRAM-SHA-512")
    assert said["protocol"] == "SASL_SSL"
    assert PASSWORD not in monitor.log.read_text("utf-8")


async def _ready(monitor: MonitorProcess) -> bool:
    assert monitor.alive()
    return (await monitor.get("/readyz"))[0] == 200


@pytest.mark.parametrize(
    ("kind", "host", "why"),
    [
        ("broker_away", "127.0.0.1", "connection refused"),
        ("dns", "no-such-host.invalid", "cannot be resolved"),
    ],
)
async def test_what_may_pass_is_waited_for(kind: str, host: str, why: str, tmp_path: Path) -> None:
    """Alive, not ready with the reason, the gauge at 1, and one line that says what to do."""
    address = f"{host}:{free_ports(1)[0]}"
    monitor = MonitorProcess("run", address, tmp_path, "monitor")
    try:
        await monitor.listening()
        await until(lambda: waits(monitor, why), "the reason")
        await until(lambda: shows(monitor, kind), "the gauge")
        (said,) = problems(monitor)
    finally:
        await monitor.end()
    assert (said["kind"], said["broker"], said["protocol"]) == (kind, address, "PLAINTEXT")
    assert why in said["found"]
    assert said["mend"].startswith("check ")


async def test_an_address_that_only_the_cluster_tells_is_tried_too(tmp_path: Path) -> None:
    """The broker answers, but sends its clients where they cannot follow: this is named."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    told = "no-such-host.invalid:9092"
    broker = KafkaBroker(tmp_path, {"advertised.listeners": f"PLAINTEXT://{told}"})
    await asyncio.to_thread(broker.start)
    monitor = MonitorProcess("score", broker.bootstrap, tmp_path, "monitor")
    try:
        await monitor.listening()
        await until(lambda: waits(monitor, f"announced by {broker.bootstrap}"), "the reason")
        await until(lambda: shows(monitor, "dns"), "the gauge")
        (said,) = problems(monitor)
    finally:
        await monitor.end()
        await asyncio.to_thread(broker.stop)
    assert said["broker"] == told
    assert "advertised.listeners" in said["mend"]


async def test_a_session_that_the_broker_does_not_take_is_named(tmp_path: Path) -> None:
    """The end at once, with the setting and what it must fit."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    broker = KafkaBroker(tmp_path, {"group.max.session.timeout.ms": "20000"})
    await asyncio.to_thread(broker.start)
    settings = {"kafka__create_topics": "true", "kafka__session_timeout_s": "30"}
    monitor = MonitorProcess("score", broker.bootstrap, tmp_path, "monitor", **settings)
    try:
        code = await until(monitor.exit_code, "its end")
    finally:
        await monitor.end()
        await asyncio.to_thread(broker.stop)
    assert code == 3
    said = monitor.log.read_text("utf-8")
    assert "set kafka.session_timeout_s between the broker's group.min.session.timeout.ms" in said


async def test_a_missing_topic_is_shown_until_it_is_there(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Named in ``/readyz`` and in one line; 0 as soon as somebody has created it."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    topics["kafka__topics__scores"] += "-later"
    monitor = MonitorProcess("score", broker, tmp_path, "score", **topics)
    try:
        await monitor.listening()
        name = topics["kafka__topics__scores"]
        await until(lambda: waits(monitor, f"no topic {name}"), "the topic's name")
        await until(lambda: shows(monitor, "missing_topic"), "the gauge")
        await create_topic(broker, name)
        await until(lambda: _ready(monitor), "ready")
        await until(lambda: shows(monitor, "missing_topic", 0), "the gauge to end")
        (said,) = problems(monitor)
    finally:
        await monitor.end()
    assert (said["topic"], said["level"]) == (name, "warning")
    assert said["mend"].startswith("create")


@pytest.mark.parametrize("which", ["interactions", "scores"])
async def test_a_topic_that_is_deleted_while_running_is_told(
    which: str, kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Not ready, shown and said once, alive; created again, it goes on alone."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    name = topics[f"kafka__topics__{which}"]
    settings: dict[str, Any] = {**topics, "log__level": "debug"}
    monitor = MonitorProcess("run", broker, tmp_path, "monitor", **settings)
    try:
        await monitor.ready()
        await scores(topics, "before", broker)
        await until(lambda: "kafka_topics_seen" in monitor.log.read_text("utf-8"), "a look")
        await delete_topic(broker, name)
        await until(lambda: waits(monitor, f"no topic {name} any more"), "the topic's name")
        await until(lambda: shows(monitor, "missing_topic"), "the gauge")
        await create_topic(broker, name)
        await until(lambda: _ready(monitor), "ready again")
        await until(lambda: shows(monitor, "missing_topic", 0), "the gauge to end")
        await scores(topics, "after", broker)
    finally:
        await monitor.end()
    (said,) = [event for event in problems(monitor) if event["kind"] == "missing_topic"]
    assert (said["topic"], said["level"]) == (name, "warning")


async def test_a_record_that_is_too_large_names_the_limit(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The dead letter goes out without its value; topic, limit and the mend are said once."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    letters = topics["kafka__topics__dead_letters"] = topics["kafka__topics__dead_letters"] + "-s"
    await create_topic(broker, letters, 1, {"max.message.bytes": "20000"})
    monitor = MonitorProcess("score", broker, tmp_path, "score", **topics)
    # Not UTF-8, so a dead letter; and nothing that compression makes small.
    garbage = [Record(b"\xff" + Random(seed).randbytes(60_000)) for seed in range(3)]
    try:
        await monitor.ready()
        await produce(broker, topics["kafka__topics__interactions"], garbage)
        await until(lambda: _outcomes(monitor, 3), "3 outcomes")
        await until(lambda: shows(monitor, "record_too_large"), "the gauge")
        assert await _ready(monitor)
    finally:
        await monitor.end()
    (said,) = problems(monitor)
    assert (said["kind"], said["topic"], said["level"]) == ("record_too_large", letters, "error")
    assert "max.message.bytes is 20000" in said["found"]
    assert "raise the topic's max.message.bytes" in said["mend"]
    assert len(await read_all(broker, letters)) == 3


async def _outcomes(monitor: MonitorProcess, count: int) -> bool:
    samples = await monitor.metrics()
    assert total(samples, "rag_monitor_kafka_problem") <= 1
    return sum(outcomes(samples).values()) == count
