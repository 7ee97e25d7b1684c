"""A real Apache Kafka (KRaft, one JVM on 127.0.0.1) from the jars that ``.ci/fetch-kafka`` gets."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.servers.guarded import GuardedProcess
from tests.servers.ports import free_ports
from tests.servers.started import Started

KAFKA_VERSION = "4.1.1"
HOW_TO_GET_KAFKA = ".ci/fetch-kafka; apt-get install default-jre-headless"
# Any 22-character base64 id of 16 bytes: it only has to be the same on every start.
_CLUSTER_ID = "cmFnLW1vbml0b3ItdGVzdA"
_JVM = [
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
]


def kafka_libs() -> Path:
    """Where the jars are looked up: ``KAFKA_TEST_LIBS``, else the user's cache."""
    default = Path.home() / ".cache" / "rag-monitor" / f"kafka-{KAFKA_VERSION}"
    return Path(os.environ.get("KAFKA_TEST_LIBS") or default)


def missing_kafka() -> str | None:
    """What is missing for a broker and how to get it; None when it can be started."""
    if shutil.which("java") is None:
        return "no java: apt-get install default-jre-headless"
    if not list(kafka_libs().glob("kafka_2.13-*.jar")):
        return f"no Kafka jars in {kafka_libs()}: .ci/fetch-kafka"
    return None


def class_archive() -> Path:
    """Where ``tests.servers.kafka_classes`` puts its archive; Java goes on when it is not there."""
    return kafka_libs() / "classes.jsa"


class RunningBroker:
    """A broker on a port of 127.0.0.1, whoever has started it."""

    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def bootstrap(self) -> str:
        """The value for ``bootstrap_servers``."""
        return f"127.0.0.1:{self.port}"


class KafkaBroker(RunningBroker, Started):
    """One broker with its data, log and settings in ``directory``; a context manager.

    All methods block; inside a running event loop call them by ``asyncio.to_thread``.
    ``properties`` are added to the server's, or replace them; topics are not created on use.
    ``listeners`` are more of them by name, each with its protocol (``{"TLS": "SSL"}``); their ports
    stand in ``ports``. ``format_options`` go to the storage tool
    (``-S 'SCRAM-SHA-512=[name=u,password=p]'``), ``jvm_options`` to the broker's JVM.
    """

    def __init__(
        self,
        directory: Path,
        properties: Mapping[str, str] | None = None,
        format_options: Sequence[str] = (),
        listeners: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = (),
    ) -> None:
        protocols = dict(listeners or {})
        port, controller_port, *more = free_ports(2 + len(protocols))
        super().__init__(port)
        self.ports = dict(zip(protocols, more, strict=True))
        self.log = directory / "broker.log"
        self._directory = directory
        self._settings = directory / "server.properties"
        self._properties = _properties(directory, port, controller_port) | dict(properties or {})
        for name, protocol in protocols.items():
            for key in ("listeners", "advertised.listeners"):
                self._properties[key] += f",{name}://{self.address(name)}"
            self._properties["listener.security.protocol.map"] += f",{name}:{protocol}"
        self._format_options, self._jvm_options = format_options, jvm_options
        self._process: GuardedProcess | None = None

    def address(self, listener: str) -> str:
        """The value for ``bootstrap_servers`` at one of ``listeners``."""
        return f"127.0.0.1:{self.ports[listener]}"

    @property
    def pid(self) -> int:
        """The JVM's process id; raises ``RuntimeError`` when none was started."""
        return self._running.pid

    def change(self, properties: Mapping[str, str]) -> None:
        """Add or replace server properties; they hold from the next start on."""
        self._properties |= properties
        if self._settings.exists():
            self._settings.write_text(self._lines())

    def start(self, patience_s: float = 240.0) -> None:
        """Format the storage if it is new, run the JVM, and wait until the broker answers.

        Raises ``RuntimeError`` with the end of the log when it ends or stays silent.
        """
        if self._process is not None and self._process.alive():
            raise RuntimeError("the broker runs already")
        if not self._settings.exists():
            self._format()
        java = ["java", *_JVM, *_archived(), *self._jvm_options, "-cp", f"{kafka_libs()}/*"]
        self._process = GuardedProcess([*java, "kafka.Kafka", str(self._settings)], self.log)
        try:
            self._wait(time.monotonic() + patience_s)
        except BaseException:
            self.kill()
            raise

    def stop(self, patience_s: float = 20.0) -> None:
        """Shut down in order; by force when that takes longer than ``patience_s``."""
        if self._process is not None:
            self._process.end(patience_s)

    def kill(self) -> None:
        """SIGKILL: the broker gets no chance to flush or to say goodbye."""
        if self._process is not None:
            self._process.kill()

    def freeze(self) -> None:
        """SIGSTOP: from its return on connections stay open, and nothing is answered."""
        self._running.freeze()

    def thaw(self) -> None:
        """SIGCONT after ``freeze``."""
        self._running.thaw()

    def restart(self) -> None:
        """Stop if it runs, and start on the same data and port."""
        self.stop()
        self.start()

    @property
    def _running(self) -> GuardedProcess:
        if self._process is None:
            raise RuntimeError("the broker was not started")
        return self._process

    def _format(self) -> None:
        draft = self._settings.with_suffix(".draft")
        draft.write_text(self._lines())
        java = ["java", *_JVM, *_archived(), "-cp", f"{kafka_libs()}/*"]
        tool = [*java, "kafka.tools.StorageTool"]
        arguments = ["format", "-t", _CLUSTER_ID, "-c", str(draft), *self._format_options]
        done = subprocess.run([*tool, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"formatting failed: {done.stdout}{done.stderr}")
        # Under its real name only now: it marks a storage that is formatted.
        draft.rename(self._settings)

    def _lines(self) -> str:
        return "".join(f"{key}={value}\n" for key, value in self._properties.items())

    def _wait(self, deadline: float) -> None:
        while not (_listens(self.port) and _answers(self.bootstrap)):
            if not self._running.alive() or time.monotonic() > deadline:
                tail = self.log.read_text(errors="replace")[-3000:]
                raise RuntimeError(f"the broker did not start:\n{tail}")
            time.sleep(0.05)


def _archived() -> list[str]:
    archive = class_archive()
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _answers(bootstrap: str) -> bool:
    """Whether the broker names itself, which it does once its controller has let it in."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        return bool(admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return False


def _properties(directory: Path, port: int, controller_port: int) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(directory / "data"),
        "auto.create.topics.enable": "false",
        # Event times of tests lie anywhere: nothing may be deleted for its age.
        "log.retention.ms": "-1",
        "offsets.topic.num.partitions": "2",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",
        # After a SIGKILL the next start waits until the session of the last one is over.
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "500",
        # What waits for work wakes now and then: fewer threads than on a machine of its own.
        "num.network.threads": "1",
        "num.io.threads": "4",
        "background.threads": "1",
        "group.coordinator.threads": "1",
        # Nothing of what is idle need be written down: most brokers here are, most of the time.
        "metadata.max.idle.interval.ms": "0",
    }
