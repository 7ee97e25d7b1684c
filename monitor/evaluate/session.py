"""One call of ``evaluate``: its files, what it says on the way, and its end in order."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from monitor.app.policies import redaction_rules
from monitor.config import Settings
from monitor.errors import ConfigurationError
from monitor.evaluate.checkpoint import checkpoint, judge_mark, judge_name, resumed
from monitor.evaluate.rows import STDIN, STDIN_NAME, opened
from monitor.evaluate.run import EvaluationJob, Resumes, evaluate
from monitor.evaluate.summary import Summary, progress_line
from monitor.ingest.redaction.redactor import OFF
from monitor.runtime.shutdown import ended, stop_on_signals
from monitor.telemetry import ScorerTelemetry, new_registry

#: Rows that are no interactions are named one by one up to here.
MOST_NAMED: Final = 20
#: Seconds between two looks at how far it is: on a terminal, where one replaces the other, and not.
SHOWN_EVERY_S, LOGGED_EVERY_S = 1.0, 10.0


class Voice:
    """Where people are told: lines, and on a terminal how far it is in the line below them."""

    def __init__(self, say: Callable[[str], None], *, is_terminal: bool) -> None:
        self._say, self.is_terminal = say, is_terminal
        self._named = 0

    def line(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        self._say(text)

    def rejected(self, text: str) -> None:
        """One of those that are named up to a number."""
        self._named += 1
        if self._named <= MOST_NAMED:
            self.line(text)

    def progress(self, text: str) -> None:
        """How far it is."""
        if not self.is_terminal:
            self._say(text)
            return
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the progress away."""
        if self.is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


async def evaluate_file(
    settings: Settings, file: Path, out: Path | None, voice: Voice, *, overwrite: bool
) -> Summary:
    """Judge a file, or standard input, to ``out`` or to standard output.

    Raises ``ConfigurationError`` for files that cannot be read or written, or do not go together:
    before anything is judged, unless standard input is damaged further down.
    """
    stop, summary = asyncio.Event(), Summary()
    stop_on_signals(stop)
    name = STDIN_NAME if str(file) == STDIN else file.name
    with _named(file, out), opened(file) as rows:
        of = _counted(file)
        with _sink(settings, file, out, summary, overwrite=overwrite) as (sink, mark):
            voice.line(f"judge: {judge_name(settings.judge)}")
            if summary.resumed:
                voice.line(f"{out}: {summary.resumed} records are there; it goes on behind them")
            job = EvaluationJob(
                name, rows, sink, lambda said: voice.rejected(f"{name}: {said}"), summary, mark
            )
            showing = asyncio.create_task(_shown(summary, of, voice))
            try:
                await evaluate(settings, ScorerTelemetry(new_registry()), job, stop)
            finally:
                await ended(showing)
    voice.clear()
    return summary


def _counted(file: Path) -> int | None:
    """How many rows there are; so that whatever is wrong with them is told before one is judged.

    None for standard input, which can be read only once.
    """
    if str(file) == STDIN:
        return None
    with opened(file) as rows:
        return sum(1 for _ in rows)


@contextmanager
def _sink(
    settings: Settings, file: Path, out: Path | None, summary: Summary, *, overwrite: bool
) -> Iterator[tuple[Resumes, str | None]]:
    """Where records go, and the mark that they carry; those that are there are in the summary."""
    if out is None:
        yield _StandardOutput(), None
        _flushed()
        return
    if out.exists() and str(file) != STDIN and out.samefile(file):
        raise ConfigurationError(f"--out {out}: it would overwrite the interactions")
    rules = redaction_rules(settings)
    mark = judge_mark(settings, rules.tag if rules else OFF)
    with checkpoint(out, overwrite=overwrite) as found:
        for record in resumed(found, mark):
            summary.add(record, resumed=True)
        yield found, mark


class _StandardOutput:
    """Records go to whoever reads them."""

    after = 0

    def require(self, rows: str, name: str) -> None:
        """Nothing is there."""

    def write(self, line: bytes) -> None:
        """Write one line."""
        sys.stdout.buffer.write(line)


def _flushed() -> None:
    """Also where nobody reads any more, as behind ``| head``: that is an end like another."""
    try:
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # What is left in the buffer would fail again, and be told, when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _shown(summary: Summary, of: int | None, voice: Voice) -> None:
    """Say how far it is, for ever."""
    began, every_s = time.monotonic(), SHOWN_EVERY_S if voice.is_terminal else LOGGED_EVERY_S
    while True:
        await asyncio.sleep(every_s)
        rate = (summary.records - summary.resumed) / (time.monotonic() - began)
        done = summary.records + summary.rejected
        voice.progress(progress_line(done, of, rate, summary.usage.usd))


@contextmanager
def _named(file: Path, out: Path | None) -> Iterator[None]:
    """Raises ``ConfigurationError`` for files that cannot be opened, read or written."""
    try:
        yield
    except* OSError as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        where = getattr(error, "filename", None) or out or "standard output"
        why = getattr(error, "strerror", None)
        raise ConfigurationError(f"{where}: {why}") from error
