"""A file of records as a checkpoint: whatever a kill leaves of it, whole records stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config import Settings, load
from monitor.errors import ConfigurationError
from monitor.evaluate.checkpoint import checkpoint, judge_mark, resumed
from monitor.records import RunMark, Source
from tests.stages.score_records import record

JUDGE = "offline [1]"


def lines(number: int) -> list[bytes]:
    """Records of rows of which every second one was none."""
    found = []
    for n in range(number):
        source = Source(topic="in", partition=0, offset=2 * n)
        mark = RunMark(judge=JUDGE, rows=f"hash {n}")
        found.append(record(str(n), n, source=source, run=mark).to_json() + b"\n")
    return found


def test_wherever_it_was_cut_whole_records_stay(tmp_path: Path) -> None:
    """At every byte: what is whole is kept, the rest is taken away, and the next line fits."""
    whole, out = lines(3), tmp_path / "out.jsonl"
    text = b"".join(whole)
    for cut in range(len(text) + 1):
        out.write_bytes(text[:cut])
        kept = text[:cut].count(b"\n")
        with checkpoint(out, overwrite=False) as found:
            there = list(resumed(found, JUDGE))
            assert len(there) == found.records == kept
            assert found.after == (2 * kept - 1 if kept else 0)
            for line in whole[kept:]:
                found.write(line)
        assert out.read_bytes() == text


def test_only_the_same_rows_go_on(tmp_path: Path) -> None:
    """The fingerprint of the last record is that of the rows up to it; a new file asks nothing."""
    out = tmp_path / "out.jsonl"
    with checkpoint(out, overwrite=False) as found:
        assert list(resumed(found, JUDGE)) == []
        found.require("anything", "in.jsonl")
    out.write_bytes(b"".join(lines(2)))
    with checkpoint(out, overwrite=False) as found:
        assert len(list(resumed(found, JUDGE))) == 2
        found.require("hash 1", "in.jsonl")
        with pytest.raises(ConfigurationError, match=r"of another input: .*and in\.jsonl has"):
            found.require("hash 2", "in.jsonl")
    with checkpoint(out, overwrite=True) as found:
        assert list(resumed(found, "another")) == []
    assert out.read_bytes() == b""


def mark(**flags: str) -> str:
    """The mark of the judges that these settings configure."""
    settings: Settings = load({}, flags={key.replace("__", "."): v for key, v in flags.items()})
    return judge_mark(settings, "off")


def test_the_mark_changes_with_what_changes_verdicts() -> None:
    """Model, pipeline, threshold, segment, redaction do; keys, deadlines, limits do not."""
    llm = {"judge__kind": "llm", "judge__model": "openai/a"}
    same = [
        mark(**llm),
        mark(**llm, judge__api_key="k", judge__deadline_s="5", judge__concurrency="2"),
        mark(**llm, limits__requests_per_minute="7", judge__recheck_rate="0"),
    ]
    others = [
        mark(),
        mark(judge__threshold="0.9"),
        mark(**{**llm, "judge__model": "openai/b"}),
        mark(**llm, judge__pipeline="single"),
        mark(**llm, judge__api_base="http://127.0.0.1:1/v1"),
        mark(**llm, export__segment="tenant"),
        judge_mark(load({}, flags={"judge.kind": "llm", "judge.model": "openai/a"}), "on-1"),
    ]
    assert len(set(same)) == 1
    assert len({*same, *others}) == 1 + len(others)
    assert same[0].startswith("openai/a, pipeline joint [")
