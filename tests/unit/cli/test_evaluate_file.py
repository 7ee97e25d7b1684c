"""``rag-monitor evaluate`` on the files that people have: their times, kinds, and second runs."""

from __future__ import annotations

import asyncio
import csv
import gzip
import importlib.util
import io
import json
import os
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.records import ScoreRecord, read_score_record
from tests.servers.judge_server import JudgeServer
from tests.stages.command import one_line, rag_monitor, running
from tests.stages.judge_case import LABELS, PASSAGES, QUESTION, REFERENCE, RESPONSE, WARRANTY
from tests.stages.process import until

KEY = ["--set", "judge.api_key=none"]


def body(name: str, **fields: Any) -> dict[str, Any]:
    """One interaction as it is logged."""
    return {
        "interaction_id": name,
        "timestamp": "2026-11-01T12:00:00Z",
        "user_input": QUESTION,
        "response": RESPONSE,
        "retrieved_contexts": list(PASSAGES),
        "reference": REFERENCE,
        **fields,
    }


def lines(*bodies: dict[str, Any]) -> bytes:
    """As JSONL."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in bodies)


def records(file: Path) -> list[ScoreRecord]:
    """The records in a file; each line must be one."""
    return [read_score_record(line) for line in file.read_bytes().splitlines()]


def notes(number: int) -> bytes:
    """A file whose rows differ, so that the cache saves no call."""
    return lines(*(body(f"i{n}", retrieved_contexts=[f"Note {n}."]) for n in range(number)))


def model_at(server: JudgeServer) -> list[str]:
    """The options of a model that a server plays."""
    base = f"judge.api_base={server.url}"
    return ["--judge", "llm", "--model", "openai/judge", "--set", base, *KEY]


def test_the_times_of_a_file_stand(tmp_path: Path) -> None:
    """History keeps its time: sixty interactions of weeks ago, and the gauges of that hour."""
    begin = datetime(2026, 11, 1, 12, tzinfo=UTC)
    rows = [body(f"i{n}", timestamp=(begin + timedelta(seconds=n)).isoformat()) for n in range(60)]
    file, out = tmp_path / "history.jsonl", tmp_path / "scores.jsonl"
    file.write_bytes(lines(*rows))
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 0
    assert [each.event_time for each in records(out)] == [
        begin + timedelta(seconds=n) for n in range(60)
    ]
    assert "begin stands" not in result.stderr
    shown = rag_monitor(
        "export", "--from-file", out, "--at", "2026-11-01T12:02:00Z", "--print"
    ).stdout
    (samples,) = [
        line
        for line in shown.splitlines()
        if line.startswith("rag_score_samples{")
        and '"faithfulness"' in line
        and 'window="5m"' in line
    ]
    assert samples.endswith(" 60.0")


def test_epoch_times_are_understood_in_every_unit(tmp_path: Path) -> None:
    """Seconds, milliseconds, microseconds, nanoseconds; a missing one is counted as the begin."""
    seconds = 1_793_534_400
    times: list[Any] = [seconds, seconds * 10**3, seconds * 10**6, seconds * 10**9, seconds + 0.5]
    rows = [body(f"i{n}", timestamp=time) for n, time in enumerate(times)]
    missing, broken = body("m", timestamp=None), body("b", timestamp="yesterday")
    file, out = tmp_path / "epochs.jsonl", tmp_path / "scores.jsonl"
    file.write_bytes(lines(*rows, missing, broken))
    before = datetime.now(UTC)
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 1
    assert "line 7: timestamp: found a text of 9 characters, expected RFC 3339" in result.stderr
    *logged, begun = records(out)
    moment = datetime.fromtimestamp(seconds, UTC)
    assert [each.event_time for each in logged[:4]] == [moment] * 4
    assert logged[4].event_time == moment + timedelta(seconds=0.5)
    assert begun.event_time > before - timedelta(seconds=1)
    assert "; 1 without a time: the run's begin stands for it" in result.stderr


async def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """SIGKILL, and the same command again: each record once, in order, none paid again."""
    rows, at_once = 60, 4
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(notes(rows))
    async with JudgeServer(LABELS) as server:
        more = ["--set", f"judge.concurrency={at_once}", "--set", "judge.cache.kind=none"]
        command = ["evaluate", str(file), "--out", str(out), *model_at(server), *more]
        with running(*command):
            await until(lambda: out.exists() and out.read_bytes().count(b"\n") >= 8, "some records")
        before = out.read_bytes()
        done = before.count(b"\n")
        assert 8 <= done < rows
        with out.open("ab") as file_out:  # as if it had been killed while it wrote
            file_out.write(before[:200])
        asked = _verified(server)
        result = await asyncio.to_thread(rag_monitor, *command)
        whole = _verified(server)
    assert result.returncode == 0, result.stderr
    assert f"{done} records are there; it goes on behind them" in result.stderr
    assert f"{rows} judged ({done} of them before)" in result.stderr
    assert out.read_bytes().startswith(before)
    assert [each.interaction_id for each in records(out)] == [f"i{n}" for n in range(rows)]
    # Each row is verified by a call of its own: no written one again, and all in the end.
    repeated = [each for each, times in whole.items() if times > 1]
    # What was under way at the kill is paid again; the server may have read of it only later.
    assert len(repeated) <= max(len(asked) - done, at_once)
    assert len(whole) == rows

    third = await asyncio.to_thread(rag_monitor, *command)
    assert (third.returncode, len(records(out))) == (0, rows)
    assert "0 calls" in third.stderr


def _verified(server: JudgeServer) -> Counter[str | None]:
    """What was asked to be verified, and how often each."""
    return Counter(each.conversation for each in server.log if each.task == "verify_claims")


def test_another_judge_or_input_is_refused(tmp_path: Path) -> None:
    """Both are named, nothing is changed; ``--overwrite`` begins anew."""
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(lines(body("a"), body("b")))
    assert rag_monitor("evaluate", file, "--out", out).returncode == 0
    before = out.read_bytes()

    other = rag_monitor("evaluate", file, "--out", out, "--set", "judge.threshold=0.9")
    said = one_line(other)
    assert other.returncode == 2
    assert "it was begun by offline, a lexical check" in said
    assert "and this run is by offline, a lexical check" in said
    assert said.count("[") == 2
    assert "--overwrite" in said

    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(lines(body("a"), body("b", response="Other."), body("c")))
    for input_ in (changed, _written(tmp_path / "short.jsonl", lines(body("a")))):
        other = rag_monitor("evaluate", input_, "--out", out)
        assert other.returncode == 2
        last = other.stderr.splitlines()[-1]
        assert "its 2 records are of another input: up to row 2" in last
        assert input_.name in last
    assert out.read_bytes() == before

    longer = _written(tmp_path / "longer.jsonl", lines(body("a"), body("b"), body("c")))
    assert rag_monitor("evaluate", longer, "--out", out).returncode == 0
    assert [each.interaction_id for each in records(out)] == ["a", "b", "c"]
    anew = rag_monitor("evaluate", changed, "--out", out, "--overwrite")
    assert anew.returncode == 0
    assert records(out)[1].interaction["response"] == "Other."


def _written(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("content", [b"my thesis", b"my thesis\n", b"{}\n"])
def test_a_file_that_is_no_run_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """Whatever stands in it is somebody's."""
    file = _written(tmp_path / "in.jsonl", lines(body("a")))
    out = _written(tmp_path / "out.jsonl", content)
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 2
    assert "line 1 is no score record" in one_line(result)
    assert out.read_bytes() == content


