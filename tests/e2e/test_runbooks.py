"""Every command of every runbook, against one demo stack in the middle of an incident."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import pytest
import yaml

from monitor.config import Settings
from tests.runbooks import RUNBOOKS, Command, commands
from tests.servers.alert_stack import HOW_TO_GET_PROMETHEUS, missing_stack
from tests.servers.guarded import GuardedProcess
from tests.servers.kafka_topics import Record, produce
from tests.stages.grafana import Asked
from tests.stages.process import until
from tests.tools import requires_tool

#: An incident that is not over before the tests are; a busy machine keeps up with it.
DEMO: Final = ("demo", "--stack", "--rate", "15", "--incident-at", "45", "--incident-for", "3600")
#: The demo's own, for commands that compute something from the settings.
SETTINGS: Final = {
    "sampling": {"rate": 0.5},
    "export": {"windows": "15s,1m,5m", "segment": "tenant"},
    "drift": {"learn_slots": 200, "learn_for": "0s", "learn_wait": "2s", "settle": "2s"},
}
#: What the demo has: a command that prints nothing without it prints something here.
IS_THERE: Final = "without export.segment"
TOOLS: Final = {"curl": "curl", "amtool": "prometheus-alertmanager", "promtool": "prometheus"}
#: For all commands of one runbook, on a busy machine.
LIMIT_S: Final = 400.0
#: Alerts that must be there before anything is looked at, and a series that comes last.
FIRING: Final = ("RagQualityDrift", "RagMonitorDeadLetters", "RagMonitorWatchdog")
EXPLAINED: Final = "max_over_time(rag_drift_change_info[1m])"


class Ended(NamedTuple):
    """How a command ended, and what it printed on both streams."""

    command: Command
    code: int
    printed: str

    def complaint(self) -> str | None:
        """What the runbook does not say of it, in one line."""
        if self.code not in self.command.codes:
            return f"exit code {self.code}: {self.command.text}: {self.printed[-500:]}"
        if not self.printed.strip() and not may_be_silent(self.command):
            return f"prints nothing: {self.command.text}"
        return None


def may_be_silent(command: Command) -> bool:
    """Whether it may print nothing where the demo runs."""
    return command.may_be_silent and not command.note.endswith(IS_THERE)


def started(place: Path) -> tuple[GuardedProcess, Path]:
    """The demo with its stack, and its log."""
    log = place / "demo.log"
    program = [sys.executable, "-m", "monitor", *DEMO]
    return GuardedProcess(["env", f"TMPDIR={place}", *program], log), log


async def addresses(demo: GuardedProcess, log: Path) -> dict[str, str]:
    """What the first line of the demo tells, by name."""

    def told() -> dict[str, str]:
        said = log.read_text("utf-8") if log.exists() else ""
        assert demo.alive(), said[-2000:]
        return dict(re.findall(r"(metrics|prometheus|alertmanager|kafka): ([^\s;]+)", said))

    async def all_told() -> dict[str, str]:
        found = told()
        return found if len(found) == 4 else {}

    found: dict[str, str] = await until(all_told, "the addresses of the stack")
    return found


async def is_ready(prometheus: str) -> bool:
    """Whether it answers questions."""
    try:
        async with aiohttp.request("GET", f"{prometheus}/-/ready") as answer:
            return answer.status == 200
    except aiohttp.ClientConnectionError:
        return False


async def incident(kafka: str, prometheus: str) -> str:
    """Plant records that nobody can read, and wait until all is told; the judge's label."""
    topic = Settings().kafka.topics.interactions[0]
    await produce(kafka, topic, [Record(f"no JSON {number}".encode()) for number in range(3)])
    await until(lambda: is_ready(prometheus), "a Prometheus that is ready")
    async with Asked(prometheus) as asked:

        async def now(query: str) -> list[dict[str, str]]:
            return [series["metric"] for series in await asked.instant(query, time.time())]

        async def is_told() -> bool:
            firing = {each["alertname"] for each in await now('ALERTS{alertstate="firing"}')}
            return firing >= set(FIRING) and bool(await now(EXPLAINED))

        what = "an alarm, dead letters, and what is told of them"
        await until(is_told, what, patience_s=LIMIT_S, every_s=0.5)
        (judge,) = await now("rag_judge_info")
        return judge["judge"]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a person who has set the variables, while the stack runs."""
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    for name, package in TOOLS.items():
        missing = None if shutil.which(name) else f"no {name} on PATH"
        requires_tool(name, missing, f"apt-get install {package}")
    place = tmp_path_factory.mktemp("runbooks")
    demo, log = started(place)
    try:
        at = asyncio.run(addresses(demo, log))
        judge = asyncio.run(incident(at["kafka"], at["prometheus"]))
        known = {**prepared(place, at), "LOG": str(log), "JUDGE": judge}
        yield {**known, "PLACE": letter(known)}
    finally:
        demo.end()


def prepared(place: Path, at: Mapping[str, str]) -> dict[str, str]:
    """Addresses, a configuration, and a ``rag-monitor`` on PATH that is the one under test."""
    program = place / "bin" / "rag-monitor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m monitor "$@"\n')
    program.chmod(0o755)
    metrics = at["metrics"].removesuffix("/metrics")
    file = place / "monitor.yaml"
    http = {"port": int(metrics.rpartition(":")[2])}
    kafka = {"bootstrap_servers": at["kafka"]}
    file.write_text(yaml.safe_dump({"kafka": kafka, "http": http, **SETTINGS}))
    return {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PROMETHEUS_URL": at["prometheus"],
        "ALERTMANAGER_URL": at["alertmanager"],
        "METRICS_URL": metrics,
        "RAG_MONITOR_CONFIG": str(file),
        "APPLICATION": "support-bot",
        "SEVERITY": "page",
        "METRIC": "noise_sensitivity_irrelevant",
    }


def letter(environment: Mapping[str, str]) -> str:
    """Partition and offset of a dead letter."""
    asked = ["rag-monitor", "dead-letters", "list", "--json", "--max", "1"]
    found = subprocess.run(asked, env=dict(environment), capture_output=True, check=True).stdout
    (row,) = json.loads(found)
    return f"{row['partition']}/{row['offset']}"


def script(number: int, command: Command, times: int) -> str:
    """What runs it, and keeps its output and exit code.

    A lasting change closes its alarm about once in some thousand judged, which is minutes here,
    and opens it again; what there is of an open alarm comes back with the next scrape. So who
    finds nothing asks again.
    """
    once = f"{{ {command.text}\n}} >{number}.out 2>&1 </dev/null; echo $? >{number}.code"
    if command.promql is None or may_be_silent(command):
        return once
    again = f"for again in $(seq {times})"
    return f"{again}\ndo {once}; grep -q . {number}.out && break; sleep 1\ndone"


def ran(
    listed: list[Command], place: Path, environment: Mapping[str, str], times: int = 20
) -> list[Ended]:
    """All commands in one shell, one after another, each with its own output.

    Who finds nothing asks so many ``times``.
    """
    scripts = [script(number, command, times) for number, command in enumerate(listed)]
    subprocess.run(
        ["bash", "-c", "\n".join(scripts)],
        cwd=place,
        env=dict(environment),
        timeout=LIMIT_S,
        check=True,
    )
    return [
        Ended(
            each,
            int((place / f"{number}.code").read_text()),
            (place / f"{number}.out").read_text("utf-8", "replace"),
        )
        for number, each in enumerate(listed)
    ]


@pytest.fixture(scope="module")
def known() -> dict[Command, Ended]:
    """How commands have ended: what several runbooks ask is asked once, of the same stack."""
    return {}


@pytest.mark.parametrize("name", RUNBOOKS)
def test_every_command_works(
    name: str, tmp_path: Path, terminal: dict[str, str], known: dict[Command, Ended]
) -> None:
    """It ends with 0 and prints something, or does what its comment says."""
    listed = commands(RUNBOOKS[name])
    new = [each for each in dict.fromkeys(listed) if each not in known]
    known.update(zip(new, ran(new, tmp_path, terminal), strict=True))
    ended = [known[each] for each in listed]
    print("".join(f"$ {each.command.text}\n{each.printed}\n" for each in ended))
    print(f"{name}: {len(ended)} commands")
    assert [complaint for each in ended if (complaint := each.complaint())] == []


def test_what_does_not_work_is_seen(tmp_path: Path) -> None:
    """A wrong exit code and silence are complaints, unless the comment says so."""
    told = [
        Command("false", ""),
        Command("false", "exit code 1: always"),
        Command("true", ""),
        Command("true", "prints nothing"),
        Command("true", f"prints nothing {IS_THERE}"),
        Command("echo found", ""),
    ]
    complaints = [each.complaint() for each in ran(told, tmp_path, os.environ)]
    assert complaints == [
        "exit code 1: false: ",
        "prints nothing: false",
        "prints nothing: true",
        None,
        "prints nothing: true",
        None,
    ]


def test_who_finds_nothing_in_prometheus_asks_again(tmp_path: Path) -> None:
    """Until there is something, and not for ever."""
    (tmp_path / "promtool").write_text(
        '#!/bin/sh\necho >>asked\ntest "$(wc -l <asked)" != "$4" || echo found\n'
    )
    (tmp_path / "promtool").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PROMETHEUS_URL": "x"}
    ask = 'promtool query instant "$PROMETHEUS_URL" "{}"'
    told = [Command(ask.format(number), "") for number in (2, 0)]
    assert [each.printed for each in ran(told, tmp_path, environment, 3)] == ["found\n", ""]
    assert (tmp_path / "asked").read_text() == "\n" * 5
