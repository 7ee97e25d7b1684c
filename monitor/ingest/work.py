"""One record under way: what it does at the moment, and why it was told to end.

Whoever wants to know something of a work asks it. ``Work.end`` tells it to end, and why; when
somebody else cancels it, nobody knows a reason.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Protocol

from monitor.kafka.record import KafkaRecord
from monitor.records import Reason


class WorkState(Enum):
    """What a work does; it is in one state at a time."""

    #: Has not come yet to anything that is named below.
    QUEUED = "queued"
    #: Its texts are gone through in a thread.
    REDACTING = "redacting"
    #: For a place at the judge.
    WAITING = "waiting"
    JUDGING = "judging"
    WAITING_FOR_BUDGET = "waiting_for_budget"
    #: For its block to close, or for the others of its block.
    PARKED = "parked"
    #: Its dead letter finds no place.
    HELD = "held"
    DONE = "done"


#: What these wait for may never come: they take no place from others.
PARKED_STATES = (WorkState.PARKED, WorkState.WAITING_FOR_BUDGET, WorkState.HELD)
#: Whoever leaves these to somebody else loses nothing.
_IDLE = frozenset([*PARKED_STATES, WorkState.WAITING])


class Timed(Protocol):
    """The deadline of a judgement."""

    @property
    def is_held(self) -> bool:
        """Whether it stands still, since a limit holds the judgement up."""

    def may_be_left(self, within_s: float) -> bool:
        """Whether nothing is lost by leaving the judgement; or it cannot end in that time."""


class Works:
    """All works of one scorer, counted by what they do."""

    def __init__(self) -> None:
        self._counts: Counter[WorkState] = Counter()
        #: Of those that are parts of others: these hold the place.
        self._parts: Counter[WorkState] = Counter()
        self._judging: set[Work] = set()

    def count(self, *states: WorkState) -> int:
        """How many do one of these."""
        return sum(self._counts[state] for state in states)

    @property
    def parked(self) -> int:
        """How many wait for what may never come, parts of others left out."""
        return sum(self._counts[state] - self._parts[state] for state in PARKED_STATES)

    @property
    def wait_for_limits(self) -> bool:
        """Whether some of what is being judged stands still until a limit lets it go on."""
        return any(work.waits_for_limits for work in self._judging)

    def begun(self, work: Work) -> None:
        """One more."""
        for counts in self._counts_of(work):
            counts[WorkState.QUEUED] += 1

    def _counts_of(self, work: Work) -> tuple[Counter[WorkState], ...]:
        return (self._counts, self._parts) if work.is_part else (self._counts,)

    def moved(self, work: Work, before: WorkState) -> None:
        """A work does something else than before."""
        for counts in self._counts_of(work):
            counts[before] -= 1
            if work.state is not WorkState.DONE:
                counts[work.state] += 1
        if work.state is WorkState.JUDGING:
            self._judging.add(work)
        else:
            self._judging.discard(work)


class Work:
    """What is to be done on one record; ``do`` is given the work, and brings it to its end.

    ``do`` must settle the record's interactions, also when it is cancelled. Only after the reason
    ``stuck`` it may go on, to say so elsewhere. What is one part of it of several, since its record
    holds many interactions, is a work of its own (``part``): it ends with this one, and before it.
    """

    def __init__(
        self, record: KafkaRecord, do: Callable[[Work], Coroutine[Any, Any, None]], works: Works
    ) -> None:
        self.offset = record.offset
        self.is_part = False
        #: Works that it ends when it is told to end; and whom it waits for beside them.
        self._own_parts: list[Work] = []
        self._others: list[Work] = []
        #: The bytes of key and value, which are held as long as the work.
        self.size = 0
        #: What its record takes in memory while it is worked on (``kafka.record.weight``).
        self.weight = 0
        self.state = WorkState.QUEUED
        #: Why it was told to end, if it was.
        self.reason: str | None = None
        #: A record was written: whoever begins the work again pays again.
        self.has_written = False
        #: For how many seconds it has been about something that ought to end by itself.
        self.busy_s = 0.0
        self._do, self._works = do, works
        self._deadline: Timed | None = None
        self._started: asyncio.Task[None] | None = None
        self._was_stuck = False

    def start(self) -> asyncio.Task[None]:
        """Begin; the task ends with the work."""
        self._started = asyncio.create_task(self._run())
        return self._started

    def part(self, record: KafkaRecord, do: Callable[[Work], Coroutine[Any, Any, None]]) -> Work:
        """A work that is a part of this one, to be started."""
        made = Work(record, do, self._works)
        made.is_part = True
        self._own_parts.append(made)
        return made

    def waits_for(self, part: Work) -> None:
        """It ends after a part of another work, too."""
        self._others.append(part)

    async def parts_ended(self) -> None:
        """Told to end, they have."""
        if tasks := [part.task for part in self._own_parts]:
            await asyncio.wait(tasks)

    @property
    def task(self) -> asyncio.Task[None]:
        """What runs it."""
        assert self._started is not None, "it has not been started"
        return self._started

    async def _run(self) -> None:
        self._works.begun(self)
        try:
            await self._do(self)
        finally:
            self._move(WorkState.DONE)

    @contextmanager
    def at(self, state: WorkState, deadline: Timed | None = None) -> Iterator[None]:
        """While inside it does this; of a judgement with its deadline."""
        before, self._deadline = self.state, deadline
        self._move(state)
        try:
            yield
        finally:
            self._deadline = None
            self._move(before)

    def _move(self, state: WorkState) -> None:
        before, self.state = self.state, state
        self._works.moved(self, before)

    @property
    def is_busy(self) -> bool:
        """Whether it is about something that ought to end by itself: judging, and not held up."""
        return self.state is WorkState.JUDGING and not self.waits_for_limits

    @property
    def waits_for_limits(self) -> bool:
        """Whether it is being judged, and stands still until a limit lets it go on."""
        return self._deadline is not None and self._deadline.is_held

    def may_be_left(self, within_s: float) -> bool:
        """Whether it waits, and nothing is lost by leaving it to somebody else.

        Also True for a judgement that cannot end in time, though its calls are paid in vain.
        """
        if not all(part.may_be_left(within_s) for part in (*self._own_parts, *self._others)):
            return False
        if self.state is WorkState.REDACTING:  # the next owner may do that as well
            return not self.has_written  # else another one of its slot would be paid twice
        if self._deadline is not None:
            return self._deadline.may_be_left(within_s)
        return self.state in _IDLE or self.state is WorkState.DONE

    @property
    def is_handed_over(self) -> bool:
        """Whether it was told to leave its record to somebody else."""
        return self.reason not in (None, Reason.STUCK)

    @property
    def handover_reason(self) -> str:
        """Why its record is left to somebody else; only a shutdown cancels it without a reason."""
        return self.reason or Reason.SHUTDOWN

    def end(self, reason: str) -> None:
        """Tell it to end, with its parts."""
        for part in self._own_parts:
            part.end(reason)
        self.reason = reason
        self.task.cancel()

    def end_if_stuck(self, elapsed_s: float, limit_s: float) -> None:
        """Seconds have passed; busy for longer than the limit it is told to end, once."""
        for part in self._own_parts:
            part.end_if_stuck(elapsed_s, limit_s)
        self.busy_s = self.busy_s + elapsed_s if self.is_busy else 0.0
        if self.busy_s > limit_s and not self._was_stuck:
            self._was_stuck = True
            self.end(Reason.STUCK)

    def goes_on(self) -> bool:
        """After a cancellation: whether that was for being stuck, so that the work goes on."""
        if self.reason != Reason.STUCK:
            return False
        self.task.uncancel()
        self.reason = None
        return True
