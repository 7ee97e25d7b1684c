"""``rag-monitor evaluate`` in a notebook or a pipeline: numbers, plots, gates, noise, prices."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import shlex
import signal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from monitor.errors import ConfigurationError
from monitor.evaluate.png import require_matplotlib
from monitor.records import ScoreRecord, read_score_record
from tests.servers.judge_server import JudgeServer
from tests.stages.command import one_line, rag_monitor, running
from tests.stages.evaluated import as_lines, rows
from tests.stages.judge_case import LABELS, PASSAGES, QUESTION, REFERENCE, RESPONSE
from tests.stages.process import until
from tests.stages.worked_examples import FRANCE, PYTHON, WORKED_EXAMPLES, all_labels

ROOT = Path(__file__).parents[3]
PNG = b"\x89PNG\r\n\x1a\n"


def written(file: Path, found: list[dict[str, Any]]) -> Path:
    """As JSONL."""
    file.write_text(as_lines(found), encoding="utf-8")
    return file


def records(file: Path) -> list[ScoreRecord]:
    """The records in a file; each line must be one."""
    return [read_score_record(line) for line in file.read_bytes().splitlines()]


def model_at(server: JudgeServer, *more: str) -> list[str]:
    """The options of a model that a server plays."""
    pairs = [f"judge.api_base={server.url}", "judge.api_key=none", *more]
    settings = [word for pair in pairs for word in ("--set", pair)]
    return ["--judge", "llm", "--model", "openai/judge", *settings]


def metrics_of(stdout: str) -> dict[str, dict[str, Any]]:
    """The only group of a summary."""
    (group,) = json.loads(stdout)["groups"]
    found: dict[str, dict[str, Any]] = group["metrics"]
    return found


def test_numbers_and_plots_are_those_of_the_records(tmp_path: Path) -> None:
    """Of 200 rows: numpy's statistics to 1e-12, and every plot counts what the table counts."""
    found = [{**row, "application": "客服机器人"} for row in rows(200)]
    file, out = written(tmp_path / "in.jsonl", found), tmp_path / "out.jsonl"
    page, folder = tmp_path / "report.html", tmp_path / "plots"
    more: list[str | Path] = ["--plots", folder, "--report", page, "--json"]
    result = rag_monitor("evaluate", file, "--out", out, *more)
    assert result.returncode == 0, result.stderr
    metrics = metrics_of(result.stdout)
    columns: dict[str, list[float]] = {}
    for record in records(out):
        for name, score in record.scores.items():
            if isinstance(score, float):
                columns.setdefault(name, []).append(score)
    assert len(columns["faithfulness"]) == 200 > len(columns["claim_recall"]) > 100
    for name, scores in columns.items():
        column, told = np.array(scores), metrics[name]
        expected = [column.mean(), np.median(column), column.min(), column.max()]
        expected += [column.std(ddof=1), *np.quantile(column, [0.25, 0.75])]
        keys = ("mean", "median", "min", "max", "deviation", "lower_quartile", "upper_quartile")
        told_values = [told[key] for key in keys]
        assert told_values == pytest.approx(list(map(float, expected)), abs=1e-12, rel=0)
        assert told["n"] == len(scores) == 200 - sum(told["missing"].values())
    html = page.read_text("utf-8")
    figures = dict(re.findall(r"<figcaption>(\w+)<(.*?)</figure>", html, re.DOTALL))
    assert list(figures) == [name for name in metrics if name in columns]
    for name, figure in figures.items():
        drawn = [int(n) for n in re.findall(r'class="count"[^>]*>([\d,]+)<', figure)]
        assert drawn == [n for n in metrics[name]["histogram"] if n]
        assert (folder / f"{name}.png").read_bytes().startswith(PNG)
    assert "客服机器人" in html
    assert "http" not in html.replace("http-equiv", "")
    assert "<script" not in html


