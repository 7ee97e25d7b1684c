"""A part in the background that fails ends the process, and the log says which it was."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.failing_beside import WORDS
from tests.servers.kafka_broker import RunningBroker
from tests.stages.process import MonitorProcess, until
from tests.stages.topics import MakeTopics

#: What is made to fail, and what it is called.
PARTS = {"pause-log": "the log of pauses", "outbox": "writing baselines"}


async def test_no_part_of_a_process_ends_unseen(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """It ends with code 1 and the part's name; nothing quotes what the error says."""
    topics, module = await make_topics(), "tests.e2e.failing_beside"
    failing = {
        part: MonitorProcess(part, kafka_broker.bootstrap, tmp_path, part, module=module, **topics)
        for part in PARTS
    }
    try:
        for part, monitor in failing.items():
            code = await until(monitor.exit_code, f"the end of the one with a failing {part}")
            said = monitor.log.read_text("utf-8")
            told = [one for one in monitor.events() if one["event"] == "task_failed"]
            assert code == 1, said
            assert told[0]["what"] == PARTS[part], said
            assert f"RuntimeError: {PARTS[part]} failed with ValueError" in said
            assert WORDS not in said
    finally:
        for monitor in failing.values():
            monitor.kill()
