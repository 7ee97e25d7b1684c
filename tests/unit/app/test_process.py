"""A process that is told to stop before it has begun, or that reaches no broker yet."""

from __future__ import annotations

import asyncio
import gc
import warnings

import aiohttp
import pytest

from monitor.app.process import Monitor, Role
from monitor.config import load
from monitor.exporter.serve.alarm_page import FOLLOWS_NONE, STILL_TO_READ
from tests.stages.process import until


@pytest.mark.parametrize("roles", [("score",), ("export",), ("score", "export")])
async def test_a_stop_before_the_start_is_clean(roles: tuple[Role, ...]) -> None:
    """SIGTERM may come while everything is still being imported; then no work has had a turn."""
    stop = asyncio.Event()
    stop.set()
    flags = {"kafka.bootstrap_servers": "127.0.0.1:9", "http.port": 0}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        await Monitor(load({}, flags=flags)).run(roles, stop)
        gc.collect()
    assert [str(each.message) for each in told] == []


@pytest.mark.parametrize(
    ("role", "pages"),
    [
        ("score", {"/alarms": FOLLOWS_NONE, "/": "This process knows of no alarms: see the page"}),
        ("export", dict.fromkeys(("/alarms", "/", "/alarms/any"), STILL_TO_READ)),
    ],
)
async def test_that_there_is_no_alarm_is_not_said_before_it_is_known(
    role: Role, pages: dict[str, str]
) -> None:
    """A scorer never reads alarms, and an exporter has not read them while no broker answers."""
    stop = asyncio.Event()
    flags = {"kafka.bootstrap_servers": "127.0.0.1:9", "http.port": 0}
    monitor = Monitor(load({}, flags=flags))
    running = asyncio.create_task(monitor.run([role], stop))
    try:
        await until(lambda: monitor.port, "it serves")
        async with aiohttp.ClientSession(f"http://127.0.0.1:{monitor.port}") as session:
            for path, said in pages.items():
                async with session.get(path) as answer:
                    page = await answer.text()
                assert said in page
                assert "There has been no alarm." not in page
                assert "No alarm is open" not in page
            async with session.get("/alarms/any") as answer:
                assert answer.status == (404 if role == "score" else 503)
    finally:
        stop.set()
        await running


async def test_what_is_spent_is_not_said_before_it_is_known() -> None:
    """A 0 that jumps to what was spent today would look like a pace."""
    flags = {
        "kafka.bootstrap_servers": "127.0.0.1:9",
        "http.port": 0,
        "judge.kind": "llm",
        "judge.model": "openai/any",
        "judge.price.input_usd_per_million": "1",
        "judge.price.output_usd_per_million": "1",
        "limits.usd_per_day": "5",
    }
    stop, monitor = asyncio.Event(), Monitor(load({}, flags=flags))
    running = asyncio.create_task(monitor.run(["score"], stop))
    try:
        await until(lambda: monitor.port, "it serves")
        async with aiohttp.ClientSession(f"http://127.0.0.1:{monitor.port}") as session:

            async def page() -> str:
                async with session.get("/metrics") as answer:
                    return await answer.text()

            async def has_budget() -> bool:
                return "\nrag_monitor_budget_usd_per_day 5.0" in await page()

            await until(has_budget, "the budget")
            lines = (await page()).splitlines()
    finally:
        stop.set()
        await running
    shown = {line.split(" ")[0] for line in lines if line.startswith("rag_monitor_budget_usd")}
    assert shown == {"rag_monitor_budget_usd_per_day"}
