"""Work in a few threads of its own, so that different works cannot starve each other.

The default executor of asyncio is shared: whoever fills it keeps names from being looked up. These
threads are daemons: no work that does not end keeps the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from monitor.errors import MonitorError
from monitor.runtime.logs import logger

#: So many threads are replaced while what they do has been given up, where nothing else is said;
#: after that work waits for one of them. Each takes its part of the processor: more would help
#: nobody.
MOST_LOST: Final = 4
#: Time is counted in steps: a process that was stopped for an hour has not worked for an hour.
STEP_S: Final = 0.5
#: A thread that has had nothing to do for so long ends: whoever imports us keeps none.
IDLE_S: Final = 2.0

T = TypeVar("T")
#: All that were made.
_ALL: Final[WeakSet[Threads]] = WeakSet()


def any_work() -> bool:
    """Whether some thread still works: in a C library it would abort an interpreter that ends."""
    return any(each.is_at_work for each in _ALL)


class TookTooLong(MonitorError):
    """A work has not ended within its time. It goes on, and nobody hears of its result."""


class Escaped(MonitorError):
    """A work raised what a task may not: it would end the event loop, or nobody would hear of it.

    Such are SystemExit, a cancellation, the panic of a library in Rust, and StopIteration. ``name``
    is that of its type.
    """

    def __init__(self, error: BaseException) -> None:
        self.name, text = type(error).__name__, ""
        with suppress(Exception):  # whatever it is, somebody waits for this one
            text = str(error)
        super().__init__(text or self.name)


def raised(error: Exception) -> str:
    """The name of what a work raised.

    >>> raised(ValueError("x")), raised(Escaped(SystemExit(1)))
    ('ValueError', 'SystemExit')
    """
    return error.name if isinstance(error, Escaped) else type(error).__name__


class _Job(Generic[T]):
    def __init__(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()
        self.has_begun = self.has_ended = self.is_unwanted = self.is_lost = False

    def run(self) -> None:
        """In the thread: do it, and tell the event loop."""
        try:
            result = self._function(*self._arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits for it
            may_pass = isinstance(error, Exception) and not isinstance(error, StopIteration)
            self._tell(self.future.set_exception, error if may_pass else Escaped(error))
        else:
            self._tell(self.future.set_result, result)

    def _tell(self, settle: Callable[[Any], None], what: object) -> None:
        def notify() -> None:
            if not (self.is_unwanted or self.future.done()):
                settle(what)

        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(notify)


class Threads:
    """At most so many works at a time; the others wait for their turn.

    ``limit_s`` is for how many seconds one may work (None: for ever), counted from its beginning.
    So many threads as ``most_lost`` are replaced while what they do has been given up.
    """

    def __init__(
        self,
        name: str,
        most: int = 2,
        limit_s: float | None = None,
        most_lost: int = MOST_LOST,
    ) -> None:
        self._name, self._most, self._limit_s = name, most, limit_s
        self._most_lost = most_lost
        self._jobs: deque[_Job[Any]] = deque()
        self._changed = threading.Condition()
        # Threads that take jobs, those of them that wait for one, and those that are given up.
        self._working = self._idle = self._lost = 0
        _ALL.add(self)

    @property
    def is_at_work(self) -> bool:
        """Whether one of them is at a work, wanted or not."""
        return self._lost > 0 or self._working > self._idle

    @property
    def lost(self) -> int:
        """How many threads are at works that were given up."""
        return self._lost

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function returns or raises. Cancelled, this ends at once, and the work goes on.

        Raises ``TookTooLong`` after ``limit_s``; then another thread takes the place of this one.
        Raises ``Escaped`` where the function raised what a task may not.
        """
        job = _Job(function, arguments)
        with self._changed:
            self._jobs.append(job)
            self._staff()
        is_stuck = False
        try:
            return await self._ended(job)
        except TookTooLong:
            is_stuck = True
            raise
        finally:
            if self._give_up(job) and is_stuck:
                self._say_stuck()

    async def _ended(self, job: _Job[T]) -> T:
        worked_s = 0.0
        while True:
            works = job.has_begun
            await asyncio.wait({job.future}, timeout=None if self._limit_s is None else STEP_S)
            if job.future.done():
                return job.future.result()
            worked_s += STEP_S if works else 0.0
            if self._limit_s is not None and worked_s >= self._limit_s:
                raise TookTooLong(f"{self._name}: not done after {self._limit_s:g} s")

    def _give_up(self, job: _Job[Any]) -> bool:
        """Nobody waits for it any more: where it goes on, another thread takes its place.

        Whether that was the last one that is replaced.
        """
        with self._changed:
            job.is_unwanted = True
            if job in self._jobs:  # what it works on is not held until its turn comes
                self._jobs.remove(job)
            if not job.has_begun or job.has_ended or self._lost >= self._most_lost:
                return False
            job.is_lost = True
            self._lost += 1
            self._working -= 1
            self._staff()
            return self._lost >= self._most_lost

    def _say_stuck(self) -> None:
        # Not of works that were cancelled, as at the end of a process: nobody knows of them.
        logger().error(
            "threads_stuck",
            work=self._name,
            threads=self._most_lost,
            hint="no more of them are replaced; if this goes on, restart the process",
        )

    def _staff(self) -> None:
        """One of those that wait is woken, or another thread begins where there may be more."""
        if len(self._jobs) > self._idle and self._working < self._most:
            self._working += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._changed.notify()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            if job.has_begun:
                job.run()
                if not self._goes_on(job):
                    return
            del job  # not held until the next one comes

    def _next(self) -> _Job[Any] | None:
        """The next job, which has begun if anybody wants it; None: there was none for a while."""
        with self._changed:
            self._idle += 1
            while not self._jobs:
                if not self._changed.wait(IDLE_S) and not self._jobs:
                    self._working -= 1
                    break
            self._idle -= 1
            if not self._jobs:
                return None
            job = self._jobs.popleft()
            job.has_begun = not job.is_unwanted
            return job

    def _goes_on(self, job: _Job[Any]) -> bool:
        with self._changed:
            job.has_ended = True
            if not job.is_lost:
                return True
            self._lost -= 1
            if self._working >= self._most:
                return False  # another one has taken its place
            self._working += 1
            return True
