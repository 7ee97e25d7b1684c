"""``demo --stack`` from outside: alerts on the terminal, and nothing that outlives it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import psutil

from tests.servers.alert_stack import HOW_TO_GET_PROMETHEUS, missing_stack
from tests.servers.guarded import GuardedProcess
from tests.stages.demo import checked, demo
from tests.stages.process import until
from tests.tools import requires_tool

#: Slow enough for a busy machine to keep up with, and long enough for a page that takes its time.
INCIDENT = ("--rate", "16", "--incident-at", "32", "--incident-for", "30")


def servers_of(place: Path) -> list[psutil.Process]:
    """The running Prometheus and Alertmanager whose files lie under a temporary folder."""
    return [
        each
        for each in psutil.process_iter(["name", "cmdline"])
        if "prometheus" in each.info["name"] and str(place) in " ".join(each.info["cmdline"] or ())
    ]


def folders(place: Path) -> list[Path]:
    """What stacks have left."""
    return list(place.glob("rag-monitor-stack-*"))


async def test_a_page_arrives_and_is_resolved(tmp_path: Path) -> None:
    """With the alarm's sentence; addresses are printed; Ctrl-C ends everything with code 0.

    A busy machine sends it before what changed has been read, and then it says that. What a page
    says with it, unit/rules/test_stories.py holds.
    """
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    code, lines, errors = await demo(
        "--stack",
        *INCIDENT,
        environment={"TMPDIR": str(tmp_path)},
        interrupt_after="✉ page RESOLVED RagQualityDrift",
    )
    assert code == 0, errors
    assert "; prometheus: http://127.0.0.1:" in lines[0]
    assert "; alertmanager: http://127.0.0.1:" in lines[0]
    summary = checked(json.loads(lines[-1]))
    (watchdog,) = [n for n in summary["notifications"] if n["receiver"] == "watchdog"]
    assert watchdog["alerts"] == ["RagMonitorWatchdog"]
    told = summary["notifications"]
    fired, *_, ended = [n for n in told if n["alerts"] == ["RagQualityDrift"]]
    assert {n["receiver"] for n in (fired, ended)} == {"page"}
    assert not [n for n in told if "RagMonitorDown" in n["alerts"]]
    assert fired["status"] == "firing"
    (said,), (over,) = fired["descriptions"], ended["descriptions"]
    assert said.startswith("support-bot: wrong claims from irrelevant passages ")
    changed = (" UTC. Judge failures 0 % (normal); ", " What changed is not known (yet), see ")
    assert any(sentence in said for sentence in changed)
    assert ended["status"] == "resolved"
    assert re.match(r"support-bot: wrong claims from irrelevant passages back at \d+ % ", over)
    assert servers_of(tmp_path) == []
    assert folders(tmp_path) == []


async def test_what_it_started_dies_with_it(tmp_path: Path) -> None:
    """Also when it is killed and can end nothing itself."""
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    command = ["env", f"TMPDIR={tmp_path}", sys.executable, "-m", "monitor", "demo", "--stack"]
    running = GuardedProcess(command, tmp_path / "demo.log")
    try:
        await until(lambda: len(servers_of(tmp_path)) == 2, "both servers")
    finally:
        running.kill()
    await until(lambda: not servers_of(tmp_path), "their end")


async def test_a_server_that_ends_by_itself_ends_the_demo(tmp_path: Path) -> None:
    """Code 3 and one line with its name, rather than a picture without alerts."""
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    command = ["env", f"TMPDIR={tmp_path}", sys.executable, "-m", "monitor", "demo", "--stack"]
    running = GuardedProcess(command, tmp_path / "demo.log")
    try:
        found = await until(lambda: _ready(tmp_path), "a Prometheus that is ready")
        found.kill()
        await until(lambda: not running.alive(), "the end of the demo")
        assert running.exit_code() == 3
        last = (tmp_path / "demo.log").read_text("utf-8").splitlines()[-1]
        # It says that it is ready a moment before the demo asks.
        ends = ("rag-monitor: prometheus has ended: …", "rag-monitor: prometheus did not start: …")
        assert last.startswith(ends)
        assert servers_of(tmp_path) == []
    finally:
        running.kill()


def _ready(place: Path) -> psutil.Process | None:
    logs = [
        log.read_text("utf-8") for each in folders(place) for log in each.glob("prometheus.log")
    ]
    if not any("Server is ready" in log for log in logs):
        return None
    return next(each for each in servers_of(place) if each.name() == "prometheus")


async def test_what_is_missing_is_named_in_one_line(tmp_path: Path) -> None:
    """Code 2, the programs and the packages that bring them; nothing is begun."""
    code, lines, errors = await demo("--stack", environment={"PATH": str(tmp_path)})
    assert (code, lines) == (2, [])
    (line,) = errors.splitlines()
    assert line == (
        "rag-monitor: the stack needs Prometheus and Alertmanager: no prometheus and "
        "prometheus-alertmanager on PATH: apt-get install prometheus prometheus-alertmanager"
    )


async def test_without_its_configuration_it_says_where_to_get_it(tmp_path: Path) -> None:
    """Code 2: an installed package brings no deploy/."""
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    code, lines, errors = await demo("--stack", "--deploy", str(tmp_path))
    assert (code, lines) == (2, [])
    assert "name it by --deploy" in errors
