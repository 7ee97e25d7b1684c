"""One call of ``evaluate``: its files, what it says on the way, and its end in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from monitor.app.redaction import redactor_of
from monitor.config import Settings
from monitor.errors import ConfigurationError
from monitor.evaluate.checkpoint import judge_name
from monitor.evaluate.drawing import drawn
from monitor.evaluate.noise import noise_passages
from monitor.evaluate.price import MOST_PRICED, foreseen
from monitor.evaluate.progress import Voice, shown
from monitor.evaluate.reading import RowDecoder, RowFormat, row_format
from monitor.evaluate.rows import STDIN, STDIN_NAME, CsvColumns, InputRow, opened
from monitor.evaluate.run import EvaluationJob, evaluate
from monitor.evaluate.sinks import FileSink, sink
from monitor.evaluate.summary import Summary
from monitor.evaluate.thresholds import THRESHOLD
from monitor.runtime.shutdown import ended, stop_on_signals
from monitor.telemetry import ScorerTelemetry, new_registry


@dataclass(frozen=True)
class FileOptions:
    """How a file is evaluated.

    ``out`` None: records go to standard output, or nowhere where ``is_quiet``. ``topic``: whose
    format its rows have. ``noise`` is appended to each row. ``sample`` is how many rows, by which
    seed. ``yes``: whatever it costs.
    """

    out: Path | None = None
    overwrite: bool = False
    is_quiet: bool = False
    topic: str | None = None
    noise: Sequence[str] = ()
    sample: tuple[int, int] | None = None
    yes: bool = False


async def evaluate_file(
    settings: Settings, file: Path, options: FileOptions, voice: Voice, summary: Summary
) -> None:
    """Judge a file, or standard input, to ``out`` or to standard output; ``summary`` counts.

    Raises ``ConfigurationError`` for files that cannot be read or written, or do not go together:
    before anything is judged, unless standard input is damaged further down.
    """
    out = options.out
    formed = row_format(settings, options.topic)
    decoder = _decoder(settings, STDIN_NAME if str(file) == STDIN else file.name, formed, options)
    with _named(out), opened(file, formed.columns) as rows:
        counted = _counted(file, formed.columns, options)
        with _sink(settings, file, options, summary) as found:
            voice.line(f"judge: {judge_name(settings.judge)}")
            if summary.resumed:
                voice.line(f"{out}: {summary.resumed} records are there; it goes on behind them")
            job = EvaluationJob(
                decoder,
                rows if options.sample is None else drawn(rows, *options.sample),
                found.records,
                lambda said: voice.rejected(f"{decoder.name}: {said}"),
                summary,
                found.mark,
            )
            if counted is not None:
                after = found.records.after
                some = [row for row in counted.some if row.number > after]
                left = max(0, counted.rows - summary.resumed)
                await agree(settings, decoder, some, left, voice, yes=options.yes)
            await judged(settings, job, None if counted is None else counted.rows, voice)


async def agree(
    settings: Settings,
    decoder: RowDecoder,
    some: Sequence[InputRow],
    rows: int,
    voice: Voice,
    *,
    yes: bool,
) -> None:
    """Say what ``rows`` rows cost, by ``some`` of them.

    Raises ``ConfigurationError`` where the answer is no.
    """
    cost = await foreseen(settings, decoder, some, rows) if some else None
    if cost is not None:
        voice.agree(cost, settings.evaluate.confirm_usd, yes=yes)


async def judged(settings: Settings, job: EvaluationJob, of: int | None, voice: Voice) -> None:
    """Judge a job of so many rows, and say how far it is; signals end it in order."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    showing = asyncio.create_task(shown(job.summary, of, voice))
    try:
        await evaluate(settings, ScorerTelemetry(new_registry()), job, stop)
    finally:
        await ended(showing)
    voice.clear()


def _decoder(settings: Settings, name: str, formed: RowFormat, options: FileOptions) -> RowDecoder:
    redactor = redactor_of(settings)
    return RowDecoder(
        name,
        formed.decoder,
        redactor,
        int(time.time() * 1000),
        settings.ingest.max_record_bytes,
        noise_passages([redactor.text(text) for text in options.noise]),
    )


class _RowCount(NamedTuple):
    """How many rows are to be judged, and some of them, from all over the file."""

    rows: int
    some: Sequence[InputRow]


def _counted(file: Path, columns: CsvColumns, options: FileOptions) -> _RowCount | None:
    """So that whatever is wrong with the file is told before a row is judged.

    None for standard input, which can be read only once.
    """
    if str(file) == STDIN:
        return None
    number = 0

    def counting(rows: Iterator[InputRow]) -> Iterator[InputRow]:
        nonlocal number
        for row in rows:
            number += 1
            yield row

    with opened(file, columns) as rows:
        if options.sample is not None:
            chosen = drawn(rows, *options.sample)
            return _RowCount(len(chosen), drawn(chosen, MOST_PRICED, 0))
        some = drawn(counting(rows), MOST_PRICED, 0)
    return _RowCount(number, some)


@contextmanager
def _sink(
    settings: Settings, file: Path, options: FileOptions, summary: Summary
) -> Iterator[FileSink]:
    """Where records go, and the mark that they carry; those that are there are in the summary."""
    out = options.out
    if out is not None and out.exists() and str(file) != STDIN and out.samefile(file):
        raise ConfigurationError(f"--out {out}: it would overwrite the interactions")
    is_native = settings.ingest.format == "native" and not options.topic
    # Records of before rows kept their thresholds would pass unheld.
    mapped = [] if is_native else [_shape(settings), THRESHOLD]
    reading = [*mapped, options.topic or "", *options.noise] if mapped or options.noise else []
    quiet = options.is_quiet
    with sink(
        settings, out, reading, summary, overwrite=options.overwrite, is_quiet=quiet
    ) as found:
        yield found


def _shape(settings: Settings) -> str:
    return settings.ingest.model_dump_json(include={"format", "mapping", "sources"})


@contextmanager
def _named(out: Path | None) -> Iterator[None]:
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
