"""Fixtures for all tests, and the rule on missing tools (see ``tests.tools``)."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from tests.parallel import (
    FailuresAtOnce,
    compile_share,
    pytest_collection_modifyitems,
    pytest_xdist_auto_num_workers,
)
from tests.servers import forked, shared_broker
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, RunningBroker, missing_kafka
from tests.servers.postgres_server import (
    HOW_TO_GET_POSTGRES,
    PostgresServer,
    missing_postgres,
)
from tests.servers.redis_server import HOW_TO_GET_REDIS, RedisServer, missing_redis
from tests.tools import (
    pytest_make_collect_report,
    pytest_runtest_makereport,
    pytest_terminal_summary,
    requires_tool,
)

# pytest finds its hooks by name in this module.
__all__ = [
    "kafka_broker",
    "postgres_server",
    "pytest_collection_modifyitems",
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
    "pytest_xdist_auto_num_workers",
    "redis_server",
    "requires_tool",
]

# Tests start the monitor some hundred times: to compile it anew each time is a third of its start.
# And to rewrite the assertions of all tests anew is half of the time that it takes to collect them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes is the machine's affair, and no property of what is tested.
settings.register_profile("usual", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("usual")


def pytest_configure(config: pytest.Config) -> None:
    """All workers fork the same process and ask the same broker: they inherit the addresses."""
    if not hasattr(config, "workerinput"):
        os.environ[forked.ADDRESS] = forked.ForkServer().address
        broker = shared_broker.SharedBroker()
        os.environ[shared_broker.ADDRESS] = broker.address
        config.add_cleanup(broker.close)
        config.pluginmanager.register(FailuresAtOnce(config))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Modules and tests are no garbage before the end: they are not looked through for it.

    Nor is much of what tests make: to look as often as usual is a twentieth of what they compute.
    """
    compile_share(session.config)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """What holds no example is not looked through for one, which takes a while."""
    found = yield
    if file_path.suffix == ".py" and b">>>" not in file_path.read_bytes():
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found


@pytest.fixture(scope="session")
def kafka_broker() -> RunningBroker:
    """One real Kafka broker for all workers: use topics and groups of your own.

    A test that stops, kills or freezes a broker, needs other settings, or looks at all that is on
    it, starts its own.
    """
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    return shared_broker.shared()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One real Redis for a whole worker: use a prefix of your own, and leave it running."""
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One real PostgreSQL for a whole worker: create a database of your own in it."""
    requires_tool("postgres", missing_postgres(), HOW_TO_GET_POSTGRES)
    with PostgresServer(tmp_path_factory.mktemp("postgres")) as server:
        yield server
