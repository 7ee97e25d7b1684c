"""``judge-check`` as a process: tables, JSON, gates, exit codes."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from random import Random

import pytest

from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.records import read_score_record
from tests.servers.judge_server import Bias, JudgeServer
from tests.servers.stub_judge_server import StubJudgeServer
from tests.stages.command import left_alone, one_line, rag_monitor
from tests.stages.labelled_set import changed, entries, made_up
from tests.stages.plain import interaction
from tests.stages.stub_judges import HABITS, Erring, Stub

ROOT = Path(__file__).parents[3]
CLAIM_PAIRS = Path(__file__).parents[2] / "data" / "claim_pairs" / "dev.jsonl"


LOGGED = [
    interaction(f"i{n}", response=f"The warranty lasts 24 months. Shipping takes {n} days.")
    for n in range(2)
]


def test_offline_judge_in_json() -> None:
    """The offline judge on pairs: confusion, AUC and accuracy, over all and per phenomenon."""
    result = rag_monitor("judge-check", CLAIM_PAIRS, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["files"] == [{"name": str(CLAIM_PAIRS), "format": "pairs", "interactions": 240}]
    (judge,) = found["judges"]
    whole = judge["kinds"]["response_by_context"]
    assert sum(whole["agreement"]["confusion"].values()) == 240
    assert 0.5 < whole["auc"]["lower"] < whole["auc"]["value"] < whole["auc"]["upper"] < 1
    groups = judge["by"]["phenomenon"]["response_by_context"]
    assert len(groups) == 8
    assert sum(sum(g["agreement"]["confusion"].values()) for g in groups.values()) == 240
    assert all(g["agreement"]["accuracy"]["value"] is not None for g in groups.values())


def test_tables_are_plain_in_a_pipe() -> None:
    """No colours, no boxes, and every table that has something to tell."""
    result = rag_monitor("judge-check", CLAIM_PAIRS)
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    assert result.stdout.startswith("240 labelled interactions: ")
    for title in ("Verdicts ", "Verdicts by language", "Verdicts by phenomenon", "Metrics, from"):
        assert any(line.startswith(title) for line in result.stdout.splitlines())
    assert "by number of claims" not in result.stdout


@pytest.mark.parametrize(("gate", "code"), [("kappa<0.99", 1), ("kappa<0.1", 0)])
def test_gate_decides_the_exit_code(gate: str, code: int) -> None:
    """Exit code 1 where the gate holds; the report is printed all the same."""
    result = rag_monitor("judge-check", CLAIM_PAIRS, "--fail-if", gate)
    assert result.returncode == code
    assert f"fail if {gate}: {'FAIL' if code else 'ok'}" in result.stdout


def test_a_kind_that_could_not_be_measured_decides_the_exit_code(tmp_path: Path) -> None:
    """Labels of one interaction have no interval: a gate on the others alone names their kind."""
    kinds = "response_by_passage", "response_by_context"
    lines = []
    for n in range(20):
        said = f"Refunds take {14 if n % 2 else 30} days."
        passages = ["Refunds take 14 days."]
        texts = {"user_input": "How long?", "response": said, "retrieved_contexts": passages}
        labels = dict(zip(kinds, ([[n % 2 == 1]], [n % 2 == 1]), strict=True))
        line = {"interaction_id": f"i-{n}", "interaction": texts, "claims": {"response": [said]}}
        lines.append(json.dumps(line | {"verdicts": {k: labels[k] for k in kinds[: 1 + (n == 1)]}}))
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    gates = ["kappa_lower<0.6", f"{kinds[0]}.kappa_lower<0.6"]
    all_kinds, one = (rag_monitor("judge-check", path, "--fail-if", gate) for gate in gates)
    assert (all_kinds.returncode, one.returncode) == (1, 0)
    said = f"fail if {gates[0]}: FAIL: offline/{kinds[1]} not measured"
    assert said in all_kinds.stdout


@pytest.mark.parametrize(("gate", "code"), [("kappa<0.99", 1), ("kappa<0.1", 0)])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_who_leaves_changes_no_exit_code(form: list[str], gate: str, code: int) -> None:
    """Behind ``| head -1`` the gate alone decides, and nobody complains."""
    line, done = left_alone("judge-check", CLAIM_PAIRS, *form, "--fail-if", gate)
    assert line.endswith(b"\n")
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["no-such-file"], "no-such-file: No such file or directory"),
        ([CLAIM_PAIRS, "--format", "csv"], "--format: found 'csv', expected native, pairs, rag"),
        ([CLAIM_PAIRS, "--pipeline", "joint"], "--pipeline: the offline judge has none; give"),
        ([CLAIM_PAIRS, "--judge", "llm"], "judge: model is missing"),
        (
            [CLAIM_PAIRS, "--judge", "llm", "--model", "m", "--pipeline", "joint,both"],
            "--pipeline: found 'both', expected joint, single, ragas, pairs",
        ),
        (
            [CLAIM_PAIRS, "--judge", "llm", "--model", "m", "--fit"],
            "--fit: joint says yes or no and has no threshold; expected --pipeline pairs, or",
        ),
        ([CLAIM_PAIRS, "--fail-if", "kappa"], "--fail-if: found 'kappa', expected"),
        ([CLAIM_PAIRS, "--format", "native"], f"{CLAIM_PAIRS}:1: "),
    ],
)
def test_wrong_use(arguments: list[str], expected: str) -> None:
    """One line on stderr and exit code 2."""
    result = rag_monitor("judge-check", *arguments)
    assert result.returncode == 2
    assert one_line(result).startswith(expected)


def test_a_threshold_is_learned_and_taken_over() -> None:
    """Printed with its interval, the same at every call; with it the judge is another one."""
    result = rag_monitor("judge-check", CLAIM_PAIRS, "--fit")
    assert "Threshold by these labels: 0." in result.stdout
    learned = re.search(r"to take it over: (judge\.threshold=0\.\d+)", result.stdout)
    assert learned is not None
    plain, again = (
        json.loads(rag_monitor("judge-check", CLAIM_PAIRS, "--fit", "--json", *more).stdout)
        for more in ([], ["--set", learned[1]])
    )
    before, after = plain["judges"][0], again["judges"][0]
    assert before["fit"]["threshold"] == after["fit"]["threshold"]
    assert before["fit"]["configured"] < before["fit"]["fitted"] == after["fit"]["configured"]
    assert before["judge"]["version"] != after["judge"]["version"]


def test_a_verifier_is_measured_and_fit() -> None:
    """A function in a model's place, with its scores."""
    named = "judge.verifier=tests.stages.verifiers:tiny"
    result = rag_monitor("judge-check", CLAIM_PAIRS, "--set", named, "--fit", "--json")
    (judge,) = json.loads(result.stdout)["judges"]
    assert judge["judge"]["model"] == "tests.stages.verifiers:tiny"
    assert judge["fit"]["threshold"]["value"] == 0.6
    assert judge["kinds"]["response_by_context"]["auc"]["value"] > 0.5
    wrong = rag_monitor("judge-check", CLAIM_PAIRS, "--set", "judge.verifier=no_such:function")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert one_line(wrong).startswith("judge.verifier: no_such cannot be imported")


