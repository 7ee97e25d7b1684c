"""``rag-monitor evaluate``: a file in, the score records of live traffic out."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from monitor.records import ScoreRecord, UnscoredMark, read_score_record
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer, Labels
from tests.servers.judge_weather import Weather
from tests.servers.redis_server import RedisServer
from tests.stages.command import left_alone, one_line, rag_monitor, running
from tests.stages.judge_case import LABELS, PASSAGES, QUESTION, REFERENCE, RESPONSE
from tests.stages.process import until

LOST = "The note that was lost."
KEY = ["--set", "judge.api_key=none"]


def logged(name: str, **fields: Any) -> str:
    """One interaction as it is logged, a line."""
    body = {
        "interaction_id": name,
        "timestamp": "2026-11-20T12:00:00Z",
        "user_input": QUESTION,
        "response": RESPONSE,
        "retrieved_contexts": list(PASSAGES),
        "reference": REFERENCE,
    }
    return json.dumps({**body, **fields}, ensure_ascii=False)


def written(file: Path, *lines: str) -> Path:
    """A file of these lines."""
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def records(file: Path) -> list[ScoreRecord]:
    """The records in a file; each line must be one."""
    return [read_score_record(line) for line in file.read_bytes().splitlines()]


def scores(record: ScoreRecord) -> dict[str, float]:
    return {name: score for name, score in record.scores.items() if isinstance(score, float)}


def model_at(server: JudgeServer) -> list[str]:
    """The options of a model that a server plays."""
    base = f"judge.api_base={server.url}"
    return ["--judge", "llm", "--model", "openai/judge", "--set", base, *KEY]


async def asking(
    server: JudgeServer, file: Path, *more: str | Path
) -> subprocess.CompletedProcess[str]:
    """Evaluate with such a model."""
    return await asyncio.to_thread(rag_monitor, "evaluate", file, *model_at(server), *more)


async def with_llm(server: JudgeServer, file: Path, out: Path, *more: str) -> str:
    """Evaluate with the model that a server plays; what is said on stderr."""
    result = await asking(server, file, *more, "--out", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    return result.stderr.splitlines()[-1]


def test_offline_needs_nothing(tmp_path: Path) -> None:
    """One record a line, in their order; place, time and texts are those of the interaction."""
    lines = [logged(f"i{n}", reference=None if n % 2 else REFERENCE) for n in range(20)]
    file, out = written(tmp_path / "traffic.jsonl", *lines), tmp_path / "scores.jsonl"
    result = rag_monitor("evaluate", file, "--judge", "offline", "--out", out)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1].startswith("20 judged: 20 scored; 0 lines left out; 0 ")
    found = records(out)
    assert [record.interaction_id for record in found] == [f"i{n}" for n in range(20)]
    assert [record.source.offset for record in found] == list(range(20))
    assert {record.source.topic for record in found} == {"traffic.jsonl"}
    assert {record.event_time.isoformat() for record in found} == {"2026-11-20T12:00:00+00:00"}
    assert found[0].interaction["response"] == RESPONSE
    assert scores(found[0])["incorrect_claims"] == 0.5
    without = {"faithfulness", "faithfulness_by_passage", "answered", "retrieved"}
    assert set(scores(found[1])) == without


def test_without_out_records_go_to_standard_output(tmp_path: Path) -> None:
    """And nothing else does, so that they can be piped."""
    file = written(tmp_path / "traffic.jsonl", logged("a"), "", logged("b"))
    result = rag_monitor("evaluate", file)
    found = [read_score_record(line.encode()) for line in result.stdout.splitlines()]
    assert [record.interaction_id for record in found] == ["a", "b"]
    assert [record.source.offset for record in found] == [0, 2]


def test_the_gauges_can_be_computed_from_it(tmp_path: Path) -> None:
    """``export --from-file`` reads what ``evaluate`` writes; no slot overlaps another."""
    file = written(tmp_path / "traffic.jsonl", *(logged(f"i{n}") for n in range(5)))
    out = tmp_path / "scores.jsonl"
    assert rag_monitor("evaluate", file, "--out", out).returncode == 0
    at = "2026-11-20T12:01:00Z"
    shown = rag_monitor("export", "--from-file", out, "--at", at, "--print").stdout
    samples = [line for line in shown.splitlines() if line.startswith("rag_score_samples{")]
    (faithfulness,) = [
        line for line in samples if '"faithfulness"' in line and 'window="5m"' in line
    ]
    assert faithfulness.endswith(" 5.0")


def test_what_is_no_interaction_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    """Line and field, never the text; the exit code says that something was left out."""
    bad = json.dumps({"user_input": "secret words", "retrieved_contexts": []})
    file = written(tmp_path / "traffic.jsonl", logged("a"), "no JSON", bad, logged("b"))
    result = rag_monitor("evaluate", file, "--out", tmp_path / "out.jsonl")
    assert result.returncode == 1
    said = result.stderr.splitlines()
    assert said[0].startswith("judge: offline, a lexical check")
    assert said[1].startswith("traffic.jsonl: line 2: record: ")
    assert said[2] == (
        "traffic.jsonl: line 3: response: found nothing, expected a value; "
        "there: user_input, retrieved_contexts"
    )
    assert "2 judged" in said[-1]
    assert "2 lines left out" in said[-1]
    assert "secret" not in result.stderr
    assert [each.interaction_id for each in records(tmp_path / "out.jsonl")] == ["a", "b"]


def test_every_row_has_a_record_whatever_the_rate(tmp_path: Path) -> None:
    """Also one with nothing to score; sampling is for live traffic."""
    file = written(
        tmp_path / "traffic.jsonl", logged("a", response="!", reference=None), logged("b")
    )
    out = tmp_path / "out.jsonl"
    assert rag_monitor("evaluate", file, "--out", out, "--set", "sampling.rate=0").returncode == 0
    first, second = records(out)
    assert (first.outcome, first.reason) == ("unscorable", "no_claims")
    assert (second.outcome, second.sampling.q) == ("scored", 1.0)


def test_personal_data_are_redacted_as_in_live_traffic(tmp_path: Path) -> None:
    """Neither record nor log holds the address; what the log hides is unscorable, unasked."""
    lines = logged("a", user_input="I am eva@example.org"), logged("b", response="__REDACTED__")
    file, out = written(tmp_path / "traffic.jsonl", *lines), tmp_path / "out.jsonl"
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 0
    assert b"eva@example" not in out.read_bytes()
    assert [record.reason for record in records(out)] == [None, "redacted"]


async def test_a_model_judges_the_same_content_once(tmp_path: Path) -> None:
    """Four ids, two contents: two judgements; only who paid has a usage."""
    file = written(
        tmp_path / "traffic.jsonl",
        *(logged(f"i{n}", reference=None if n % 2 else REFERENCE) for n in range(4)),
    )
    out = tmp_path / "out.jsonl"
    async with JudgeServer(LABELS) as server:
        said = await with_llm(server, file, out)
        calls = server.counts()["requests"]
    found = records(out)
    assert [record.outcome for record in found] == ["scored"] * 4
    assert [scores(record)["faithfulness"] for record in found] == [0.5] * 4
    assert {record.judge.label for record in found} == {found[0].judge.label}
    assert sum(record.usage.calls for record in found) == calls
    assert [bool(record.usage.calls) for record in found] == [True, True, False, False]
    assert f"{calls} calls" in said


async def test_relevance_is_judged_where_that_is_configured(tmp_path: Path) -> None:
    """Half of the response stands in the old note only: one call more, and another judge."""
    file = written(tmp_path / "traffic.jsonl", logged("a", reference=None))
    relevant = Labels(relevant=frozenset([(QUESTION, PASSAGES[0])]))
    judges, calls = set(), []
    for setting in ("labels", "judged"):
        out = tmp_path / f"{setting}.jsonl"
        async with JudgeServer(LABELS | relevant) as server:
            await with_llm(server, file, out, "--set", f"judge.relevant_to_question={setting}")
        (record,) = records(out)
        judges.add(record.judge.label)
        calls.append(record.usage.calls)
        score = record.scores["irrelevant_context_reliance"]
        expected = 0.5 if setting == "judged" else UnscoredMark(unscored="NO_RELEVANCE")
        assert score == expected
    assert record.verdicts.relevant_to_question == (True, False, False)
    assert calls == [2, 3]
    assert len(judges) == 2


async def test_from_redis_a_second_run_costs_nothing(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    """The same judge on the same content: no call, the same verdicts and scores."""
    file = written(tmp_path / "traffic.jsonl", logged("a"))
    more = ["--set", "judge.cache.kind=redis", "--set", f"judge.cache.url={redis_server.url}"]
    more += ["--set", f"judge.cache.prefix={uuid4().hex}"]
    async with JudgeServer(LABELS) as server:
        await with_llm(server, file, tmp_path / "1.jsonl", *more)
        calls = server.counts()["requests"]
        said = await with_llm(server, file, tmp_path / "2.jsonl", *more)
        assert server.counts()["requests"] == calls > 0
    (first,), (second,) = records(tmp_path / "1.jsonl"), records(tmp_path / "2.jsonl")
    assert (second.verdicts, second.scores, second.claims) == (
        first.verdicts,
        first.scores,
        first.claims,
    )
    assert (first.usage.calls, second.usage.calls) == (calls, 0)
    assert ": 1 scored; 0 lines left out; 0 calls" in said


async def test_a_failure_is_a_record_and_is_not_kept(tmp_path: Path) -> None:
    """Each row of the same content is tried by itself; where all fail the exit code is 3."""
    plan = FaultPlan(rules=(FaultRule(fault=Fault.SERVER_ERROR, times=None),))
    file, out = written(tmp_path / "traffic.jsonl", logged("a"), logged("b")), tmp_path / "out"
    async with JudgeServer(LABELS, plan) as server:
        result = await asking(server, file, "--set", "judge.deadline_s=1.5", "--out", out)
    assert result.returncode == 3
    assert [record.outcome for record in records(out)] == ["judge_failed"] * 2
    *_, told, said = result.stderr.splitlines()
    # Whichever comes first: the last of its tries, or its deadline.
    assert re.match(r"2 judged: [12] judge_failed \((deadline|server_error)\)", told)
    assert re.fullmatch(
        r"rag-monitor: the judge answers nothing: [12] of 2 times (deadline|server_error).*", said
    )


async def test_some_failures_are_told_and_no_error(tmp_path: Path) -> None:
    """The record says why; the exit code stays 0, as judge-check's does without a gate."""
    plan = FaultPlan(rules=(FaultRule(fault=Fault.EMPTY, containing=LOST, times=None),))
    file = written(tmp_path / "traffic.jsonl", logged("a"), logged("b", retrieved_contexts=[LOST]))
    async with JudgeServer(LABELS, plan) as server:
        said = await with_llm(server, file, tmp_path / "out.jsonl")
    assert [each.outcome for each in records(tmp_path / "out.jsonl")] == ["scored", "judge_failed"]
    assert said.startswith("2 judged: 1 scored, 1 judge_failed (")


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Some editors write one; where files were joined, it stands further down."""
    file, out = tmp_path / "traffic.jsonl", tmp_path / "out.jsonl"
    file.write_text(f"\ufeff{logged('a')}\n\ufeff{logged('b')}\n{logged('c')}", encoding="utf-8")
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 0
    assert [each.interaction_id for each in records(out)] == ["a", "b", "c"]


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_order(tmp_path: Path, sign: signal.Signals) -> None:
    """Exit code 0, whole lines from the first one on, and the line before which it stopped."""
    lines = [logged(f"i{n}", retrieved_contexts=[*PASSAGES, f"Note {n}."]) for n in range(3_000)]
    file, out = written(tmp_path / "traffic.jsonl", *lines), tmp_path / "out.jsonl"
    async with JudgeServer(LABELS) as server:
        with running("evaluate", file, "--out", out, *model_at(server)) as process:
            await until(lambda: server.counts()["requests"] > 20, "the first judgements")
            process.signal(sign)
            ended = await process.ended()
    assert ended.returncode == 0
    found = records(out)
    assert 0 < len(found) < len(lines)
    assert [each.interaction_id for each in found] == [f"i{n}" for n in range(len(found))]
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"{len(found)} judged: ")
    assert last.endswith(f"; stopped before line {len(found) + 1}")


async def test_who_only_waits_is_not_waited_for(tmp_path: Path) -> None:
    """All wait as the provider asks, and nothing is under way: a signal ends it long before."""
    lines = [logged(f"i{n}", retrieved_contexts=[f"Note {n}."]) for n in range(50)]
    file, weather = written(tmp_path / "traffic.jsonl", *lines), Weather()
    weather.refusal = 429, {"error": {"message": "slow down"}}, {"Retry-After": "60"}
    async with JudgeServer(LABELS, gate=weather) as server:
        command = ["evaluate", str(file), *model_at(server), "--set", "ingest.drain_s=3600"]
        with running(*command) as process:
            await until(lambda: bool(weather.requests), "the first request")
            process.signal(signal.SIGTERM)
            ended = await process.ended()
    assert ended.returncode == 0
    assert ended.stderr.splitlines()[-1].endswith("; stopped before line 1")


@pytest.mark.parametrize("lines", [3, 2_000])
def test_a_reader_who_leaves_is_no_error(tmp_path: Path, lines: int) -> None:
    """``| head -n 1``: the first record, and nothing about a pipe, be the buffer full or not."""
    file = written(tmp_path / "traffic.jsonl", *(logged(f"i{n}") for n in range(lines)))
    line, done = left_alone("evaluate", file)
    assert done.returncode == 0
    assert read_score_record(line.rstrip(b"\n")).interaction_id == "i0"
    *_, said = done.stderr.splitlines()
    assert " judged: " in said
    assert "Traceback" not in done.stderr


def test_a_judge_that_refuses_everything_is_named(tmp_path: Path) -> None:
    """Exit code 3, also where some lines need no judge; their records and reasons are written."""
    file = written(tmp_path / "traffic.jsonl", logged("a"), logged("b", response="!"), "no JSON")
    out, nobody = tmp_path / "out.jsonl", "judge.api_base=http://127.0.0.1:9/v1"
    asked = ["--judge", "llm", "--model", "openai/judge", "--set", nobody]
    asked += ["--set", "judge.api_key=none", "--set", "judge.attempt_timeout_s=1"]
    result = rag_monitor("evaluate", file, *asked, "--out", out)
    assert result.returncode == 3
    said = result.stderr.splitlines()[-1]
    assert said.startswith(
        "rag-monitor: the judge answers nothing: 1 of 1 times connection: the provider cannot be"
    )
    assert [record.outcome for record in records(out)] == ["judge_failed", "unscorable"]


def test_nobody_waits_for_a_judge_that_was_never_there(tmp_path: Path) -> None:
    """After ten requests in vain the rest fails at once: no minutes of patience for each line."""
    file = written(tmp_path / "traffic.jsonl", *(logged(f"i{n}") for n in range(60)))
    out, nobody = tmp_path / "out.jsonl", "judge.api_base=http://127.0.0.1:9/v1"
    asked = ["--judge", "llm", "--model", "openai/judge", "--set", nobody]
    result = rag_monitor("evaluate", file, *asked, "--out", out)
    assert result.returncode == 3
    said = result.stderr.splitlines()[-1]
    assert said.startswith(
        "rag-monitor: the judge answers nothing: 60 of 60 times connection: the provider cannot be"
    )
    assert len(records(out)) == 60


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.jsonl"], "No such file or directory"),
        (["traffic.jsonl", "--out", "nowhere/out.jsonl"], "No such file or directory"),
        (["traffic.jsonl", "--out", "traffic.jsonl"], "it would overwrite the interactions"),
    ],
)
def test_files_that_cannot_be_opened(tmp_path: Path, arguments: list[str], said: str) -> None:
    """One line that names the file, and exit code 2; the interactions stay as they were."""
    file = written(tmp_path / "traffic.jsonl", logged("a"))
    before = file.read_bytes()
    places = [each if each.startswith("--") else str(tmp_path / each) for each in arguments]
    result = rag_monitor("evaluate", *places)
    assert result.returncode == 2
    assert said in one_line(result)
    assert file.read_bytes() == before


def test_a_model_needs_a_judge_that_asks_one(tmp_path: Path) -> None:
    """It would be passed over in silence."""
    file = written(tmp_path / "traffic.jsonl", logged("a"))
    result = rag_monitor("evaluate", file, "--model", "openai/gpt-4o")
    assert result.returncode == 2
    assert "judge.model: no effect, the offline judge judges" in one_line(result)


async def test_what_does_not_end_in_time_is_left_out(tmp_path: Path) -> None:
    """A judge that hangs gets ``ingest.drain_s``; the summary names the first line not written."""
    plan = FaultPlan(rules=(FaultRule(fault=Fault.TIMEOUT, containing=LOST, times=None),))
    lines = [logged("a"), logged("b", retrieved_contexts=[LOST]), logged("c")]
    file, out = written(tmp_path / "traffic.jsonl", *lines), tmp_path / "out.jsonl"
    async with JudgeServer(LABELS, plan) as server:
        command = ["evaluate", str(file), "--out", str(out), *model_at(server)]
        with running(*command, "--set", "ingest.drain_s=3") as process:
            # Two extractions, and a verification for each of two contents.
            await until(lambda: len(server.log) == 4, "the question that hangs")
            assert [entry.fault for entry in server.log].count("timeout") == 1
            process.signal(signal.SIGTERM)
            ended = await process.ended()
    assert ended.returncode == 0
    assert [each.interaction_id for each in records(out)] == ["a"]
    assert ended.stderr.splitlines()[-1].endswith("; stopped before line 2")


async def test_what_is_too_large_costs_nothing(tmp_path: Path) -> None:
    """5,000 passages and 200 sentences: no request, a record that says why; others are judged."""
    sentences = " ".join(f"Fact {n} holds." for n in range(200))
    passages = [f"Fact {n}." for n in range(5_000)]
    fields = {"response": sentences, "reference": sentences, "retrieved_contexts": passages}
    file = written(tmp_path / "in.jsonl", logged("large", **fields), logged("usual"))
    async with JudgeServer(LABELS) as server:
        said = await with_llm(server, file, tmp_path / "out.jsonl")
        asked = len(server.log)
    large, usual = records(tmp_path / "out.jsonl")
    assert (large.outcome, large.reason, large.usage.calls) == ("unscorable", "too_large", 0)
    assert {score.unscored for score in large.scores.values() if not isinstance(score, float)} == {
        "TOO_LARGE"
    }
    assert (usual.outcome, usual.usage.calls) == ("scored", asked)
    assert "1 unscorable (too_large)" in said
