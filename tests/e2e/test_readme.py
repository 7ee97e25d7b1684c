"""The README, tried as somebody new would: its configuration and its commands, on a real broker.

Only what a reader has to bring is put in its place: the broker's address, the key, a provider.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

from tests.pages import blocks
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce
from tests.stages.command import rag_monitor, running
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.process import until
from tests.stages.topics import MakeTopics

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def commands() -> Iterator[list[str]]:
    """Every `rag-monitor …` of the README: of its blocks, and within sentences."""
    shown = "\n".join([*blocks(README, "sh"), *re.findall(r"`(rag-monitor [^`\n]+)`", README)])
    for line in re.findall(r"^rag-monitor ([^#\n]+)", shown, re.MULTILINE):
        yield line.split()


def variables() -> dict[str, str]:
    """What it says to export."""
    return dict(re.findall(r"^export (\w+)=(\S+)$", "\n".join(blocks(README, "sh")), re.MULTILINE))


def free_port() -> int:
    """One that nobody listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


async def test_every_command_of_the_readme_works(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Doctor finds nothing wrong; traffic is judged; status, worst, show and why tell of it."""
    (config, *_) = blocks(README, "yaml")
    given = variables()
    assert set(given) == {"RAG_MONITOR_CONFIG", "RAG_MONITOR_JUDGE__API_KEY_FILE"}
    file, key = tmp_path / given["RAG_MONITOR_CONFIG"], tmp_path / "judge-key"
    file.write_text(config.replace("kafka-1:9092", kafka_broker.bootstrap), "utf-8")
    key.write_text("none\n", "utf-8")
    topics = await make_topics(partitions=1)
    cases = [case(f"r{n}", Random(n), time.time()) for n in range(80)]
    todo = list(commands())
    assert {each[0] for each in todo} == {"doctor", "run", "status", "worst", "show", "why"}
    async with JudgeServer(all_labels(cases)) as judge:
        environ = {
            "RAG_MONITOR_CONFIG": str(file),
            "RAG_MONITOR_JUDGE__API_KEY_FILE": str(key),
            "RAG_MONITOR_JUDGE__API_BASE": judge.url,
            # Canaries ask what the labels do not know.
            "RAG_MONITOR_JUDGE__CANARIES": "0",
            "RAG_MONITOR_JUDGE__RECHECK_RATE": "0",
            "RAG_MONITOR_HTTP__PORT": str(free_port()),
            **{f"RAG_MONITOR_{name.upper()}": value for name, value in topics.items()},
        }
        with running("run", environ=environ) as monitor:
            await produce(
                kafka_broker.bootstrap, topics["kafka__topics__interactions"], as_logged(cases)
            )
            name = await _judged(environ)
            for words in (each for each in todo if each[0] != "run"):
                asked = [name if word == "ID" else word for word in words]
                done = await asyncio.to_thread(rag_monitor, *asked, environ=environ)
                # The judge of this test knows nothing of doctor's own pairs.
                assert done.returncode in ((0, 1) if words[0] == "doctor" else (0,)), done
                assert done.stdout.strip()
                assert "Traceback" not in done.stderr
            assert monitor.alive()


async def _judged(environ: dict[str, str]) -> str:
    """The id of a judged interaction, once there are three."""
    found: list[dict[str, str]] = []

    async def three() -> bool:
        done = await asyncio.to_thread(rag_monitor, "worst", "-n", "3", "--json", environ=environ)
        found[:] = json.loads(done.stdout or "[]")
        return len(found) == 3

    await until(three, "three judged interactions", every_s=1.0)
    return found[0]["interaction_id"]