def test_the_verdicts_of_a_judge_are_no_labels(tmp_path: Path) -> None:
    """What ``evaluate`` has written agrees with its judge, whatever that says."""
    traffic, judged = tmp_path / "traffic.jsonl", tmp_path / "judged.jsonl"
    traffic.write_text("".join(f"{line}\n" for line in map(json.dumps, LOGGED)), "utf-8")
    assert rag_monitor("evaluate", traffic, "--out", judged).returncode == 0
    result = rag_monitor("judge-check", judged)
    assert result.returncode == 0
    first, second, third, *_ = result.stdout.splitlines()
    assert first.startswith("2 interactions with verdicts of offline@")
    assert second == "No labels: what follows is how far two judges agree, not who is right."
    assert third == "It is the same judge: a difference is its own noise."
    assert "fail if" not in result.stdout
    for option in (["--fail-if", "kappa<0.6"], ["--fit"]):
        refused = rag_monitor("judge-check", judged, *option)
        assert refused.returncode == 2
        assert "not labels, and" in one_line(refused)
        assert rag_monitor("judge-check", judged, *option, "--against-judge").returncode in (0, 1)
    lines = [json.loads(line) for line in judged.read_text("utf-8").splitlines()]
    judged.write_text("".join(json.dumps({**one, "labelled_by": "ann"}) + "\n" for one in lines))
    assert rag_monitor("judge-check", judged, "--fail-if", "accuracy<0.1").returncode == 0


def test_file_that_is_not_utf8(tmp_path: Path) -> None:
    """A file in another encoding is an error with its line."""
    path = tmp_path / "latin.jsonl"
    path.write_bytes('{"claim": "x"}\n{"claim": "é"}\n'.encode("latin-1"))
    result = rag_monitor("judge-check", path)
    assert result.returncode == 2
    assert one_line(result) == f"{path}:2: not UTF-8; save the file as UTF-8"


