"""An installation without the extra ``llm``: what asks no model works, all else says what to do."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.stages.installed_without import ran_without

#: The packages of the extra.
EXTRA = ("litellm", "openai", "stamina", "tiktoken", "tokenizers")
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


SETTINGS = " --config monitor.yaml"
ASKING = (
    "config check",
    "score",
    "run",
    "plan --traffic 1/s --budget 20usd/day",
    "judge-check",
)
DOCTOR = "doctor --json"
EVALUATE = "evaluate in.jsonl --judge offline --out scores.jsonl"
EXPORT = "export --from-file scores.jsonl --at 2026-11-20T12:01:00Z --print"

Ran = dict[str, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """What came of each command, in such a Python."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "monitor.yaml").write_text(LLM, "utf-8")
    (folder / "in.jsonl").write_text(json.dumps(INTERACTION) + "\n", "utf-8")
    commands = {each: each + SETTINGS for each in (*ASKING, DOCTOR)}
    commands |= {each: each for each in (EVALUATE, EXPORT)}
    done = ran_without(EXTRA, folder, [each.split() for each in commands.values()])
    return dict(zip(commands, done, strict=True))


@pytest.mark.parametrize("command", ASKING)
def test_what_asks_a_model_says_what_is_missing(ran: Ran, command: str) -> None:
    """At once, before a port is bound or a broker looked for; in one line, with exit code 2."""
    done = ran[command]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"rag-monitor: {SAID}\n"


def test_doctor_says_it_too(ran: Ran) -> None:
    """As a line of its own, that fails."""
    done = ran[DOCTOR]
    (failed,) = [line for line in json.loads(done.stdout) if line["status"] == "FAIL"]
    assert f"{failed['target']}: {failed['found']}" == SAID
    assert done.returncode == 1


def test_the_offline_judge_and_the_gauges_need_none_of_it(ran: Ran) -> None:
    """A file is judged, and its score records become gauges."""
    judged, shown = ran[EVALUATE], ran[EXPORT]
    assert judged.returncode == 0, judged.stderr
    assert shown.returncode == 0, shown.stderr
    assert 'rag_score{application="support-bot"' in shown.stdout
