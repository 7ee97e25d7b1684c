"""A command reads the files of the secrets that it uses, and of no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stages.command import rag_monitor

INTERACTION = {
    "interaction_id": "a",
    "timestamp": "2026-11-20T12:00:00Z",
    "application": "support-bot",
    "user_input": "How long is the warranty?",
    "response": "24 months.",
    "retrieved_contexts": ["The warranty lasts 24 months."],
}


@pytest.mark.parametrize(
    ("command", "code", "unused"),
    [
        ("traffic --timeout 0.1 --set kafka.bootstrap_servers=127.0.0.1:9", 3, "JUDGE__API_KEY"),
        ("ingest try IN", 0, "JUDGE__API_KEY"),
        ("evaluate IN", 0, "AUDIT__DATABASE"),
        ("judge-check --judge offline", 0, "AUDIT__DATABASE"),
        (
            # Few a day, and no metric to watch: what is simulated takes most of the time.
            "plan --traffic 20/day --budget 1usd/day --set judge.kind=llm --model openai/gpt-4o"
            " --set drift.metrics=[]",
            0,
            "AUDIT__DATABASE",
        ),
    ],
)
def test_it_may_be_absent(tmp_path: Path, command: str, code: int, unused: str) -> None:
    """The same environment serves all; a pod is given only the files that its role uses."""
    logged = tmp_path / "in.jsonl"
    logged.write_text(json.dumps(INTERACTION) + "\n", "utf-8")
    arguments = [logged if each == "IN" else each for each in command.split()]
    absent = {f"RAG_MONITOR_{unused}_FILE": str(tmp_path / "absent")}
    done = rag_monitor(*arguments, environ=absent)
    assert done.returncode == code, done.stderr