async def test_two_runs_do_not_write_to_one_file(tmp_path: Path) -> None:
    """The second one is told; the first one goes on."""
    file, out = _written(tmp_path / "in.jsonl", notes(400)), tmp_path / "out.jsonl"
    async with JudgeServer(LABELS) as server:
        command = ["evaluate", str(file), "--out", str(out), *model_at(server)]
        with running(*command) as first:
            await until(lambda: len(server.log) > 3, "the first run")
            second = await asyncio.to_thread(rag_monitor, *command)
            first.signal(signal.SIGTERM)
            ended = await first.ended()
    assert second.returncode == 2
    assert "another run writes to it" in one_line(second)
    assert ended.returncode == 0


def in_csv(rows: list[dict[str, Any]]) -> bytes:
    """As a spreadsheet or pandas writes it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


ROWS = [body("a", tenant="acme"), body("b", reference="", timestamp="1793534400")]
AS_JSON = [{**each, "retrieved_contexts": json.dumps(each["retrieved_contexts"])} for each in ROWS]
AS_PYTHON = [{**each, "retrieved_contexts": repr(each["retrieved_contexts"])} for each in ROWS]
CLEAN = [body("a", tenant="acme"), body("b", reference=None, timestamp=1793534400)]
BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.jsonl", lines(*CLEAN)),
        ("rows.json", json.dumps(CLEAN, indent=2).encode()),
        ("rows.json", BOM + json.dumps(CLEAN).encode()),
        ("rows.csv", in_csv(AS_JSON)),
        ("rows.csv", BOM + in_csv(AS_PYTHON)),
        ("rows.tsv", in_csv(AS_JSON).replace(b",", b"\t")),
        ("rows.jsonl.gz", gzip.compress(lines(*CLEAN))),
        ("rows.csv.gz", gzip.compress(in_csv(AS_PYTHON))),
    ],
)
def test_every_kind_of_file_gives_the_same_records(
    tmp_path: Path, name: str, content: bytes
) -> None:
    """Ids, texts, passages, times and attributes, whatever they were written in."""
    if name.endswith(".tsv"):
        text = io.StringIO()
        writer = csv.DictWriter(text, list(AS_JSON[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(AS_JSON)
        content = text.getvalue().encode()
    file, out = _written(tmp_path / name, content), tmp_path / "out.jsonl"
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 0, result.stderr
    first, second = records(out)
    assert (first.interaction_id, second.interaction_id) == ("a", "b")
    assert first.attributes == {"tenant": "acme"}
    passages = first.interaction["retrieved_contexts"]
    assert isinstance(passages, list)
    assert [each["text"] for each in passages if isinstance(each, dict)] == list(PASSAGES)
    assert (first.interaction["reference"], second.interaction["reference"]) == (REFERENCE, None)
    assert second.event_time == datetime.fromtimestamp(1793534400, UTC)


def test_parquet_is_read_where_pyarrow_is(tmp_path: Path) -> None:
    """And where it is not, one line says how to get it."""
    file, out = tmp_path / "rows.parquet", tmp_path / "out.jsonl"
    if importlib.util.find_spec("pyarrow") is None:
        file.write_bytes(b"PAR1....PAR1")
        result = rag_monitor("evaluate", file, "--out", out)
        assert result.returncode == 2
        assert "Parquet needs pyarrow: pip install 'rag-monitor[parquet]'" in one_line(result)
        return
    import pyarrow
    from pyarrow import parquet

    moment = datetime.fromtimestamp(1793534400, UTC)
    table = [{**each, "timestamp": moment} for each in CLEAN]
    parquet.write_table(pyarrow.Table.from_pylist(table), file)
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 0, result.stderr
    assert [each.interaction_id for each in records(out)] == ["a", "b"]
    assert {each.event_time for each in records(out)} == {moment}


def test_rows_with_one_id_are_told(tmp_path: Path) -> None:
    """The table counts each; gauges of the same records do not."""
    file = tmp_path / "rows.jsonl"
    file.write_bytes(lines(body("a"), body("b"), body("a", response=WARRANTY)))
    told = rag_monitor("evaluate", file, "--json", "--out", tmp_path / "out.jsonl")
    assert json.loads(told.stdout)["repeated_ids"] == 1
    note = "note: 1 row repeats an application and interaction_id of before. Each counts here"
    assert note in told.stderr
    file.write_bytes(lines(body("a"), body("b"), body("a", application="another")))
    assert "interaction_id of before" not in rag_monitor("evaluate", file).stderr


def test_standard_input_is_a_file_like_another(tmp_path: Path) -> None:
    """``-``, a pipe, also zipped; records name it stdin."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for content in (lines(*CLEAN), gzip.compress(lines(*CLEAN))):
        with running("evaluate", "-", given=pipe) as process:
            pipe.write_bytes(content)
            done = process.result()
        assert done.returncode == 0, done.stderr
        found = [read_score_record(line.encode()) for line in done.stdout.splitlines()]
        assert [each.source.topic for each in found] == ["stdin", "stdin"]
        assert all(each.run is None for each in found)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("in.jsonl", b"", "is empty: there is no interaction in it"),
        ("in.jsonl", b"\n \n", "is empty"),
        ("in.json", b"[]", "is empty"),
        ("in.csv", b"user_input,response\n", "is empty"),
        ("in.jsonl.gz", gzip.compress(lines(*CLEAN))[:-20], "its gzip data are damaged"),
        ("in.json", b"[{}, {", "begins with [ and is no JSON list"),
        ("in.csv", "user_input\nMüller".encode("latin-1"), "is not UTF-8 (byte 0xfc"),
    ],
)
def test_what_holds_no_interactions_is_an_error(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    """One line with the file, before anything is judged; no file is left behind."""
    file = _written(tmp_path / name, content)
    result = rag_monitor("evaluate", file, "--out", tmp_path / "out.jsonl")
    assert result.returncode == 2
    assert said in one_line(result)
    assert name in one_line(result)
    assert not (tmp_path / "out.jsonl").exists()


def test_it_names_its_judge_and_ends_with_a_table(tmp_path: Path) -> None:
    """Who judged comes first; means with intervals, n, and what is missing by reason, last."""
    rows = [body(f"i{n}", reference=REFERENCE if n % 2 else None) for n in range(10)]
    file = _written(tmp_path / "in.jsonl", lines(*rows, body("e", response="!", reference=None)))
    result = rag_monitor("evaluate", file, "--out", tmp_path / "out.jsonl")
    first, *rest = result.stderr.splitlines()
    assert first == "judge: offline, a lexical check: it compares words and numbers, no model reads"
    (title,) = [line for line in rest if line.startswith("default, judged by offline@")]
    assert title
    (row,) = [line.split() for line in rest if line.split()[:1] == ["noise_sensitivity_irrelevant"]]
    mean, interval, median, least, most, deviation, n, *missing = row[1:]
    lower, upper = map(float, interval.split("–"))
    assert lower <= float(mean) <= upper
    assert (median, least, most, deviation) == ("0.500", "0.500", "0.500", "0.000")
    assert (n, missing) == ("5", ["6", "NO_REFERENCE"])
    assert "1 NO_CLAIMS" in result.stderr


async def test_how_far_it_is_is_said(tmp_path: Path) -> None:
    """On a terminal, while it runs: how many of how many, rate, money and time left."""
    file, out = _written(tmp_path / "in.jsonl", notes(300)), tmp_path / "out.jsonl"
    leader, follower = os.openpty()
    terminal = Path(os.ttyname(follower))
    async with JudgeServer(LABELS) as server:
        command = ["evaluate", str(file), "--out", str(out), *model_at(server)]
        command += ["--set", "judge.concurrency=1"]
        for name in ("input", "output"):
            command += ["--set", f"judge.price.{name}_usd_per_million=1"]
        with running(*command, terminal=terminal) as process:
            seen = b""

            async def told() -> bool:
                nonlocal seen
                seen += await asyncio.to_thread(os.read, leader, 65_536)
                return b" left" in seen

            await until(told, "how far it is")
            process.signal(signal.SIGTERM)
            reading = asyncio.get_running_loop()
            reading.add_reader(leader, lambda: _drained(leader))
            await process.ended()
            reading.remove_reader(leader)
    os.close(follower)
    os.close(leader)
    assert b" of 300, " in seen
    assert b"/s, 0." in seen


def _drained(leader: int) -> None:
    try:
        os.read(leader, 65_536)
    except OSError:
        return
