"""An installation without the extra ``llm``: what asks no model works, all else says what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: A Python in which the extra's packages cannot be found, as where they are not installed.
HIDDEN = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.partition(".")[0] in {"litellm", "openai", "stamina", "tiktoken", "tokenizers"}:
            return None
        return PathFinder.find_spec(fullname, path, target)

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from rag_monitor.__main__ import main
main()
"""
LLM = "judge: {kind: llm, model: openai/gpt-4o-mini}\n"
SAID = (
    "judge.kind: llm needs litellm and stamina, which this installation leaves out; "
    "pip install 'rag-monitor[llm]'"
)
INTERACTION = {
    "interaction_id": "a",
    "timestamp": "2026-11-20T12:00:00Z",
    "application": "support-bot",
    "user_input": "How long is the warranty?",
    "response": "The warranty lasts 24 months.",
    "retrieved_contexts": ["The warranty lasts 24 months from the day of delivery."],
}


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in such a Python."""
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        "config check",
        "score",
        "run",
        "plan --traffic 1/s --budget 20usd/day",
        "judge-check",
    ],
)
def test_what_asks_a_model_says_what_is_missing(tmp_path: Path, command: str) -> None:
    """At once, before a port is bound or a broker looked for; in one line, with exit code 2."""
    (tmp_path / "monitor.yaml").write_text(LLM, "utf-8")
    done = ran(tmp_path, *command.split(), "--config", "monitor.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"rag-monitor: {SAID}\n"


def test_doctor_says_it_too(tmp_path: Path) -> None:
    """As a line of its own, that fails."""
    (tmp_path / "monitor.yaml").write_text(LLM, "utf-8")
    done = ran(tmp_path, "doctor", "--json", "--config", "monitor.yaml")
    (failed,) = [line for line in json.loads(done.stdout) if line["status"] == "FAIL"]
    assert f"{failed['target']}: {failed['found']}" == SAID
    assert done.returncode == 1


def test_the_offline_judge_and_the_gauges_need_none_of_it(tmp_path: Path) -> None:
    """A file is judged, and its score records become gauges."""
    (tmp_path / "in.jsonl").write_text(json.dumps(INTERACTION) + "\n", "utf-8")
    judged = ran(tmp_path, "evaluate", "in.jsonl", "--judge", "offline", "--out", "scores.jsonl")
    assert judged.returncode == 0, judged.stderr
    at = ("--at", "2026-11-20T12:01:00Z", "--print")
    shown = ran(tmp_path, "export", "--from-file", "scores.jsonl", *at)
    assert shown.returncode == 0, shown.stderr
    assert 'rag_score{application="support-bot"' in shown.stdout
