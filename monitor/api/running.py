"""A coroutine run to its end from plain code, also where an event loop runs already (notebooks)."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import WRAPPER_ASSIGNMENTS, wraps
from typing import Any, ParamSpec, TypeVar

from monitor.api.callers import called_here

P = ParamSpec("P")
T = TypeVar("T")


def waited_for(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The same for plain code: it waits for the end. ``ascore`` becomes ``score``."""
    name = function.__name__.removeprefix("a").replace("_a", "_")

    check = getattr(function, "checked", None)

    @wraps(function, assigned=[each for each in WRAPPER_ASSIGNMENTS if each != "__doc__"])
    def waiting(*args: P.args, **kwargs: P.kwargs) -> T:
        with called_here():
            # Under the name that was called.
            kept = kwargs if check is None else check(name, args, kwargs)
            return to_its_end(lambda: function(*args, **kept))

    waiting.__qualname__ = function.__qualname__.replace(function.__name__, name)
    waiting.__name__ = name
    waiting.__doc__ = (
        f"``{function.__name__}``, waited for; also in a running event loop, as in a notebook.\n\n"
        f"    {function.__doc__}"
    )
    return waiting


def to_its_end(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What the coroutine returns or raises; its loop, thread and connections end with it.

    Within a running loop it runs in one of its own, in a thread, since a running loop cannot be
    entered twice: the caller is held up all the same. Ctrl-C cancels it, and waits for its end.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    beside = _LoopBeside(make)
    try:
        found: T = beside.result()
        return found
    finally:
        beside.end()


class _LoopBeside:
    """One coroutine in a loop and a thread of its own."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._make = make
        self._done: Future[Any] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run,), name="rag_monitor")
        self._thread.start()

    def result(self) -> Any:
        """Once it has ended."""
        return self._done.result()

    def end(self) -> None:
        """Cancel it where it still runs, and wait for its thread."""
        if self._thread.is_alive() and self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _run(self) -> None:
        try:
            found = asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits for it
            self._done.set_exception(error)
        else:
            self._done.set_result(found)

    async def _main(self) -> Any:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        return await self._make()
