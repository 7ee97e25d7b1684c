"""Problems: said once, shown while they last, and over when nobody has them any more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.kafka.connection import Connection
from monitor.kafka.problems import (
    EVENT_SHOWN_S,
    SAY_AGAIN_S,
    SAY_EVERY_S,
    Problem,
    ProblemKind,
    Problems,
    refused,
)
from monitor.telemetry import KafkaTelemetry
from tests.stages.captured_log import captured_log

Log = Callable[[], list[dict[str, Any]]]
AWAY = Problem(ProblemKind.BROKER_AWAY, "nobody listens", "check that it runs", "kafka-1:9092")
SILENT = AWAY._replace(found="answers nothing")
REFUSED = Problem(ProblemKind.WRONG_PASSWORD, "no such user", "check sasl_username")
LARGE = Problem(ProblemKind.RECORD_TOO_LARGE, "more than it takes", "raise it", topic="t")


class Clock:
    """Seconds that stand still until they are moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The time."""
    return Clock()


@pytest.fixture
def cluster(clock: Clock) -> Connection:
    """A cluster that was reached by password."""
    return Connection(
        "kafka-1:9092",
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_username="monitor",
        sasl_password=lambda: "secret",
        problems=Problems(clock),
    )


@pytest.fixture
def log() -> Iterator[Log]:
    """Reads the log so far as events."""
    with captured_log("info", "json") as read:
        yield lambda: [json.loads(line) for line in read().splitlines()]


def meets(cluster: Connection, finding: Problem, part: str = "kafka") -> None:
    cluster.problems.meet(cluster.name, part, finding)


def test_the_line_says_where_as_whom_what_and_what_to_do(cluster: Connection, log: Log) -> None:
    """Fields that do not apply are left out, and the password is in none."""
    meets(cluster, AWAY)
    (line,) = log()
    assert line.pop("timestamp")
    assert line == {
        "event": "kafka_problem",
        "level": "warning",
        "what": "kafka",
        "kind": "broker_away",
        "broker": "kafka-1:9092",
        "settings": "kafka",
        "protocol": "SASL_SSL",
        "principal": "monitor",
        "mechanism": "PLAIN",
        "found": "nobody listens",
        "mend": "check that it runs",
    }


@pytest.mark.parametrize(("finding", "level"), [(AWAY, "warning"), (REFUSED, "error")])
def test_a_refusal_is_an_error_and_what_may_pass_a_warning(
    finding: Problem, level: str, cluster: Connection, log: Log
) -> None:
    """So that an alert on errors does not wake anybody for a restart."""
    meets(cluster, finding)
    assert [line["level"] for line in log()] == [level]


def test_a_problem_that_lasts_is_said_again_only_after_a_long_time(
    cluster: Connection, clock: Clock, log: Log
) -> None:
    """Whoever meets it again and again, and whichever part that is."""
    for _ in range(int(SAY_AGAIN_S) - 1):
        meets(cluster, AWAY)
        meets(cluster, AWAY, "producer")
        clock.now += 1
    assert len(log()) == 1
    clock.now += 2
    meets(cluster, AWAY)
    assert len(log()) == 2


def test_another_finding_of_the_kind_is_said_but_once_a_minute(
    cluster: Connection, clock: Clock, log: Log
) -> None:
    """Refused, then silent: worth a line; flapping between the two is not."""
    for i in range(int(3 * SAY_EVERY_S)):
        meets(cluster, (AWAY, SILENT)[i % 2])
        clock.now += 1
    assert 2 <= len(log()) <= 3


def test_the_end_is_said_once_and_only_when_the_beginning_was(
    cluster: Connection, clock: Clock, log: Log
) -> None:
    """A problem that comes and goes every second makes two lines a minute, not sixty."""
    for _ in range(60):
        meets(cluster, AWAY)
        clock.now += 0.5
        cluster.problems.over(cluster.name, "kafka")
        cluster.problems.over(cluster.name, "kafka")
        clock.now += 0.5
    assert [line["event"] for line in log()] == ["kafka_problem", "kafka_problem_over"]
    assert log()[1]["lasted_s"] == 0.5


def test_a_new_outage_is_said_though_it_looks_like_the_last(
    cluster: Connection, clock: Clock, log: Log
) -> None:
    """Over means over: the next one has its own beginning."""
    meets(cluster, AWAY)
    cluster.problems.over(cluster.name, "kafka")
    clock.now += SAY_EVERY_S
    meets(cluster, AWAY)
    assert [line["event"] for line in log()] == [
        "kafka_problem",
        "kafka_problem_over",
        "kafka_problem",
    ]


def test_a_problem_lasts_until_no_part_has_it(cluster: Connection) -> None:
    """The writer may still be stuck when the pulse is back."""
    meets(cluster, AWAY, "kafka")
    meets(cluster, AWAY, "producer")
    cluster.problems.over(cluster.name, "kafka")
    assert cluster.problems.lasts(ProblemKind.BROKER_AWAY)
    cluster.problems.over(cluster.name, "producer")
    assert not cluster.problems.lasts(ProblemKind.BROKER_AWAY)
    assert not cluster.problems.present


def test_a_part_has_one_problem_at_a_time(cluster: Connection, log: Log) -> None:
    """The broker is back, but refuses us: away is over."""
    meets(cluster, AWAY)
    meets(cluster, REFUSED)
    assert not cluster.problems.lasts(ProblemKind.BROKER_AWAY)
    assert cluster.problems.lasts(ProblemKind.WRONG_PASSWORD)
    assert [line["kind"] for line in log()] == ["broker_away", "wrong_password", "broker_away"]


def test_a_problem_with_a_record_is_shown_for_a_while(
    cluster: Connection, clock: Clock, log: Log
) -> None:
    """Long enough to be scraped; hundreds of such records are one line."""
    for _ in range(300):
        cluster.problems.happened(cluster.name, "producer", LARGE)
    assert [line["topic"] for line in log()] == ["t"]
    clock.now += EVENT_SHOWN_S - 1
    assert cluster.problems.lasts(ProblemKind.RECORD_TOO_LARGE)
    clock.now += 1
    assert not cluster.problems.lasts(ProblemKind.RECORD_TOO_LARGE)
    assert not cluster.problems.present


def test_topics_have_lines_of_their_own(cluster: Connection, log: Log) -> None:
    """The second topic's problem is not hidden by the first one's."""
    for topic in ("a", "b", "a"):
        cluster.problems.happened(cluster.name, "producer", LARGE._replace(topic=topic))
    assert [line["topic"] for line in log()] == ["a", "b"]


def test_the_gauge_is_1_while_any_cluster_has_the_problem(cluster: Connection) -> None:
    """0 when it is over, and absent before it was ever seen."""
    registry, other = CollectorRegistry(), Connection("kafka-2:9092", section="kafka_output")
    telemetry = KafkaTelemetry(registry)

    def gauge() -> float | None:
        return registry.get_sample_value("rag_monitor_kafka_problem", {"kind": "broker_away"})

    for each in (cluster, other):
        each.problems.shown_by(telemetry.watch)
    seen = [gauge()]
    meets(cluster, AWAY)
    seen.append(gauge())
    meets(other, AWAY)
    cluster.problems.over(cluster.name, "kafka")
    seen.append(gauge())
    other.problems.over(other.name, "kafka")
    seen.append(gauge())
    meets(cluster, AWAY)
    seen.append(gauge())
    assert seen == [None, 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("connection", "who"),
    [
        (Connection("k:1"), "(PLAINTEXT)"),
        (Connection("k:1", section="kafka_output"), "(PLAINTEXT, kafka_output)"),
        (Connection("k:1", "SASL_SSL", "PLAIN", "me"), "(SASL_SSL PLAIN as me)"),
        (
            Connection("k:1", "SASL_SSL", "OAUTHBEARER"),
            "(SASL_SSL OAUTHBEARER as the owner of the token)",
        ),
    ],
)
def test_the_last_words_name_broker_and_principal(connection: Connection, who: str) -> None:
    """And then what was found and what to do."""
    said = refused(connection.name, REFUSED)
    assert said == f"Kafka k:1 {who} refuses: no such user; check sasl_username"