async def test_llm_judge_in_three_pipelines(tmp_path: Path) -> None:
    """All pipelines against a server that flips known pairs: the confusion of each, and McNemar."""
    found = made_up(6)
    pairs = [(e.claim, e.text) for e in entries(found, ["response_by_passage"])]
    bias = Bias(flipped=frozenset(Random(3).sample(pairs, len(pairs) // 10)))
    path = found.write(tmp_path / "made-up.jsonl")
    async with JudgeServer(found.labels, bias=bias) as server:
        result = await asyncio.to_thread(
            rag_monitor, "judge-check", path, "--judge", "llm", "--model", "judge",
            "--set", f"judge.api_base={server.url}", "--pipeline", "joint,single,ragas",
            "--permute", "1", "--fail-if", "flips>0", "--json",
        )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert [judge["pipeline"] for judge in report["judges"]] == ["joint", "single", "ragas"]
    for judge in report["judges"]:
        confusion = judge["kinds"]["response_by_passage"]["agreement"]["confusion"]
        assert confusion["fp"] + confusion["fn"] == len(bias.flipped) > 0
    compared = [c for c in report["comparisons"] if c["kind"] == "response_by_passage"]
    assert [c["paired"]["p"] for c in compared] == [1.0] * 3
    assert report["gates"] == [{"gate": "flips>0", "failed": []}]


@pytest.mark.parametrize("habit", ["always n", "always y", "alternates by reply"])
async def test_a_judge_that_guesses_fails_by_default(tmp_path: Path, habit: str) -> None:
    """It is said in words, with exit code 1; another condition takes the default's place."""
    path = made_up(12).write(tmp_path / "made-up.jsonl")
    async with StubJudgeServer(Stub(HABITS[habit])) as server:
        asked: list[str | Path] = [
            "judge-check", path, "--judge", "llm", "--model", "judge", "--no-extraction",
            "--set", f"judge.api_base={server.url}",
            # One after the other: in any other order whoever alternates may be right by chance.
            "--set", "judge.concurrency=1",
        ]  # fmt: skip
        result = await asyncio.to_thread(rag_monitor, *asked)
        other = await asyncio.to_thread(rag_monitor, *asked, "--fail-if", "failed>0")
    assert result.returncode == 1
    assert "No better than guessing on response_by_passage" in result.stdout
    assert "fail if the judge is no better than guessing: FAIL: joint" in result.stdout
    assert other.returncode == 0
    assert "No better than guessing on response_by_passage" in other.stdout


async def test_a_judge_that_is_always_wrong_is_told_of_as_that(tmp_path: Path) -> None:
    """Its interval does not include one half: it lies below."""
    path = tmp_path / "pairs.jsonl"
    pairs = [(f"Refunds take {days} days.", days % 2 == 1) for days in range(24)]
    lines = [
        {
            "claim": claim,
            "passage": claim if holds else f"No word. {claim[:-5]}",
            "supported": holds,
        }
        for claim, holds in pairs
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    async with StubJudgeServer(Erring(1.0, seed=1)) as server:
        result = await asyncio.to_thread(
            rag_monitor, "judge-check", path, "--judge", "llm", "--model", "judge",
            "--no-extraction", "--set", f"judge.api_base={server.url}",
        )  # fmt: skip
    assert result.returncode == 1
    assert "Worse than guessing on response_by_context: the interval" in result.stdout
    assert "includes 0.5" not in result.stdout


def test_a_judge_that_does_better_passes_by_default() -> None:
    """The offline judge does, on the labels that come with it."""
    result = rag_monitor("judge-check")
    assert result.returncode == 0
    assert "No better than guessing" not in result.stdout
    assert "fail if the judge is no better than guessing: ok" in result.stdout


def test_labels_that_are_all_alike_measure_nothing(tmp_path: Path) -> None:
    """Right or wrong, a judge does not pass by them, and no threshold comes from them."""
    path = tmp_path / "pairs.jsonl"
    lines = [
        {"claim": f"Refunds take {n} days.", "passage": f"No word of {n + 1}.", "supported": True}
        for n in range(12)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    result = rag_monitor("judge-check", path, "--fit", "--no-extraction")
    assert result.returncode == 1
    assert "fail if the judge is no better than guessing: FAIL: offline not measured" in (
        result.stdout
    )
    assert "No threshold by these labels: it takes verdicts with two" in result.stdout


class Seldom(Stub):
    """Replies to the first request, and rambles from then on."""

    def answer(self, user: str) -> str:
        """Of the habit, once."""
        return "I cannot say." if self.replies else super().answer(user)


async def test_a_judge_of_which_hardly_a_reply_is_read_does_not_pass(tmp_path: Path) -> None:
    """One is enough to go on, and too little to pass by."""
    path = tmp_path / "pairs.jsonl"
    lines = [
        {"claim": f"Refunds take {n} days.", "passage": f"It is {n % 2}.", "supported": n % 2 == 1}
        for n in range(24)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    async with StubJudgeServer(Seldom()) as server:
        result = await asyncio.to_thread(
            rag_monitor, "judge-check", path, "--judge", "llm", "--model", "judge",
            "--no-extraction", "--set", f"judge.api_base={server.url}",
            "--set", "judge.examples=fixed", "--set", "judge.concurrency=1",
        )  # fmt: skip
    assert result.returncode == 1
    assert "failed: 23 malformed_reply" in result.stdout
    assert "FAIL: joint not measured" in result.stdout


async def test_judge_that_answers_nothing(tmp_path: Path) -> None:
    """A judge that refuses every call ends the command with exit code 3 and its reason."""
    path = made_up(2).write(tmp_path / "made-up.jsonl")
    result = await asyncio.to_thread(
        rag_monitor, "judge-check", path, "--judge", "llm", "--model", "openai/m",
        environ={"RAG_MONITOR_JUDGE__API_BASE": "http://127.0.0.1:1/v1",
                 "RAG_MONITOR_JUDGE__DEADLINE_S": "3"},
    )  # fmt: skip
    assert result.returncode == 3
    assert one_line(result).startswith("the judge answers nothing: ")


@pytest.mark.parametrize(
    "settings",
    [
        ("judge.evidence=quote",),
        ("judge.relevance=labels", "judge.relevant_to_question=judged"),
        ("redaction.enabled=false", "judge.name=strict", "judge.pipeline=single"),
    ],
)
async def test_the_judge_measured_is_the_judge_of_production(
    settings: tuple[str, ...], tmp_path: Path
) -> None:
    """Personal data is replaced in texts and claims, and name@version is that of score records."""
    secret = "Mail ann@example.com."
    redactor = Redactor(None if "redaction.enabled=false" in settings else RedactionRules())
    found = changed(made_up(3), lambda text: f"{text} {secret}")
    shown = changed(made_up(3), lambda text: redactor.text(f"{text} {secret}"))
    labelled, logged = found.write(tmp_path / "labels.jsonl"), tmp_path / "log.jsonl"
    when = {"timestamp": "2026-11-20T12:00:00Z"}
    lines = [
        {**when, "interaction_id": e["interaction_id"], **e["interaction"]} for e in found.lines
    ]
    logged.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    options: list[str] = ["--judge", "llm", "--model", "judge"]
    async with JudgeServer(shown.labels) as server:
        for setting in (f"judge.api_base={server.url}", *settings):
            options += ["--set", setting]
        checked = await asyncio.to_thread(
            rag_monitor, "judge-check", labelled, *options, "--permute", "1", "--json"
        )
        scored = await asyncio.to_thread(rag_monitor, "evaluate", logged, *options)
    assert (checked.returncode, scored.returncode) == (0, 0), checked.stderr + scored.stderr
    records = [read_score_record(line.encode()) for line in scored.stdout.splitlines()]
    (judge,) = json.loads(checked.stdout)["judges"]
    assert {record.judge.label for record in records} == {
        f"{judge['judge']['name']}@{judge['judge']['version']}"
    }
    assert judge["verifying"]["failed"] == judge["judging"]["failed"] == {}
    kinds = judge["kinds"].values()
    assert all(kind["agreement"]["kappa"]["value"] == 1.0 for kind in kinds)


def test_the_offline_judge_measured_is_that_of_production(tmp_path: Path) -> None:
    """Its version, too, says what is redacted."""
    found = made_up(2)
    labelled, logged = found.write(tmp_path / "labels.jsonl"), tmp_path / "log.jsonl"
    when = {"timestamp": "2026-11-20T12:00:00Z", "interaction_id": "i"}
    logged.write_text(json.dumps({**when, **found.lines[0]["interaction"]}), encoding="utf-8")
    labels = set()
    for setting in ("redaction.enabled=true", "redaction.enabled=false", "redaction.kinds=email"):
        checked = rag_monitor("judge-check", labelled, "--set", setting, "--json")
        scored = rag_monitor("evaluate", logged, "--set", setting)
        (judge,) = json.loads(checked.stdout)["judges"]
        record = read_score_record(scored.stdout.encode())
        assert record.judge.version == judge["judge"]["version"]
        labels.add(record.judge.label)
    assert len(labels) == 3
