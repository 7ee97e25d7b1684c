"""What was seen of a process that met hostile records, and what must be true of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.stages.poison.probe import Health
from tests.stages.poison.records import Fate, Poison
from tests.stages.poison.watched import Watched

#: The bounds: seconds to an answer, 10⁶ bytes, calls for one interaction, seconds after SIGTERM.
HEALTH_S, MEMORY_MB, CALLS, TERM_S = 2.0, 500.0, 64, 30.0
HEAD = f"{'hostile record':28} {'s':>6} {'health':>6} {'own':>6} {'MB':>6} {'calls':>6} outcome"


@dataclass(frozen=True)
class Seen:
    """What became of one of them, and of the process meanwhile."""

    poison: Poison
    fates: Mapping[tuple[str, str], int]
    ended: bool
    seconds: float
    health: Health
    memory_mb: float
    calls: int = 0

    def faults(self) -> list[str]:
        """What is not as it must be."""
        found = [] if self.ended else ["not all that was sent has ended well"]
        if self.health.worst_own_s > HEALTH_S:
            found.append(f"/healthz after {self.health.worst_own_s:.1f} s")
        found += [f"/healthz {said}" for said in self.health.wrong[:1]]
        if self.memory_mb > MEMORY_MB:
            found.append(f"{self.memory_mb:.0f} MB")
        if self.calls > CALLS:
            found.append(f"{self.calls} calls")
        found += [
            f"{number} {outcome} {reason}".strip()
            for (outcome, reason), number in self.fates.items()
            if not may_be((outcome, reason), self.poison.fates)
        ]
        return [f"{self.poison.name}: {fault}" for fault in found]

    def __str__(self) -> str:
        fates = ", ".join(f"{n} {'/'.join(filter(None, fate))}" for fate, n in self.fates.items())
        health = f"{self.health.worst_s:6.2f} {self.health.worst_own_s:6.2f}"
        return (
            f"{self.poison.name:28} {self.seconds:6.1f} {health} {self.memory_mb:6.0f} "
            f"{self.calls:6} {fates or '-'}"
        )


@dataclass
class Findings:
    """Of one process."""

    seen: list[Seen] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    end_s: float = 0.0

    async def end(self, process: Watched) -> None:
        """SIGTERM; a process that has ended by itself is a fault."""
        try:
            self.end_s = await process.ended_s(2 * TERM_S)
        except RuntimeError as error:
            self.wrong.append(str(error))

    def faults(self) -> list[str]:
        """What is not as it must be."""
        found = [fault for one in self.seen for fault in one.faults()] + self.wrong
        if self.end_s > TERM_S:
            found.append(f"SIGTERM: {self.end_s:.1f} s")
        return found

    def __str__(self) -> str:
        rows = [HEAD, *map(str, self.seen), f"SIGTERM: {self.end_s:.1f} s"]
        return "\n".join(rows + [f"FAULT {fault}" for fault in self.faults()])


def may_be(fate: tuple[str, str], fates: Sequence[Fate]) -> bool:
    """Whether an outcome and its reason are among these.

    >>> may_be(("scored", ""), [("dead_lettered", None)])
    False
    >>> may_be(("dead_lettered", "wrong_value"), [("dead_lettered", None)])
    True
    """
    return any(fate[0] == outcome and reason in (None, fate[1]) for outcome, reason in fates)