async def test_a_run_killed_five_times_is_one_run(tmp_path: Path) -> None:
    """Killed at five random rows: the file of a run that nobody killed. Once more costs nothing."""
    number, random = 40, Random(5)
    found = [
        {
            "interaction_id": f"i{n}",
            "timestamp": "2026-11-01T12:00:00Z",
            "user_input": QUESTION,
            "response": RESPONSE,
            "reference": REFERENCE,
            "retrieved_contexts": [*PASSAGES, f"Note {n}."],
        }
        for n in range(number)
    ]
    file = written(tmp_path / "in.jsonl", found)
    more = ("judge.concurrency=2", "judge.cache.kind=none")
    async with JudgeServer(LABELS) as server:
        out = tmp_path / "killed.jsonl"
        command = ["evaluate", str(file), "--out", str(out), *model_at(server, *more)]
        # Of the first half: on a busy machine some rows more are judged before it is dead.
        for at in sorted(random.sample(range(2, number // 2), 5)):
            with running(*command) as process:
                await until(lambda at=at: _lines(out) >= at, "so many rows")  # type: ignore[misc]
                process.kill()
        assert _lines(out) < number
        end = await asyncio.to_thread(rag_monitor, *command)
        asked = server.counts()["requests"]
        again = await asyncio.to_thread(rag_monitor, *command)
        assert server.counts()["requests"] == asked
        whole = tmp_path / "whole.jsonl"
        await asyncio.to_thread(
            rag_monitor, "evaluate", file, "--out", whole, *model_at(server, *more)
        )
    assert (end.returncode, again.returncode) == (0, 0)
    assert f"{number} records are there" in again.stderr
    assert "0 calls" in again.stderr
    assert [each.interaction_id for each in records(out)] == [f"i{n}" for n in range(number)]
    assert list(map(_lasting, records(out))) == list(map(_lasting, records(whole)))


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _lasting(record: ScoreRecord) -> str:
    """All but when it was judged, how long that took, and whether claims were remembered."""
    return record.model_dump_json(exclude={"judged_at", "timings", "usage"})


async def test_worked_examples_have_their_values(tmp_path: Path) -> None:
    """LIC in two languages, super bowl, Einstein, Python and JavaScript, France."""
    file = written(tmp_path / "in.jsonl", [example.row for example in WORKED_EXAMPLES])
    out = tmp_path / "out.jsonl"
    async with JudgeServer(all_labels()) as server:
        options = model_at(server, "judge.relevance=labels")
        result = await asyncio.to_thread(rag_monitor, "evaluate", file, "--out", out, *options)
    assert result.returncode == 0, result.stderr
    for example, record in zip(WORKED_EXAMPLES, records(out), strict=True):
        told = {name: record.scores[name] for name in example.values}
        assert told == pytest.approx(dict(example.values)), example.name


def test_labels_that_do_not_hold_are_named(tmp_path: Path) -> None:
    """Whoever labels passages hears of it where the reference decides all the same."""
    file = written(tmp_path / "in.jsonl", [PYTHON.row])
    told = rag_monitor("evaluate", file, "--json").stderr
    assert "note: passages of 1 row are labelled" in told
    held = rag_monitor("evaluate", file, "--json", "--set", "judge.relevance=labels").stderr
    assert "are labelled" not in held


def test_what_cannot_be_written_is_told_first(tmp_path: Path) -> None:
    """Before a row is judged, and paid for."""
    file = written(tmp_path / "in.jsonl", rows(2))
    for option, place in (("--report", tmp_path / "no/page.html"), ("--plots", file)):
        result = rag_monitor("evaluate", file, option, place)
        assert result.returncode == 2
        assert option in one_line(result)


async def test_a_gate_does_not_pass_half_a_file(tmp_path: Path) -> None:
    """Told to stop, it has not judged all: exit code 1."""
    found = [{**PYTHON.row, "interaction_id": f"i{n}"} for n in range(200)]
    for number, row in enumerate(found):
        row["retrieved_contexts"] = [*row["retrieved_contexts"], f"Note {number}."]
    file = written(tmp_path / "in.jsonl", found)
    async with JudgeServer(all_labels()) as server:
        command = ["evaluate", str(file), "--json", "--fail-if", "faithfulness<0.1"]
        options = model_at(server, "judge.concurrency=1")
        with running(*command, *options) as process:
            await until(lambda: len(server.log) > 4, "some requests")
            process.signal(signal.SIGTERM)
            ended = await process.ended()
    assert ended.returncode == 1
    assert "not all is judged: stopped before line" in ended.stderr


async def test_noise_is_appended_as_irrelevant(tmp_path: Path) -> None:
    """France: the context is one text, and what the file of noise says is noise."""
    row = {**FRANCE.row, "retrieved_contexts": FRANCE.passages[0]}
    file, out = written(tmp_path / "in.jsonl", [row]), tmp_path / "out.jsonl"
    noise = tmp_path / "noise.txt"
    noise.write_text(f"{FRANCE.passages[1]}\n\nMadrid has great weather.\n", "utf-8")
    async with JudgeServer(all_labels()) as server:
        command: list[str | Path] = ["evaluate", file, *model_at(server)]
        result = await asyncio.to_thread(
            rag_monitor, *command, "--out", out, "--noise-context", noise
        )
        bare = await asyncio.to_thread(rag_monitor, *command, "--json")
        other = await asyncio.to_thread(rag_monitor, *command, "--out", out)
    assert result.returncode == 0, result.stderr
    (record,) = records(out)
    assert {name: record.scores[name] for name in FRANCE.values} == dict(FRANCE.values)
    assert record.verdicts.relevant_by_label == (True, False, False)
    passages = record.interaction["retrieved_contexts"]
    assert isinstance(passages, list)
    assert [each["id"] for each in passages if isinstance(each, dict)] == [
        "whole-context",
        "noise-1",
        "noise-2",
    ]
    assert "the context of 1 row is one text" in bare.stderr
    assert "so noise_sensitivity_irrelevant is 0 there" in bare.stderr
    assert metrics_of(bare.stdout)["noise_sensitivity_irrelevant"]["mean"] == 0.0
    # Without the noise it would be another run.
    assert (other.returncode, "--overwrite" in one_line(other)) == (2, True)


def test_a_csv_with_other_names_is_mapped(tmp_path: Path) -> None:
    """By single options, by a file, and by the settings: the same records."""
    file = tmp_path / "in.csv"
    with file.open("w", encoding="utf-8", newline="") as text:
        table = csv.writer(text)
        table.writerow(["question", "answer", "docs", "truth", "when", "team"])
        table.writerow([QUESTION, RESPONSE, json.dumps(PASSAGES), REFERENCE, "1793534400", "a"])
        table.writerow([QUESTION, RESPONSE, PASSAGES[0], "", "", "b"])
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(
        "user_input: question\nresponse: answer\nretrieved_contexts: docs\n"
        "reference?: truth\ntimestamp?: when\nattributes: '*'\n",
        "utf-8",
    )
    single = ["user_input=question", "response=answer", "retrieved_contexts=docs"]
    single += ["reference?=truth", "timestamp?=when"]
    ways = [
        [word for pair in single for word in ("--map", pair)],
        ["--mapping", str(mapping)],
    ]
    told = []
    for number, way in enumerate(ways):
        out = tmp_path / f"{number}.jsonl"
        result = rag_monitor("evaluate", file, "--out", out, *way)
        assert result.returncode == 0, result.stderr
        assert "1 without a time" in result.stderr
        assert "the context of 1 row is one text" in result.stderr
        told.append([(each.scores, each.attributes, each.interaction) for each in records(out)])
    assert told[0] == told[1]
    (scores, attributes, interaction), (_, _, second) = told[0]
    assert scores["incorrect_claims"] == 0.5
    assert attributes == {"team": "a"}
    assert len(interaction["retrieved_contexts"]) == 3  # type: ignore[arg-type]
    assert second["reference"] is None or second["reference"] == ""


def test_a_sample_is_the_same_for_a_seed(tmp_path: Path) -> None:
    """Of the rows in their order, and another one for another seed."""
    file = written(tmp_path / "in.jsonl", rows(50))
    drawn = {}
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        out = tmp_path / name
        result = rag_monitor("evaluate", file, "--out", out, "--sample", "10", "--seed", seed)
        assert result.returncode == 0, result.stderr
        drawn[name] = [each.source.offset for each in records(out)]
    assert drawn["a"] == drawn["b"] == sorted(set(drawn["a"])) != drawn["c"]
    assert len(drawn["a"]) == len(drawn["c"]) == 10


def test_gates_hold_or_say_what_there_is(tmp_path: Path) -> None:
    """Exit code 1 where one holds, or has no value; 2 for a wrong name or sign, with a list."""
    file = written(tmp_path / "in.jsonl", [row | {"reference": None} for row in rows(5)])
    told = {
        gate: rag_monitor("evaluate", file, "--json", "--fail-if", gate)
        for gate in (
            "faithfulness<0.1",
            "faithfulness_upper<=1",
            "noise_sensitivity_relevant>0.2",
            "noise>0.2",
            "faithfulness!=1",
            "faithfulness<high",
            "faithfulness",
        )
    }
    codes = [result.returncode for result in told.values()]
    assert codes == [0, 1, 1, 2, 2, 2, 2]
    assert "--fail-if faithfulness<0.1: does not hold" in told["faithfulness<0.1"].stderr
    assert ": no value (5 NO_REFERENCE)" in told["noise_sensitivity_relevant>0.2"].stderr
    (verdict,) = json.loads(told["faithfulness_upper<=1"].stdout)["gates"]
    assert verdict["failed"][0].startswith("default, judged by offline@")
    unknown = one_line(told["noise>0.2"])
    assert "found 'noise', expected one of faithfulness, " in unknown
    assert "median" in unknown
    assert "expected one of <, <=, >, >=" in one_line(told["faithfulness!=1"])
    assert "found 'high', expected a number" in one_line(told["faithfulness<high"])
    assert "expected NAME<NUMBER" in one_line(told["faithfulness"])


def test_rows_are_held_to_their_own_thresholds(tmp_path: Path) -> None:
    """A number for one metric, or several by name; what has no value, or no number, fails."""
    row = {
        "user_input": QUESTION,
        "response": RESPONSE,
        "retrieved_contexts": list(PASSAGES),
        "reference": REFERENCE,
    }
    asked: list[Any] = [0.5, 0.4, {"faithfulness": 0.9}, "0.5", "high", None, {"faith": 1}]
    found = [row | {"interaction_id": f"i{n}", "threshold": one} for n, one in enumerate(asked)]
    found.append(row | {"interaction_id": "i7", "threshold": 0.5, "reference": None})
    file = written(tmp_path / "in.jsonl", found)
    metric = ["--threshold-metric", "incorrect_claims"]
    result = rag_monitor("evaluate", file, "--json", *metric)
    assert result.returncode == 1
    told = json.loads(result.stdout)["thresholds"]
    assert (told["held"], told["passed"]) == (7, 2)
    assert [(each["row"], each["why"].partition(",")[0]) for each in told["failed"]] == [
        (2, "0.500 is above 0.4"),
        (3, "0.500 is below 0.9"),
        (5, "threshold: found 'high'"),
        (7, "threshold: found 'faith'"),
        (8, "it has no value (NO_REFERENCE)"),
    ]
    assert "row 2 (i1): incorrect_claims: 0.500 is above 0.4" in result.stderr
    assert "thresholds: 2 of 7 rows keep theirs" in result.stderr
    assert rag_monitor("evaluate", file, "--threshold-metric", "none").returncode == 0


def test_a_mapping_leaves_rows_their_thresholds(tmp_path: Path) -> None:
    """By a file or the settings, of JSONL and CSV, and also where a run goes on."""
    names = ["question", "answer", "docs", "truth", "threshold"]
    cells = [QUESTION, RESPONSE, list(PASSAGES), REFERENCE]
    found = [dict(zip(names, [*cells, one], strict=True)) for one in (0.4, 0.6, None)]
    file, table = written(tmp_path / "in.jsonl", found), tmp_path / "in.csv"
    with table.open("w", encoding="utf-8", newline="") as text:
        csv.writer(text).writerows([names, *([*each.values()] for each in found)])
    fields = {
        "user_input": "question",
        "response": "answer",
        "retrieved_contexts": "docs",
        "reference": "truth",
    }
    by_file, config = tmp_path / "mapping.yaml", tmp_path / "monitor.yaml"
    by_file.write_text(json.dumps(fields), "utf-8")
    config.write_text(json.dumps({"ingest": {"format": "json", "mapping": fields}}), "utf-8")
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text(json.dumps(fields | {"attributes": {"threshold": "`0.9`"}}), "utf-8")
    metric, out = ["--threshold-metric", "incorrect_claims"], tmp_path / "out.jsonl"
    ways: list[tuple[Path, list[str | Path]]] = [
        (file, ["--mapping", by_file]),
        (table, ["--mapping", by_file]),
        (file, ["--config", config, "--out", out]),
        (file, ["--config", config, "--out", out]),
    ]
    for of, way in ways:
        result = rag_monitor("evaluate", of, *metric, *way)
        assert result.returncode == 1, result.stderr
        assert "row 1 (in." in result.stderr
        assert "incorrect_claims: 0.500 is above 0.4" in result.stderr
        assert "thresholds: 1 of 2 rows keep theirs" in result.stderr
    assert rag_monitor("evaluate", file, *metric, "--mapping", elsewhere).returncode == 0
    unheld = rag_monitor("evaluate", file, "--mapping", by_file, "--threshold-metric", "none")
    assert unheld.returncode == 0


async def test_the_price_is_said_first_and_asked_for(tmp_path: Path) -> None:
    """On a terminal beyond evaluate.confirm_usd it takes --yes; elsewhere it is said."""
    found = [{**PYTHON.row, "interaction_id": f"i{n}", "attributes": {"n": n}} for n in range(4)]
    file = written(tmp_path / "in.jsonl", found)
    async with JudgeServer(all_labels()) as server:
        price = ("judge.price.input_usd_per_million=2000", "judge.price.output_usd_per_million=1")
        command = ["evaluate", str(file), "--json", *model_at(server, *price)]
        piped = await asyncio.to_thread(rag_monitor, *command)
        asked = server.counts()["requests"]
        leader, follower = os.openpty()
        terminal = Path(os.ttyname(follower))
        codes = []
        for more in ([], ["--yes"], ["--set", "evaluate.confirm_usd=1000"]):
            with running(*command, *more, terminal=terminal) as process:
                loop = asyncio.get_running_loop()
                loop.add_reader(leader, lambda: os.read(leader, 65_536))
                codes.append((await process.ended()).returncode)
                loop.remove_reader(leader)
            if not more:
                assert server.counts()["requests"] == asked
        os.close(follower)
        os.close(leader)
    assert codes == [2, 0, 0]
    first, second, *_ = piped.stderr.splitlines()
    assert first.startswith("judge: openai/judge")
    price_said = re.fullmatch(
        r"price: about ([\d.]+) USD for 4 rows, less what a cache holds", second
    )
    assert price_said is not None
    assert float(price_said[1]) > 1.0


def test_commands_of_the_page_run(tmp_path: Path) -> None:
    """Each that docs/evaluate.md shows, with the offline judge in the place of a model."""
    page = (ROOT / "docs/evaluate.md").read_text("utf-8")
    commands = re.findall(r"^rag-monitor (evaluate [^#\n]+)", page, re.MULTILINE)
    assert len(commands) == 5
    row = {**PYTHON.row, "retrieved_contexts": list(PYTHON.passages)}
    for name in ("interactions.jsonl", "answers.jsonl"):
        written(tmp_path / name, [row])
    with (tmp_path / "answers.csv").open("w", encoding="utf-8", newline="") as text:
        table = csv.writer(text)
        table.writerows([["question", "answer", "docs"], [PYTHON.question, PYTHON.response, "[]"]])
    (tmp_path / "noise.txt").write_text("Rome is old.", "utf-8")
    mapping = "user_input: question\nresponse: answer\nretrieved_contexts: docs\n"
    (tmp_path / "mapping.yaml").write_text(mapping, "utf-8")
    for command in commands:
        offline = command.replace("--judge llm --model openai/gpt-4o-mini", "--judge offline")
        words = [
            str(tmp_path / word) if re.search(r"\.(jsonl|csv|txt|yaml)$", word) else word
            for word in shlex.split(offline)
        ]
        result = rag_monitor(*words)
        assert result.returncode == ("faithfulness_lower<0.8" in command), result.stderr


def test_a_plot_needs_matplotlib_and_says_so() -> None:
    """With the extra that brings it, and what needs none."""
    with pytest.raises(ConfigurationError, match=r"pip install 'rag-monitor\[plots\]'"):
        require_matplotlib(lambda _name: None)


def test_a_suite_is_sent_to_its_command(tmp_path: Path) -> None:
    """YAML is no file of rows."""
    file = tmp_path / "suite.yaml"
    file.write_text("tests: []\n", "utf-8")
    result = rag_monitor("evaluate", file)
    assert result.returncode == 2
    assert f"rag-monitor suite {file}" in one_line(result)
