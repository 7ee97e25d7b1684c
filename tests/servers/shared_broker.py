"""One real Kafka broker for all workers of a run, started when the first of them asks for it.

An idle broker takes three hundredths of a core: one for each worker, that was a twentieth of what
the whole suite takes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from multiprocessing.connection import Client, Listener
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

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
        self._is_started, self._closes = False, False
        self._keeper = Thread(target=self._answer, daemon=True)
        self._keeper.start()

    def _answer(self) -> None:
        while True:
            with self._listener.accept() as asking:
                if self._closes:
                    return
                with suppress(OSError):  # who asked may be gone
                    asking.send(self._place())

    def _place(self) -> int | str:
        """Its port; or why it did not start, which is tried again when somebody asks again."""
        if not self._is_started:
            try:
                self._broker.start()
            except RuntimeError as error:
                return str(error)
            self._is_started = True
        return self._broker.port

    def close(self) -> None:
        """End the broker, if anybody has asked for it; nobody can ask any more."""
        self._closes = True
        with Client(self.address):  # wakes who waits for somebody
            self._keeper.join()
        self._listener.close()
        self._broker.kill()  # nobody needs what is on it: an end in order takes its time
        self._folder.cleanup()


def shared() -> RunningBroker:
    """That of this run; raises ``RuntimeError`` when it does not start."""
    with Client(os.environ[ADDRESS]) as asking:
        found = asking.recv()
    if isinstance(found, str):
        raise RuntimeError(found)
    return RunningBroker(found)
