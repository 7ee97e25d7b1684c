"""What runs in the background never ends unseen."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest
from structlog.testing import capture_logs

from monitor.errors import DependencyRefused
from monitor.runtime.supervision import meanwhile

WORDS = "what a user wrote"


async def _for_ever(cleaned: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        cleaned.append("ended")


async def _fails(error: Exception) -> None:
    await asyncio.sleep(0)
    raise error


async def test_works_end_with_the_block() -> None:
    """And with their clean-up; nothing of them is left."""
    before, cleaned = asyncio.all_tasks(), list[str]()
    async with meanwhile(("one", _for_ever(cleaned)), ("other", _for_ever(cleaned))):
        await asyncio.sleep(0)
    assert cleaned == ["ended"] * 2
    assert asyncio.all_tasks() == before


async def test_one_that_fails_ends_the_block_and_the_others() -> None:
    """The error names it, and has none of its words; the log says what it was."""
    cleaned: list[str] = []
    works = (("the other", _for_ever(cleaned)), ("the publisher", _fails(ValueError(WORDS))))
    with capture_logs() as lines, pytest.raises(ExceptionGroup) as failed:
        async with meanwhile(*works):
            await asyncio.Event().wait()
    (error,) = failed.value.exceptions
    assert (type(error), str(error)) == (RuntimeError, "the publisher failed with ValueError")
    assert error.__suppress_context__, "its words would stand in the traceback"
    assert [(line["event"], line["what"]) for line in lines] == [("task_failed", "the publisher")]
    assert cleaned == ["ended"]


async def test_a_refusal_stays_what_it_is() -> None:
    """So that the process ends with its one line, and the code of a dependency."""
    with capture_logs() as lines, pytest.raises(ExceptionGroup) as failed:
        async with meanwhile(("the publisher", _fails(DependencyRefused("Kafka says no")))):
            await asyncio.Event().wait()
    assert [str(error) for error in failed.value.exceptions] == ["Kafka says no"]
    assert lines == []


async def test_what_fails_in_the_block_ends_the_works() -> None:
    """It comes out as it is in a group, as of any group of tasks."""
    cleaned: list[str] = []

    async def block() -> None:
        async with meanwhile(("one", _for_ever(cleaned))):
            await asyncio.sleep(0)
            raise KeyError(1)

    with pytest.raises(ExceptionGroup) as failed:
        await block()
    assert [type(error) for error in failed.value.exceptions] == [KeyError]
    assert cleaned == ["ended"]


async def test_a_work_that_has_not_begun_ends_in_silence() -> None:
    """A block may end before any work has had its turn, as by a signal right after the start."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        async with meanwhile(("one", _for_ever([])), ("other", _for_ever([]))):
            pass
        gc.collect()
    assert [str(each.message) for each in told] == []
