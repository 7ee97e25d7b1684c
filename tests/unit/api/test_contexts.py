"""What passages may be given as in Python: as in a file, or an error that names the passage."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.api.thresholds import bounded
from monitor.config import Settings
from monitor.errors import ConfigurationError, MessageRejected
from monitor.evaluate.reading import RowDecoder, row_format
from monitor.evaluate.rows import InputRow, opened
from monitor.ingest.redaction.redactor import Redactor
from monitor.records import Passage
from rag_monitor import ClaimRecall, Faithfulness, InputRejected, NoiseSensitivity, evaluate
from tests.stages.judge_case import PASSAGES, QUESTION, REFERENCE, RESPONSE

ROW: dict[str, Any] = {
    "user_input": QUESTION,
    "response": RESPONSE,
    "reference": REFERENCE,
    "retrieved_contexts": list(PASSAGES),
}
OF_NUMPY = "['Rome is in Italy.' 'Rome is in Spain.']"


def with_contexts(found: Any) -> dict[str, Any]:
    """A row whose context is given in some form."""
    return {**ROW, "retrieved_contexts": found}


def irrelevant(found: Any) -> float | None:
    """The value that depends on where one passage ends and the next begins."""
    scorer = NoiseSensitivity(judge="offline", mode="irrelevant")
    return scorer.score(**with_contexts(found)).value


def of_file(row: InputRow) -> tuple[Passage, ...]:
    """The passages that ``rag-monitor evaluate`` judges."""
    decoder = RowDecoder("f", row_format(Settings()).decoder, Redactor(None), 0, 10**6)
    return decoder.read(row).interaction.retrieved_contexts


@pytest.mark.parametrize("form", [str, json.dumps, lambda found: f" {found}\n"])
def test_a_list_in_one_text_is_a_list_everywhere(
    form: Callable[[list[str]], str], tmp_path: Path
) -> None:
    """As pandas writes lists to CSV: in Python, in CSV and in JSONL the same passages."""
    text = form(list(PASSAGES))
    file = tmp_path / "rows.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(ROW))
        writer.writeheader()
        writer.writerow(with_contexts(text))
    with opened(file, row_format(Settings()).columns) as rows:
        (row,) = rows
    line = InputRow(1, "line", json.dumps(with_contexts(text)).encode())
    assert [each.text for each in of_file(row)] == list(PASSAGES)
    assert of_file(row) == of_file(line)
    assert irrelevant(text) == irrelevant(list(PASSAGES)) == 0.5


def test_a_list_as_numpy_prints_it_is_an_error_everywhere(tmp_path: Path) -> None:
    """Python would read its texts as one; the error says where, and how to write it."""
    said = "a list as numpy prints it: .* write lists as JSON"
    with pytest.raises(InputRejected, match=f"^row 2: retrieved_contexts: {said}"):
        evaluate([ROW, with_contexts(OF_NUMPY)], ["faithfulness"], judge="offline")
    with pytest.raises(MessageRejected, match=f"^line 1: retrieved_contexts: {said}"):
        of_file(InputRow(1, "line", json.dumps(with_contexts(OF_NUMPY)).encode()))
    file = tmp_path / "rows.csv"
    file.write_text(f'user_input,retrieved_contexts\nq,"{OF_NUMPY}"\n', encoding="utf-8")
    with (
        opened(file) as rows,
        pytest.raises(ConfigurationError, match=f"row 1: column retrieved_contexts: {said}"),
    ):
        list(rows)


@pytest.mark.parametrize(
    "text",
    [
        """["it's" 'b']""",
        "['a'\n 'b']",
        "['a' nan]",
        "[np.str_('a'), np.str_('b')]",
        "array(['a', 'b'], dtype=object)",
        "[{'text': 'a'} {'text': 'b'}]",
    ],
)
def test_forms_that_numpy_prints(text: str) -> None:
    """Also beside quotes, over lines, and of objects."""
    with pytest.raises(InputRejected, match="as numpy prints it"):
        irrelevant(text)


@pytest.mark.parametrize("text", ["[1] says so. [2]", "['a' is a text]", "{not an object}", "[a]"])
def test_other_texts_in_brackets_are_one_passage(text: str) -> None:
    """They are no list."""
    with pytest.warns(UserWarning, match="1 of 1 contexts are one text"):
        assert irrelevant(text) == 0.0


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([PASSAGES[0], None], r"retrieved_contexts\.1: found null, expected a text or an object"),
        ([float("nan")], r"retrieved_contexts\.0: found null, expected a text or an object"),
        ([b"Rome"], r"retrieved_contexts\.0: found bytes, expected a text or an object"),
        ([7], r"retrieved_contexts\.0: found a number, expected a text or an object"),
        ([[PASSAGES[0]]], r"retrieved_contexts\.0: found a list, expected a text or an object"),
        (set(PASSAGES), r"retrieved_contexts: found a set, which has no order: give a list"),
    ],
)
def test_what_is_no_passage_is_named(found: Any, said: str) -> None:
    """Each by its place; and what has no order is no list."""
    with pytest.raises(InputRejected, match=f"^{said}"):
        irrelevant(found)


def test_passages_from_a_generator() -> None:
    """They are taken in their order, and checked as others are."""
    assert irrelevant(each for each in PASSAGES) == irrelevant(list(PASSAGES))
    with pytest.raises(InputRejected, match="half a character"):
        irrelevant(each for each in ["a\ud800"])


def test_one_text_is_told_once() -> None:
    """In relevant mode, too; not of metrics without passages, nor of an empty text."""
    row = with_contexts(PASSAGES[0])
    with pytest.warns(UserWarning, match=r"one relevant passage; give a list$"):
        NoiseSensitivity(judge="offline").score(**row)
    with pytest.warns(UserWarning, match="one text") as found:
        evaluate([ROW, row], judge="offline", show_progress=False)
    (one,) = found
    assert "1 of 2 contexts" in str(one.message)
    assert "noise_sensitivity_irrelevant is 0 there by itself" in str(one.message)
    with pytest.warns(UserWarning, match="one text"):
        Faithfulness(judge="offline").batch_score([row])
    bound = {"judge": "offline", "noise_sensitivity_irrelevant": 1.0}
    with pytest.warns(UserWarning, match="noise_sensitivity_irrelevant is 0 there by itself"):
        bounded({**row, **bound})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ClaimRecall(judge="offline").score(**row)
        assert irrelevant("") is None
        assert irrelevant(" \n") is None
