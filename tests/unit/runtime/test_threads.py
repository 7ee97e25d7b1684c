"""Threads of one's own: what is stuck in them holds up neither others nor the process's end."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator

import pytest

from monitor.runtime.threads import MOST_LOST, Escaped, Threads, TookTooLong, raised
from tests.stages.process import until


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Set at the end, so that no thread of a test is left at work."""
    event = threading.Event()
    yield event
    event.set()


async def test_what_the_function_returns_or_raises() -> None:
    """As if it were called, in a thread that is a daemon."""
    threads = Threads("test")
    assert await threads.run(lambda a, b: a + b, 1, 2) == 3
    assert await threads.run(lambda: threading.current_thread().daemon)
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)


class Speechless(BaseException):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise ValueError("nothing to say")


@pytest.mark.parametrize("error", [Speechless(), StopIteration()])
async def test_an_error_that_has_no_words_has_a_name(error: BaseException) -> None:
    """Nobody waits for ever for what cannot be told, and the thread goes on."""
    threads = Threads("test", 1)

    def work() -> None:
        raise error

    async with asyncio.timeout(10):
        with pytest.raises(Escaped, match=type(error).__name__):
            await threads.run(work)
        assert await threads.run(lambda: 3) == 3


async def test_what_is_given_up_before_its_turn_is_held_no_longer(
    released: threading.Event,
) -> None:
    """Not its arguments either: they may be large, and the work before it may never end."""
    threads, begun = Threads("test", 1, most_lost=0), threading.Event()

    class Large:
        pass

    def work(_held: object) -> None:
        begun.set()
        released.wait()

    first = asyncio.create_task(threads.run(work, None))
    await until(begun.is_set, "the thread", every_s=0.01)
    large = Large()
    gone = weakref.ref(large)
    second = asyncio.create_task(threads.run(work, large))
    await asyncio.wait({second}, timeout=0.05)
    second.cancel()
    await asyncio.wait({second})
    del large, second
    gc.collect()
    assert gone() is None
    released.set()
    await first


@pytest.mark.parametrize(
    "error", [StopIteration(3), SystemExit(7), asyncio.CancelledError("c"), KeyboardInterrupt()]
)
async def test_what_no_task_may_raise_is_raised_as_an_error(error: BaseException) -> None:
    """It ends no loop, cancels nobody, and is heard of; the name is that of the function's own."""

    def work() -> None:
        raise error

    async with asyncio.timeout(10):
        with pytest.raises(Escaped) as caught:
            await Threads("test").run(work)
    name = type(error).__name__
    assert (raised(caught.value), str(caught.value)) == (name, str(error) or name)


async def test_no_thread_is_replaced_where_one_at_a_time_is_promised(
    released: threading.Event,
) -> None:
    """Work that has been given up goes on: the next one waits for its end."""
    threads, begun = Threads("test", 1, most_lost=0), list[str]()

    def work(name: str) -> str:
        begun.append(name)
        released.wait()
        return name

    first = asyncio.create_task(threads.run(work, "first"))
    await until(lambda: bool(begun), "the thread", every_s=0.01)
    first.cancel()
    second = asyncio.create_task(threads.run(work, "second"))
    await asyncio.wait({second}, timeout=0.3)
    assert begun == ["first"]
    released.set()
    assert await second == "second"


async def test_no_more_than_so_many_work_at_a_time(released: threading.Event) -> None:
    """The others wait for their turn, and all of them come to it."""
    threads, working, most = Threads("test", 2), set[int](), [0]

    def work(number: int) -> int:
        working.add(number)
        most[0] = max(most[0], len(working))
        released.wait(0.01)
        working.discard(number)
        return number

    assert await asyncio.gather(*(threads.run(work, i) for i in range(20))) == list(range(20))
    assert most[0] <= 2


async def test_a_work_that_does_not_end_is_given_up(released: threading.Event) -> None:
    """After its time; its place is given to another one, and it is counted until it ends."""
    threads = Threads("test", 1, limit_s=0.5)
    with pytest.raises(TookTooLong, match="test: not done after"):
        await threads.run(released.wait)
    assert threads.lost == 1
    assert await threads.run(lambda: "the next one") == "the next one"
    released.set()
    await until(lambda: threads.lost == 0, "the thread", every_s=0.01)
    assert await threads.run(lambda: "again") == "again"


async def test_waiting_for_a_turn_is_not_working(released: threading.Event) -> None:
    """The time counts from the beginning of the work, not from when it was asked for."""
    threads = Threads("test", 1, limit_s=2.0)
    works = [threads.run(released.wait, 1.2) for _ in range(2)]
    assert await asyncio.gather(*works) == [False, False]


async def test_who_is_cancelled_ends_at_once(released: threading.Event) -> None:
    """Whatever the thread does; a work that has not begun never begins."""
    threads, begun = Threads("test", 1), list[str]()

    def work(name: str) -> None:
        begun.append(name)
        released.wait()

    first = asyncio.create_task(threads.run(work, "first"))
    await until(lambda: bool(begun), "the thread", every_s=0.01)
    for _ in range(MOST_LOST):  # no more threads are lost than that
        threads.run(work, "nobody waits").close()
    second = asyncio.create_task(threads.run(work, "second"))
    await asyncio.sleep(0)
    for task in (second, first):
        task.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert first.cancelled()
    assert await threads.run(lambda: "the next one") == "the next one"
    assert begun == ["first"]


async def test_only_so_many_threads_are_replaced(released: threading.Event) -> None:
    """Each takes its part of the processor: after that work waits until one comes back."""
    threads = Threads("test", 1, limit_s=0.5)
    stuck = [asyncio.create_task(threads.run(released.wait)) for _ in range(MOST_LOST + 1)]
    ended = await asyncio.gather(*stuck, return_exceptions=True)
    assert [type(each) for each in ended] == [TookTooLong] * (MOST_LOST + 1)
    assert threads.lost == MOST_LOST
    waits = asyncio.create_task(threads.run(lambda: "at last"))
    await asyncio.sleep(0.1)
    assert not waits.done()
    released.set()
    assert await waits == "at last"


def test_a_stuck_thread_does_not_keep_the_process_from_ending() -> None:
    """The interpreter joins the threads of asyncio's own executor, and would wait for ever."""
    code = (
        "import asyncio, threading\n"
        "from monitor.runtime.threads import Threads\n"
        "async def main():\n"
        "    task = asyncio.create_task(Threads('t').run(threading.Event().wait))\n"
        "    await asyncio.sleep(0.2)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == 0


_LEFT_AT_WORK = """
import asyncio, re2
from monitor.__main__ import main
from monitor.runtime.threads import Threads

def search():
    return sum(1 for _ in re2.compile(r"EMP-[0-9]+(?:[^\\n]*;END)?").finditer("EMP-1 " * 300_000))

async def leave():
    work = asyncio.create_task(Threads("search").run(search))
    await asyncio.sleep(0.5)
    work.cancel()

main(lambda: asyncio.run(leave()))
"""


def test_a_process_ends_as_it_should_while_a_thread_is_within_a_c_library() -> None:
    """The interpreter would wait for its lock, and abort: exit code 134 after a clean end."""
    found = subprocess.run([sys.executable, "-c", _LEFT_AT_WORK], capture_output=True, timeout=60)
    assert (found.returncode, found.stderr) == (0, b"")
