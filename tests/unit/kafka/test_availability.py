"""The pulse: readiness and the gauge know within a beat whether the cluster answers."""

from __future__ import annotations

from monitor.kafka.availability import EVERY_S, AvailabilityCheck, watched
from monitor.kafka.problems import ProblemKind
from monitor.runtime.health import Health
from tests.stages.process import until
from tests.stages.small_kafka import small_kafka

LIMIT_S = 0.3


def new_health() -> Health:
    """Its clock stands still."""
    return Health(lambda: 0.0)


async def test_a_frozen_broker_is_told_and_its_return_too() -> None:
    """Connections stay open, nothing is answered; back, nobody has to do anything."""
    health = new_health()
    async with small_kafka() as kafka:
        connection = kafka.connection
        check = AvailabilityCheck(connection, health, "kafka", LIMIT_S)
        await check.beat()
        assert health.waiting == {}
        assert connection.problems.let_in
        kafka.answers.clear()
        await check.beat()
        assert "answers nothing" in health.waiting["kafka"]
        assert kafka.address in health.waiting["kafka"]
        assert connection.problems.lasts(ProblemKind.BROKER_AWAY)
        kafka.answers.set()
        await check.beat()
        assert health.waiting == {}
        assert not connection.problems.present


async def test_one_connection_serves_as_long_as_it_lasts() -> None:
    """A healthy broker sees no new connection at every beat; a closed one is opened again."""
    health = new_health()
    async with small_kafka() as kafka:
        check = AvailabilityCheck(kafka.connection, health, "kafka", LIMIT_S)
        await check.beat()
        opened = len(kafka.connections)
        for _ in range(5):
            await check.beat()
        assert len(kafka.connections) == opened
        kafka.hang_up()
        await check.beat()
        await check.beat()
        assert health.waiting == {}
        assert len(kafka.connections) > opened


async def test_a_broker_that_never_came_is_told() -> None:
    """With the reason, from the first beat on; it has let nobody in."""
    health = new_health()
    async with small_kafka() as kafka:
        connection = kafka.connection
    check = AvailabilityCheck(connection, health, "kafka", LIMIT_S)
    await check.beat()
    assert "connection refused" in health.waiting["kafka"]
    assert not connection.problems.let_in


async def test_every_cluster_has_one_while_it_is_watched() -> None:
    """Both are called by their section; with the end of the watch the connections end."""
    assert EVERY_S < 10
    health = new_health()
    async with small_kafka() as kafka:
        async with watched({"kafka": (kafka.connection, ())}, health):
            await until(lambda: len(kafka.connections) == 5, "the probe's, and the one that stays")
        await until(lambda: all(task.done() for task in kafka.tasks), "the end of all")
    assert health.waiting == {}
