"""The demo from outside: its gauges, its counts, its last line; on the judge of one's choice."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from tests.servers.judge_server import JudgeServer
from tests.stages.audit_site import SiteVisitor
from tests.stages.command import PATIENCE_S, running
from tests.stages.demo import checked, demo, traffic_labels
from tests.stages.process import parsed, total, until


async def test_two_demos_at_once_count_everything_and_show_the_incident() -> None:
    """Both end with code 0; all counts agree; the gauge rises in the incident of either."""
    arguments = ("--for", "16", "--incident-at", "7", "--incident-for", "5", "--rate", "80")
    ends = await asyncio.gather(demo(*arguments), demo(*arguments, "--seed", "2"))
    for code, lines, _ in ends:
        assert code == 0
        summary = checked(json.loads(lines[-1]))
        assert summary["first_gauge_s"] is not None
        moved = [
            summary["estimate"][phase]["noise_sensitivity_irrelevant"]
            for phase in ("before", "incident")
        ]
        assert moved[1]["lower"] > moved[0]["upper"]
        assert summary["judges"][0].startswith("offline@")


async def test_an_alarm_and_its_end_are_told_with_their_sentences() -> None:
    """Baseline, alarm and recovery as lines while they happen, and at the end again."""
    code, lines, errors = await demo(
        *("--rate", "16", "--incident-at", "32", "--incident-for", "16"),
        interrupt_after="recovered at",
    )
    assert code == 0, errors
    summary = checked(json.loads(lines[-1]))
    assert summary["baseline"]["slots"] == 200
    alarm = summary["alarms"][0]
    assert alarm["metric"] == "noise_sensitivity_irrelevant"
    assert alarm["answer"].startswith("noise_sensitivity_irrelevant of support-bot rose ")
    assert alarm["recovery"].startswith("recovered at ")
    assert alarm["opened_s"] < alarm["closed_s"]
    assert alarm["judged"] > 0
    for told in ("baseline learned from the first 200", alarm["answer"], alarm["recovery"]):
        assert [told in line for line in lines[:-1]].count(True) >= 2


async def test_it_opens_with_a_link_to_its_pages() -> None:
    """The first line has address and password; they end with it, and leave nothing behind."""
    with running("demo", "--incident-at", "300") as process:
        await until(lambda: "password" in process.out, "the link", PATIENCE_S)
        found = re.search(r"pages: (http://\S+) \(password (\w+)\)", process.out)
        assert found is not None
        url, password = found.groups()

        async def has_answers() -> bool:
            with suppress(aiohttp.ClientError):
                async with SiteVisitor(url) as visitor:
                    status, _ = await visitor.log_in(password)
                    _, page = await visitor.get("/interactions")
                    _, first = await visitor.get("/")
                    live = 'class="live"' in first and "support-bot" in first
                    return status == 200 and page.count("<tr>") > 10 and live
            return False

        await until(has_answers, "answers", PATIENCE_S)
        process.signal(signal.SIGINT)
        assert (await process.ended()).returncode == 0
        with pytest.raises(aiohttp.ClientConnectionError):
            async with SiteVisitor(url) as visitor:
                await visitor.get("/login")


async def test_an_interrupt_is_the_documented_end() -> None:
    """Ctrl-C: code 0, the summary as the last line, no traceback."""
    code, lines, errors = await demo(interrupt_after="faithfulness")
    assert code == 0
    checked(json.loads(lines[-1]))
    assert "Traceback" not in errors


async def test_the_demo_runs_on_a_model(tmp_path: Path) -> None:
    """``--judge llm``: the same traffic, judged over HTTP by labels, agrees with the truth."""
    labels, truths = traffic_labels(seed=3, count=200)
    async with JudgeServer(labels) as judge:
        environment = {
            "RAG_MONITOR_JUDGE__API_BASE": judge.url,
            "RAG_MONITOR_JUDGE__API_KEY": "none",
        }
        code, lines, errors = await demo(
            *("--for", "8", "--seed", "3", "--rate", "10", "--sampling", "1"),
            *("--incident-at", "900", "--judge", "llm", "--model", "openai/judge"),
            environment=environment,
        )
        assert judge.counts()["refused"] == 0, errors
    assert code == 0, errors
    summary = checked(json.loads(lines[-1]))
    assert summary["judges"][0].startswith("llm@")
    values = [v for v in truths[: summary["acknowledged"]] if v is not None]
    estimate = summary["estimate"]["before"]["faithfulness"]
    assert estimate["value"] == pytest.approx(sum(values) / len(values), abs=1e-9)
    assert estimate["samples"] == pytest.approx(len(values))


def test_a_page_is_parsed_with_its_labels() -> None:
    """The helper that all end-to-end tests rely on adds up what the labels select."""
    page = 'a_total{x="1",y="2"} 3\na_total{x="1",y="3"} 4\na_total{x="2",y="3"} 5\n'
    samples = parsed("# TYPE a counter\n" + page)
    assert total(samples, "a_total", x="1") == 7


@pytest.mark.parametrize("arguments", [[], ["--json"]])
async def test_a_terminal_keeps_what_it_shows(arguments: list[str]) -> None:
    """Eight kilobytes of JSON at the end would push it away; there they are asked for."""
    ours, theirs = pty.openpty()
    with running("demo", "--for", "3", *arguments, screen=Path(os.ttyname(theirs))) as process:
        reading = asyncio.create_task(asyncio.to_thread(_shown, ours))
        ended = await process.ended()
        os.close(theirs)
        shown = await reading
    assert ended.returncode == 0, ended.stderr
    assert b"rag-monitor demo" in shown
    assert (b'{"acknowledged"' in shown) == bool(arguments)


def _shown(ours: int) -> bytes:
    """All that is written to a terminal until nobody has it open."""
    shown = b""
    with suppress(OSError):  # Linux's way to say that nobody writes any more
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    return shown
