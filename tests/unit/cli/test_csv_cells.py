"""CSV whose rows have more or fewer cells than the header: nothing is lost unsaid."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.records import read_score_record
from tests.stages.command import rag_monitor

HEADER = "user_input,response,reference,retrieved_contexts"
GOOD = 'How long?,"It lasts, I think, 24 months",24 months,"[""It lasts 24 months.""]"'
#: A text with a comma that nobody quoted.
WIDE = 'How long?,"Two\nlines",24 months, free of charge,"[""It lasts 24 months.""]"'


def csv_file(folder: Path, *rows: str, name: str = "in.csv") -> Path:
    """A file of CSV; of TSV by its name."""
    text = "\n".join(rows) + "\n"
    (folder / name).write_text(text.replace(",", "\t") if ".tsv" in name else text, "utf-8")
    return folder / name


@pytest.mark.parametrize("name", ["in.csv", "in.tsv"])
def test_a_row_of_too_many_cells_is_named_and_not_judged(tmp_path: Path, name: str) -> None:
    """With its number and its first line; the rest is judged, and the exit code is 1."""
    good = GOOD.replace("lasts, I think,", "lasts")
    file, out = csv_file(tmp_path, HEADER, good, "", WIDE, good, name=name), tmp_path / "out.jsonl"
    result = rag_monitor("evaluate", file, "--out", out)
    assert result.returncode == 1
    said = f"{name}: row 2: 5 cells (line 4), the header has 4: quote texts that hold a comma"
    assert said in result.stderr
    assert "1 lines left out" in result.stderr
    judged = [read_score_record(line) for line in out.read_bytes().splitlines()]
    assert [each.source.offset for each in judged] == [0, 2]
    assert {str(each.interaction["reference"]) for each in judged} == {"24 months"}


def test_commas_at_the_end_of_rows_are_no_cells(tmp_path: Path) -> None:
    """Some programs write them in each row but the header."""
    row = '"How long?",24 months.,"[""It lasts 24 months.""]",24 months, ,'
    header = "user_input,response,retrieved_contexts,reference"
    result = rag_monitor("evaluate", csv_file(tmp_path, header, row), "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["records"], told["rejected"], told["short_rows"]) == (1, 0, [])


def test_a_row_of_too_few_cells_is_judged_and_told(tmp_path: Path) -> None:
    """What its end lacks is absent, as an empty cell is; a column without a name is not missed."""
    header = "user_input,response,retrieved_contexts,reference,"
    rows = [
        f'How long?,24 months.,"[""It lasts 24 months.""]"{end}' for end in ("", ",", ",24", ",,")
    ]
    result = rag_monitor("evaluate", csv_file(tmp_path, header, *rows), "--json")
    assert result.returncode == 0, result.stderr
    assert "warning: 1 row has fewer cells than the header, the first is row 1." in result.stderr
    told = json.loads(result.stdout)
    assert (told["records"], told["short_rows"]) == (4, [1])


def test_a_quote_that_nobody_closes_is_told(tmp_path: Path) -> None:
    """It swallows the rows below it, and all that shows of them is a cell too few."""
    header = "user_input,response,retrieved_contexts,reference"
    swallowing = 'How long?,24 months.,"[""It lasts 24 months.""],24 months'
    file = csv_file(tmp_path, header, swallowing, *["How?,So.,So.,So."] * 9)
    result = rag_monitor("evaluate", file)
    assert "1 judged" in result.stderr
    assert "look for a missing comma, or a quote that is not closed" in result.stderr


def test_try_and_guess_name_such_a_row(tmp_path: Path) -> None:
    """What is proposed rests on the others."""
    file = csv_file(tmp_path, HEADER.replace("response", "answer"), GOOD, WIDE)
    said = "5 cells (line 3), the header has 4: quote texts that hold a comma"
    tried = rag_monitor("ingest", "try", file)
    assert "2. in.csv/0/1  NOT READ (unreadable_record)" in tried.stdout
    assert said in tried.stdout
    guessed = rag_monitor("ingest", "guess", file)
    assert f"1 × {said}" in guessed.stderr
    assert "response: answer # in 1 of 1" in " ".join(guessed.stdout.split())


@pytest.mark.parametrize("written", [json.dumps, repr])
def test_try_reads_the_passages_that_evaluate_reads(
    tmp_path: Path, written: Callable[[list[str]], str]
) -> None:
    """Lists as JSON and as ``to_csv`` writes them, by the mapping that guess proposes."""
    file, config = tmp_path / "in.csv", tmp_path / "monitor.yaml"
    with file.open("w", encoding="utf-8", newline="") as text:
        table = csv.writer(text)
        table.writerow(["question", "answer", "contexts"])
        for n in range(3):
            passages = written([f"Item {n} has a warranty of two years.", "Returning it is free."])
            table.writerow([f"How long is the warranty of item {n}?", "Two years it is.", passages])
    config.write_text(rag_monitor("ingest", "guess", file).stdout, "utf-8")
    tried = rag_monitor("ingest", "try", file, "--config", config)
    assert tried.returncode == 0
    assert tried.stdout.count('passages   2, first "Item') == 3
    judged = rag_monitor("evaluate", file, "--config", config).stdout.splitlines()
    records = [read_score_record(line.encode()) for line in judged]
    assert [len(each.interaction["retrieved_contexts"]) for each in records] == [2] * 3  # type: ignore[arg-type]


@pytest.mark.parametrize(("command", "rows"), [("try", 25), ("guess", 250)])
def test_who_looks_at_the_first_rows_leaves_in_order(
    tmp_path: Path, command: str, rows: int
) -> None:
    """Of a file that has more; no traceback is left behind."""
    row = GOOD.replace("How long?", "How long is the warranty?")
    file = csv_file(tmp_path, HEADER, *[row] * rows)
    result = rag_monitor("ingest", command, file)
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
