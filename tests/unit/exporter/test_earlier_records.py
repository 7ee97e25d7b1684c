"""What earlier versions wrote is read by this one, and gives the gauges that it gave then.

``tests/data/records`` holds what the monitor of a commit (in the name of the file) wrote to its
topics, on a real broker and made-up traffic: score and control records, and dead letters. When a
schema or a field changes, a file of the version before is added, and none is changed.
"""

from __future__ import annotations

import gzip
import json
import math
import statistics
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.ingest.dead_letter_headers import read_dead_letter
from monitor.kafka.record import KafkaRecord
from monitor.records import read_score_record
from monitor.records.control import kind_of, read_control_record
from tests.stages.command import rag_monitor
from tests.stages.dead_letters import Record
from tests.stages.process import parsed

FILES = sorted((Path(__file__).parents[2] / "data" / "records").glob("*.jsonl.gz"))
WINDOW = "1h"


def written(file: Path, topic: str) -> list[dict[str, Any]]:
    """The records of a topic: key, value and headers as texts."""
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    return [each for each in map(json.loads, lines) if each["topic"] == topic]


@pytest.fixture(params=FILES, ids=lambda file: file.name.partition(".")[0])
def file(request: pytest.FixtureRequest) -> Path:
    """What one of those versions wrote."""
    found: Path = request.param
    return found


def test_there_are_some() -> None:
    """Of more than one version."""
    assert len(FILES) >= 3


def test_every_record_is_read(file: Path) -> None:
    """None is skipped, and none has lost its schema."""
    scores, controls = written(file, "rag.scores.v1"), written(file, "rag.control.v1")
    for each in scores:
        read = read_score_record(each["value"].encode())
        assert f"{read.application}/{read.interaction_id}" == each["key"]
        assert read.schema_ == "rag.score/1"
    assert len(scores) == 120
    kinds = set()
    for each in controls:
        key = each["key"].encode()
        read_control_record(key, each["value"].encode())
        kinds.add(kind_of(key))
    assert "baseline" in kinds


def test_dead_letters_are_read(file: Path) -> None:
    """Those of before they had a schema, too."""
    (letter,) = written(file, "rag.dead-letters.v1")
    headers = tuple((name, text.encode()) for name, text in letter["headers"])
    record: KafkaRecord = Record(topic="rag.dead-letters.v1", headers=headers)
    found = read_dead_letter(record)
    assert found is not None
    assert (found.stage, found.cause) == ("decode", "invalid_json")
    assert found.history.origin.topic == "rag.interactions.v1"


def test_the_gauges_are_those_of_the_records(file: Path, tmp_path: Path) -> None:
    """All were judged, each for itself: so each gauge is the plain mean of the values in the
    records, and its number theirs. The baseline is that of the control records."""
    scores = [json.loads(each["value"]) for each in written(file, "rag.scores.v1")]
    assert {(each["sampling"]["q"], each["sampling"]["m"]) for each in scores} == {(1.0, 1)}
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(s) + "\n" for s in scores), "utf-8")
    controls = written(file, "rag.control.v1")
    (tmp_path / "control.jsonl").write_text("".join(f"{c['value']}\n" for c in controls), "utf-8")
    last = max(datetime.fromisoformat(each["event_time"]) for each in scores)
    shown = rag_monitor(
        *("export", "--from-file", str(tmp_path / "scores.jsonl")),
        *("--control", str(tmp_path / "control.jsonl")),
        *("--at", (last + timedelta(minutes=2)).isoformat(), "--print"),
        *("--set", f"export.windows={WINDOW}"),
    )
    assert shown.returncode == 0, shown.stderr
    gauges = parsed(shown.stdout)
    values = defaultdict(list)
    for each in scores:
        for metric, value in each["scores"].items():
            if isinstance(value, float | int):
                values[metric].append(float(value))
    judge = "{name}@{version}".format(**scores[0]["judge"])
    assert len(values) >= 13
    for metric, found in values.items():
        of = frozenset(
            {
                "application": "support-bot",
                "judge": judge,
                "metric": metric,
                "window": WINDOW,
            }.items()
        )
        assert math.isclose(gauges["rag_score", of], statistics.fmean(found), abs_tol=1e-9), metric
        assert gauges["rag_score_samples", of] == len(found), metric
        assert gauges["rag_score_lower", of] <= gauges["rag_score", of]
    (baseline,) = [json.loads(c["value"]) for c in controls if c["key"].startswith("baseline/")]
    shown_for = {dict(labels)["metric"] for name, labels in gauges if name == "rag_score_baseline"}
    assert shown_for
    assert shown_for <= set(baseline["metrics"])
