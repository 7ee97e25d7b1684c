"""Audits as files: everything, a table without texts, and the failures as a test set."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest

from monitor.audit.exported import as_csv, as_failures, as_jsonl, as_parquet
from monitor.audit.readings import AuditReading, HumanLabel
from monitor.errors import ConfigurationError
from monitor.ingest.formats.native import decode
from monitor.records import Source, Verdicts
from monitor.records.forgetting import without_texts
from tests.stages.audits import MIXED, RIGHT, judged


def reading(number: int, verdicts: Verdicts, note: str = "") -> AuditReading:
    """The judge says that one of two claims is wrong; a person says this."""
    label = HumanLabel("ann", 1_795_000_000_000, verdicts, note)
    return AuditReading(judged(number), 10.0, 0.25, True, (label,))


def test_a_table_has_a_row_for_each_label() -> None:
    """With both values of a metric, and how much it stands for; of texts only the note."""
    body = as_csv([reading(1, RIGHT, "=HYPERLINK(1)"), reading(2, MIXED)]).decode()
    rows = list(csv.DictReader(io.StringIO(body)))
    assert [row["interaction_id"] for row in rows] == ["1", "2"]
    first = rows[0]
    assert (first["judge_claim_precision"], first["people_claim_precision"]) == ("0.5", "1.0")
    assert (first["probability"], first["weight"], first["reviewer"]) == ("0.25", "10.0", "ann")
    assert first["labelled_at"] == "2026-11-18T11:06:40+00:00"
    assert first["note"] == "'=HYPERLINK(1)"
    assert "warranty" not in body


def test_failures_are_what_evaluate_reads() -> None:
    """Those in which people found something wrong, and whose texts are there."""
    forgotten = reading(3, MIXED)._replace(record=without_texts(judged(3)))
    lines = as_failures([reading(1, RIGHT), reading(2, MIXED), forgotten]).splitlines()
    assert len(lines) == 1
    found = decode(lines[0], Source(topic="f", partition=0, offset=0), 0, of_file=True).interaction
    assert found.interaction_id == "2"
    assert found.response == "It lasts 24 months. A return costs 5 euros."
    assert [each.id for each in found.retrieved_contexts] == ["kb-1", "kb-2"]


def test_lines_hold_all_of_it() -> None:
    """A line is an audit."""
    (line,) = as_jsonl([reading(1, RIGHT)]).splitlines()
    assert json.loads(line)["labels"][0]["values"]["claim_precision"] == 1.0


def test_parquet_is_said_to_need_a_package() -> None:
    """Where it is not installed; where it is, the rows are those of the table."""
    try:
        from pyarrow import parquet
    except ImportError:
        with pytest.raises(ConfigurationError, match=r"pip install 'rag-monitor\[parquet\]'"):
            as_parquet([reading(1, RIGHT)])
        assert "pyarrow" not in sys.modules
        return
    table = parquet.read_table(io.BytesIO(as_parquet([reading(1, RIGHT)]))).to_pylist()
    assert (table[0]["judge_claim_precision"], table[0]["people_claim_precision"]) == (0.5, 1.0)
