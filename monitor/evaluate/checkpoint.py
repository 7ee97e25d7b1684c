"""``--out`` as the checkpoint of a run: what is in it is not judged, and not paid for, again."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from monitor.config import Effective, JudgeSettings, Settings
from monitor.errors import ConfigurationError, RecordSkipped
from monitor.records import SCORE_SCHEMA, RunMark, ScoreRecord, read_score_record

#: Of a judge's settings, those that change no verdict.
_NO_VERDICT: Final = frozenset(
    {
        "api_key",
        "headers",
        "deadline_s",
        "attempt_timeout_s",
        "concurrency",
        "recheck_rate",
        "canaries",
        "not_judging",
        "price",
        "cache",
    }
)
_BEGINS: Final = f'{{"schema":"{SCORE_SCHEMA}"'.encode()
_OVERWRITE: Final = "give --overwrite to begin anew, or another --out"


class RowHash:
    """The fingerprint of all rows so far.

    >>> one, two = RowHash(), RowHash()
    >>> one.add(b"a"); one.add(b"b"); two.add(b"ab")
    >>> one.value == two.value
    False
    """

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, row: bytes) -> None:
        """One more; white space at its end does not count."""
        text = row.rstrip()
        self._hash.update(b"%d:" % len(text) + text)

    @property
    def value(self) -> str:
        """In hexadecimal digits."""
        return self._hash.hexdigest()


def judge_mark(settings: Settings, redaction: str, reading: Sequence[str] = ()) -> str:
    """The configured judges, named and fingerprinted; ``redaction`` is the tag of its rules.

    ``reading`` says how rows are read, where that is not the usual way.
    """
    wholes = [settings.base, *settings.effective]
    rules = [entry.model_dump(mode="json") for entry in settings.applications]
    parts: list[Any] = [
        redaction,
        [_verdicts_of(whole) for whole in wholes],
        [_matching(r) for r in rules],
    ]
    if reading:
        parts.append(list(reading))
    whole = json.dumps(parts, sort_keys=True, default=str)
    digest = hashlib.blake2b(whole.encode(), digest_size=4).hexdigest()
    return f"{judge_name(settings.judge)} [{digest}]"


def judge_name(judge: JudgeSettings) -> str:
    """Who judges, in words.

    >>> judge_name(JudgeSettings(kind="llm", model="openai/gpt-4o-mini"))
    'openai/gpt-4o-mini, pipeline joint'
    """
    if judge.verifier is not None:
        return f"the verifier {judge.verifier}"
    if not judge.asks_a_model:
        return "offline, a lexical check: it compares words and numbers, no model reads"
    return f"{judge.model}, pipeline {judge.pipeline}"


def _verdicts_of(whole: Effective) -> dict[str, Any]:
    judge = whole.judge.model_dump(mode="json", exclude=set(_NO_VERDICT))
    return {"judge": judge, "metrics": whole.metrics, "segment": whole.segment}


def _matching(entry: dict[str, Any]) -> dict[str, Any]:
    """Which traffic an entry is for; what it sets stands in the settings that follow from it."""
    return {key: entry.get(key) for key in ("application", "when")}


@dataclass
class Checkpoint:
    """The records that a file holds already, the last one's mark, and where the next one goes.

    ``after`` is the number of the last row that has a record, 0 without one.
    """

    out: BinaryIO
    after: int = 0
    mark: RunMark | None = None
    records: int = 0

    def require(self, rows: str, name: str) -> None:
        """Raises ``ConfigurationError`` where the rows so far are not those of the file."""
        if self.mark is not None and rows != self.mark.rows:
            raise ConfigurationError(
                f"--out {self.out.name}: its {self.records} records are of another input: up to "
                f"row {self.after} it has the fingerprint {self.mark.rows[:8]}, and {name} has "
                f"{rows[:8]}; {_OVERWRITE}"
            )

    def write(self, line: bytes) -> None:
        """Write a record, so that a kill loses none that was written."""
        self.out.write(line)
        self.out.flush()


@contextmanager
def checkpoint(out: Path, *, overwrite: bool) -> Iterator[Checkpoint]:
    """The file, open and locked; a last line that was cut off is taken away.

    Raises ``ConfigurationError`` where another run writes to it. An ``OSError`` goes through.
    """
    with out.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError(f"--out {out}: another run writes to it") from error
        if overwrite:
            file.truncate(0)
        yield Checkpoint(file)


def resumed(found: Checkpoint, judge: str) -> Iterator[ScoreRecord]:
    """The records that are there; afterwards ``found`` knows where to go on.

    Raises ``ConfigurationError`` for what is no record of a run with these judges.
    """
    file, name = found.out, found.out.name
    file.seek(0)
    end = 0
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n") and _is_cut(line):
            break  # by a kill
        record, mark = _record(name, number, line)
        if mark.judge != judge:
            raise ConfigurationError(
                f"--out {name}: it was begun by {mark.judge}, and this run is by {judge}; "
                f"{_OVERWRITE}"
            )
        end += len(line)
        found.after, found.mark = record.source.offset + 1, mark
        found.records += 1
        yield record
    file.truncate(end)
    file.seek(0, os.SEEK_END)


def _is_cut(line: bytes) -> bool:
    """Whether it is the beginning of a record, and not the end of somebody else's file.

    >>> _is_cut(b'{"sch'), _is_cut(b'{"schema":"rag.score/1","app'), _is_cut(b"my thesis")
    (True, True, False)
    """
    return _BEGINS.startswith(line) or line.startswith(_BEGINS)


def _record(name: str, number: int, line: bytes) -> tuple[ScoreRecord, RunMark]:
    try:
        record = read_score_record(line)
    except RecordSkipped as error:
        raise ConfigurationError(
            f"--out {name}: line {number} is no score record ({error}); {_OVERWRITE}"
        ) from error
    if record.run is None:
        raise ConfigurationError(
            f"--out {name}: line {number} is a score record, but of no run that could go on; "
            f"{_OVERWRITE}"
        )
    return record, record.run
