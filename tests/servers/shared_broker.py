"""One real Kafka broker for all workers of a run, started when the first of them asks for it.

An idle broker takes three hundredths of a core: one for each worker, that was a twentieth of what
the whole suite takes.
"""

from __future__ import annotations

import os
from multiprocessing.connection import Client, Listener
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread

from tests.servers.kafka_broker import KafkaBroker, RunningBroker

#: The variable with the address of the one for all workers of a run.
ADDRESS = "BROKER_ADDRESS"


class SharedBroker:
    """Tells all who ask at its ``address`` where the broker is: it ends with this process."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="broker-")
        self.address = str(Path(self._folder.name, "asked"))
        self._listener = Listener(self.address)
        # Topics of all tests of a run lie on it.
        self._broker = KafkaBroker(Path(self._folder.name), jvm_options=["-Xmx1g"])
        self._turn, self._is_started = Lock(), False
        Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        while True:
            with self._listener.accept() as asking:
                asking.send(self._place())

    def _place(self) -> int | str:
        """Its port; or why it did not start, which is tried again when somebody asks again."""
        with self._turn:
            if not self._is_started:
                try:
                    self._broker.start()
                except RuntimeError as error:
                    return str(error)
                self._is_started = True
            return self._broker.port

    def close(self) -> None:
        """Stop the broker, if anybody has asked for it; nobody can ask any more."""
        with self._turn:
            self._listener.close()
            self._broker.stop()
        self._folder.cleanup()


def shared() -> RunningBroker:
    """That of this run; raises ``RuntimeError`` when it does not start."""
    with Client(os.environ[ADDRESS]) as asking:
        found = asking.recv()
    if isinstance(found, str):
        raise RuntimeError(found)
    return RunningBroker(found)
