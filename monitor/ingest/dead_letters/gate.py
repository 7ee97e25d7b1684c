"""May records be taken now? Not from a held partition, and only a few while the circuit is open.

A partition is held while one of its dead letters finds no place: its records stay on their topic,
and the other partitions go on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack

from monitor.ingest.dead_letters.circuit_breaker import Circuit, CircuitLimits
from monitor.ingest.work import Work, WorkState
from monitor.kafka.record import Partition
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.telemetry import ScorerTelemetry

#: Names in /readyz.
CIRCUIT, HELD = "dead_letter_circuit", "dead_letters"
_MOST_NAMED = 10
#: For so many seconds of a probe each partition has its part of it, and no more: what fails on one
#: is not taken for all, and those that have been paused need a moment until they are read again.
PARTS_S = 1.0


class Hold:
    """One dead letter of a work that may have to wait; ``begin`` may be called repeatedly."""

    def __init__(self, gate: DeadLetterGate, partition: Partition, work: Work) -> None:
        self._gate, self._partition, self._work = gate, partition, work
        self._waiting = ExitStack()
        self._held = False

    def begin(self, why: str) -> None:
        """From now on the letter waits; ``why`` names the topic and what to do."""
        self._begin(why, is_guess=False)

    def _begin(self, why: str, *, is_guess: bool) -> None:
        self._gate.hold(self._partition, why, first=not self._held, is_guess=is_guess)
        if not self._held:
            # It may be handed over at once: nothing of it is on Kafka yet.
            self._waiting.enter_context(self._work.at(WorkState.HELD))
        self._held = True

    def begin_unless_held(self, why: str) -> None:
        """A guess at ``why``: what a refusal has said stands."""
        if not self._held:
            self._begin(why, is_guess=True)

    def end(self) -> None:
        """It waits no more."""
        if self._held:
            self._gate.release(self._partition)
            self._waiting.close()
        self._held = False


class DeadLetterGate:
    """Between the consuming loop, which asks, and the scorer, which says how records fare.

    ``monotonic`` gives seconds.
    """

    def __init__(
        self,
        limits: CircuitLimits,
        telemetry: ScorerTelemetry,
        health: Health,
        monotonic: Callable[[], float],
    ) -> None:
        self._telemetry, self._health, self._monotonic = telemetry, health, monotonic
        self.circuit = Circuit(limits, monotonic())
        self._probe, self._probe_at = limits.probe, -math.inf
        #: Whether a few records were tried when the loop last came round.
        self.is_probing = False
        #: While the circuit is open: who asks for room, and what each has taken of a probe.
        self._asking: set[Partition] = set()
        self._taken: Counter[Partition] = Counter()
        self._shown = False
        self._held: Counter[Partition] = Counter()
        #: Held partition → whether more than a guess at the reason was told.
        self._told: dict[Partition, bool] = {}
        self._waiting = 0
        self._why = ""

    def room(self, partition: Partition) -> int | None:
        """How many records of the partition may be taken now; None without a bound."""
        if partition in self._held:
            return 0
        room = self.circuit.room
        if room is None:
            return None
        self._asking.add(partition)
        if not room or self._monotonic() - self._probe_at >= PARTS_S:
            return room
        part = math.ceil(self._probe / len(self._asking))
        return max(0, min(room, part - self._taken[partition]))

    def begun(self, partition: Partition) -> None:
        """A record of the partition begins while a few are tried."""
        self._taken[partition] += 1

    def turn(self) -> None:
        """The loop comes round: time passes, and what has changed is said."""
        was_probing, now = self.circuit.is_probing, self._monotonic()
        self.circuit.roll(now)
        self.is_probing = self.circuit.is_probing
        if self.is_probing and not was_probing:
            self._probe_at = now
            self._taken.clear()
        if not self.circuit.is_open:
            self._asking.clear()
        self._show()

    def glimpsed(self, count: int) -> None:
        """``count`` records were dropped by their hash, with nothing but their ids read."""
        self.circuit.glimpsed(count)

    def failed(self, cause: str, *, was_fine: bool = False, unread: bool = False) -> None:
        """A record becomes a dead letter; ``was_fine``: it could be decoded.

        ``unread``: not even its id could be read.
        """
        self.circuit.failed(cause, was_fine=was_fine, unread=unread)
        self._show()

    def hold(self, partition: Partition, why: str, *, first: bool, is_guess: bool) -> None:
        """A dead letter of the partition waits, or (not ``first``) waits on.

        What the topic has said is told also where a guess was told before, and no guess hides it.
        """
        if first:
            self._held[partition] += 1
            self._waiting += 1
        if partition not in self._told or not (is_guess or self._told[partition]):
            logger().error("partition_held", **partition._asdict(), hint=why)
            self._told[partition] = not is_guess
        if not (is_guess and any(self._told.values())):
            self._why = why
        self._show_held()

    def release(self, partition: Partition) -> None:
        """One of its dead letters waits no more."""
        self._held[partition] -= 1
        self._waiting -= 1
        if not self._held[partition]:
            del self._held[partition], self._told[partition]
            logger().info("partition_released", **partition._asdict())
        self._show_held()

    def _show_held(self) -> None:
        self._telemetry.dead_letters_waiting.set(self._waiting)
        if not self._held:
            self._health.ready(HELD)
            return
        names = [f"{topic}/{number}" for topic, number in sorted(self._held)]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        listed = ", ".join(names[:_MOST_NAMED]) + more
        self._health.waits(HELD, f"{self._why}; held until then: {listed}")

    def _show(self) -> None:
        is_open = self.circuit.is_open
        if is_open == self._shown:
            return
        self._shown = is_open
        self._telemetry.circuit_open.set(is_open)
        if not is_open:
            self._health.ready(CIRCUIT)
            logger().info("dead_letter_circuit_closed")
            return
        failed, seen = self.circuit.counts
        why = (
            f"{failed} of the last {seen} records became dead letters, most of them "
            f"{self.circuit.cause}: reading pauses, and a few are tried now and then. "
            "Check kafka.topics.interactions, the settings of ingest, and the latest deployment"
        )
        self._health.waits(CIRCUIT, why)
        logger().error("dead_letter_circuit_open", reason=self.circuit.cause, hint=why)
