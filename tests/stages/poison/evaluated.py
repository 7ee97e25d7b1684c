"""The hostile records that a file can hold, through ``rag-monitor evaluate``, with good ones."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.servers.guarded import GuardedProcess
from tests.servers.judge_server import JudgeServer
from tests.stages.poison.calls import Tally
from tests.stages.poison.findings import CALLS, MEMORY_MB
from tests.stages.poison.records import Poison, good, lines
from tests.stages.poison.watched import peak_mb
from tests.stages.process import until


async def evaluated(
    directory: Path,
    judge: JudgeServer,
    tally: Tally,
    poisons: Sequence[Poison],
    around: int,
    patience_s: float,
) -> list[str]:
    """What is not as it must be."""
    file, out, log = (directory / f"evaluate.{end}" for end in ("jsonl", "out", "log"))
    names = _write(file, poisons, around)
    env = {
        "RAG_MONITOR_JUDGE__API_BASE": judge.url,
        "RAG_MONITOR_JUDGE__API_KEY": "none",
        "RAG_MONITOR_JUDGE__CONCURRENCY": "32",
    }
    exports = [f"{key}={value}" for key, value in env.items()]
    command = ["evaluate", str(file), "--judge", "llm", "--model", "openai/judge"]
    process = GuardedProcess(
        ["env", *exports, sys.executable, "-m", "monitor", *command, "--out", str(out)], log
    )
    memory, began = 0.0, time.monotonic()

    def ended() -> bool:
        nonlocal memory
        memory = max(memory, peak_mb(process.pid))
        return not process.alive()

    try:
        await until(ended, "its end", patience_s, every_s=0.05)
    except TimeoutError:
        return [f"evaluate: not ended after {time.monotonic() - began:.0f} s"]
    finally:
        process.kill()
    return _wrong(process.exit_code(), out, log, names, tally) + (
        [f"evaluate: {memory:.0f} MB"] if memory > MEMORY_MB else []
    )


def _write(file: Path, poisons: Sequence[Poison], around: int) -> list[str]:
    """The names of the good ones."""
    names: list[str] = []
    with file.open("wb") as out:
        for poison in poisons:
            before = [f"good_{poison.name}_before_{i}" for i in range(around)]
            after = [f"good_{poison.name}_after_{i}" for i in range(around)]
            each = [*map(good, before), *poison.made(), *map(good, after)]
            out.writelines(line + b"\n" for line in lines(each))
            names += [*before, *after]
    return names


def _wrong(code: int | None, out: Path, log: Path, names: list[str], tally: Tally) -> list[str]:
    said = log.read_text("utf-8", "replace")
    wrong = [] if code == 1 else [f"evaluate: exit code {code}: {said[-300:]}"]
    if "Traceback" in said:
        wrong.append("evaluate: a traceback")
    # Not splitlines: an id may hold what it takes for the end of a line.
    records = [json.loads(line) for line in out.read_bytes().split(b"\n") if line]
    scored = Counter(one["interaction_id"] for one in records if one["outcome"] == "scored")
    if lost := [name for name in names if scored[name] != 1]:
        wrong.append(f"evaluate: {len(lost)} of {len(names)} good ones not scored: {lost[:3]}")
    whose, calls = tally.most()
    return wrong + ([f"evaluate: {calls} calls for {whose}"] if calls > CALLS else [])
