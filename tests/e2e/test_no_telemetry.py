"""No telemetry: a process looks up and connects to what its settings name, and to nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.servers.forked import ForkedProcess
from tests.servers.guarded import GuardedProcess
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.process import StartedProcess, asking, outcomes, until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

ROOT = Path(__file__).parents[2]
CASES = 4
#: Read by every Python that finds it on its path: each name that is looked up, and each address
#: that is connected or sent to, becomes a line, before anything is done about it.
HEARS = """
import json, os, sys

_LOG = os.open(os.environ["HEARD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def _heard(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        place = arguments[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        place = arguments[:2]
    else:
        return
    if place is None or isinstance(place, (str, bytes)) and event != "socket.gethostbyname":
        return  # a socket that is connected already, or one of this machine's files
    host, port = (*place, None)[:2] if isinstance(place, tuple) else (place, None)
    text = host.decode() if isinstance(host, bytes) else host
    os.write(_LOG, (json.dumps([event, text, port]) + "\\n").encode())

sys.addaudithook(_heard)
"""
#: A network of its own, with nothing in it but loopback, for a command.
ALONE = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
    fcntl.ioctl(some, 0x8914, struct.pack("16sH14s", b"lo", 0x1 | 0x40, b""))  # SIOCSIFFLAGS, up
    try:
        some.connect(("192.0.2.1", 9))
    except OSError:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
sys.exit("this network leads somewhere")
"""
#: That attempt is heard, too: so whatever else were tried would be.
TRIED = ("192.0.2.1", 9)
LOOPBACK = {"127.0.0.1", "::1", "localhost", None}
INTERACTION = {
    "interaction_id": "a",
    "timestamp": "2026-11-20T12:00:00Z",
    "application": "support-bot",
    "user_input": "How long is the warranty?",
    "response": "The warranty lasts 24 months.",
    "retrieved_contexts": ["The warranty lasts 24 months from the day of delivery."],
}


class Heard(NamedTuple):
    """Where a process's lookups and connections are written to, and the environment for that."""

    log: Path
    environ: dict[str, str]

    @property
    def places(self) -> set[tuple[str | None, int | None]]:
        """Host and port of each so far."""
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return {(host, port) for _, host, port in map(json.loads, lines)}


@pytest.fixture
def heard(tmp_path: Path) -> Heard:
    """For one process."""
    (tmp_path / "hears").mkdir()
    (tmp_path / "hears" / "sitecustomize.py").write_text(HEARS, "utf-8")
    log = tmp_path / "heard.jsonl"
    path = os.pathsep.join((str(tmp_path / "hears"), str(ROOT)))
    return Heard(log, {"PYTHONPATH": path, "HEARD": str(log)})


def alone() -> list[str]:
    """What puts before a command to give it a network of its own."""
    as_root = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", "--net", *as_root, sys.executable, "-c", ALONE]


def missing_namespace() -> str | None:
    """Why there is none to be had here; None where there is."""
    try:
        tried = [*alone(), "-c", "pass"]
        done = subprocess.run(tried, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "no unshare on PATH"
    return None if done.returncode == 0 else f"not permitted: {done.stderr.strip()[-200:]}"


def ran_alone(heard: Heard, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of ours, with loopback only."""
    return subprocess.run(
        [*alone(), "-m", "monitor", *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin:/usr/sbin", "HOME": str(folder), **heard.environ},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def test_all_that_needs_nobody_runs_alone(heard: Heard, tmp_path: Path) -> None:
    """Evaluate, export of a file and the demo, whose broker is in its process: with loopback only;
    they do not even try to reach, or to look up, anything else."""
    requires_tool("network namespaces", missing_namespace(), "root, or user namespaces")
    (tmp_path / "in.jsonl").write_text(json.dumps(INTERACTION) + "\n", "utf-8")
    judged = ran_alone(heard, tmp_path, "evaluate", "in.jsonl", "--out", "scores.jsonl")
    assert judged.returncode == 0, judged.stderr
    at = ("--at", "2026-11-20T12:01:00Z", "--print")
    shown = ran_alone(heard, tmp_path, "export", "--from-file", "scores.jsonl", *at)
    assert shown.returncode == 0, shown.stderr
    assert "rag_score{" in shown.stdout
    assert heard.places == {TRIED}
    demo = ran_alone(heard, tmp_path, "demo", "--for", "4", "--rate", "20", "--json")
    assert demo.returncode == 0, demo.stderr
    assert json.loads(demo.stdout.splitlines()[-1])["outcomes"]["scored"] > 0
    assert len(heard.places) > 1
    assert {host for host, _ in heard.places - {TRIED}} <= LOOPBACK


def test_a_model_is_asked_where_the_settings_say(heard: Heard, tmp_path: Path) -> None:
    """litellm fetches no list of prices, and tells nobody: without a network the one address that
    is tried is that of the judge."""
    requires_tool("network namespaces", missing_namespace(), "root, or user namespaces")
    (tmp_path / "in.jsonl").write_text(json.dumps(INTERACTION) + "\n", "utf-8")
    settings = "judge: {kind: llm, model: openai/gpt-4o-mini, api_key: none, deadline_s: 3, "
    settings += "api_base: 'http://127.0.0.1:9/v1'}\n"
    (tmp_path / "monitor.yaml").write_text(settings, "utf-8")
    done = ran_alone(heard, tmp_path, "evaluate", "in.jsonl", "--config", "monitor.yaml")
    assert "127.0.0.1:9" in done.stderr or "judge_failed" in done.stdout + done.stderr, done.stderr
    assert heard.places == {TRIED, ("127.0.0.1", 9)}


async def test_a_monitor_talks_to_its_broker_and_its_judge(
    kafka_broker: RunningBroker, make_topics: MakeTopics, heard: Heard, tmp_path: Path
) -> None:
    """Both roles, at work and judging by a model: whom the settings name is asked, and no other."""
    rng, broker = Random(25), kafka_broker.bootstrap
    cases = [case(f"t{i:03d}", rng, time.time() - 60, together=True) for i in range(CASES)]
    topics = await make_topics(partitions=1)

    class Hearing(StartedProcess):
        """It writes down whom it asks."""

        def _begun(
            self, module: str, command: Sequence[str], env: Mapping[str, str]
        ) -> GuardedProcess | ForkedProcess:
            return super()._begun(module, command, {**env, **heard.environ})

    async with JudgeServer(all_labels(cases)) as judge:
        monitor = Hearing("run", broker, tmp_path, "run", **asking(judge), **topics)
        try:
            await monitor.ready()
            await produce(broker, topics["kafka__topics__interactions"], as_logged(cases))

            async def all_scored() -> bool:
                return outcomes(await monitor.metrics()).get("scored") == CASES

            await until(all_scored, "scores")
        finally:
            await monitor.end()
        named = {("127.0.0.1", judge.port), ("127.0.0.1", int(broker.rpartition(":")[2]))}
    connected = {place for place in heard.places if place[1] is not None}
    # What binds its own port, or another name of this machine, may be looked up without a port.
    assert connected - {("127.0.0.1", 0)} == named
