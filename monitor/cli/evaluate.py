"""``evaluate``: judge a file of interactions, without Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from monitor.cli.common import ConfigFile, Overrides, settings_of

if TYPE_CHECKING:
    from monitor.config import Settings
    from monitor.evaluate.run import Summary

#: Lines that are no interactions are named one by one up to here.
MOST_NAMED = 20


class JudgeKind(StrEnum):
    """Values of ``--judge``."""

    OFFLINE = "offline"
    LLM = "llm"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate")(evaluate)


def evaluate(
    file: Annotated[Path, typer.Argument(help="Interactions, one JSON object a line.")],
    judge: Annotated[
        JudgeKind | None,
        typer.Option(help="The judge; default: judge.kind of the settings."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="The model, like openai/gpt-4o-mini; default: judge.model."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the score records go, one a line; default: standard output."),
    ] = None,
    config: ConfigFile = None,
    set_: Overrides = None,
) -> None:
    """Judge every interaction of a file, and write the score records that live traffic gets.

    Exit code 1 when a line is no interaction. Such lines are named, and the others are judged.
    Exit code 3 when the judge answers nothing, as with a wrong key. The records are written anyway.
    SIGTERM and Ctrl-C end it in order: running judgements are written, and exit codes stay.
    """
    given = {"judge.kind": judge and judge.value, "judge.model": model}
    flags = [f"{path}={value}" for path, value in given.items() if value is not None]
    settings = settings_of(config, [*(set_ or []), *flags])
    if model is not None and settings.judge.kind != "llm":
        raise typer.BadParameter("--model goes with --judge llm")
    import asyncio

    from monitor.errors import DependencyRefused
    from monitor.runtime import logs

    logs.configure(settings.log.level, settings.log.format)
    named: list[str] = []

    def rejected(said: str) -> None:
        named.append(said)
        if len(named) <= MOST_NAMED:
            typer.echo(f"{file.name}: {said}", err=True)

    with _opened(file, out) as (lines, records):
        summary = asyncio.run(_run(settings, file.name, lines, records.write, rejected))
    typer.echo(_told(summary), err=True)
    if summary.refused:
        raise DependencyRefused(summary.refused)
    if summary.rejected:
        raise typer.Exit(1)


async def _run(
    settings: Settings,
    name: str,
    lines: BinaryIO,
    write: Callable[[bytes], object],
    rejected: Callable[[str], object],
) -> Summary:
    import asyncio

    from monitor.evaluate.run import evaluate as run
    from monitor.runtime.shutdown import stop_on_signals
    from monitor.telemetry import ScorerTelemetry, new_registry

    stop = asyncio.Event()
    stop_on_signals(stop)
    telemetry = ScorerTelemetry(new_registry())
    return await run(settings, telemetry, name, lines, write, rejected, stop)


@contextmanager
def _opened(file: Path, out: Path | None) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Both files; raises ``ConfigurationError``, also where one would overwrite the other."""
    import sys

    from monitor.errors import ConfigurationError

    if out is not None and out.exists() and file.exists() and out.samefile(file):
        raise ConfigurationError(f"--out {out}: it would overwrite the interactions")
    try:
        with file.open("rb") as lines:
            if out is None:
                yield lines, sys.stdout.buffer
                _flushed(sys.stdout.buffer)
            else:
                with out.open("wb") as records:
                    yield lines, records
    except* OSError as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        where = getattr(error, "filename", None) or out or "standard output"
        why = getattr(error, "strerror", None)
        raise ConfigurationError(f"{where}: {why}") from error


def _flushed(out: BinaryIO) -> None:
    """Also where nobody reads any more, as behind ``| head``: that is an end like another."""
    import os

    try:
        out.flush()
    except BrokenPipeError:
        # What is left in the buffer would fail again, and be told, when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _told(summary: Summary) -> str:
    outcomes = ", ".join(f"{n} {name}" for name, n in summary.outcomes.most_common())
    usage, stopped = summary.usage, summary.stopped_before
    return (
        f"{summary.records} judged: {outcomes or 'none'}; {summary.rejected} lines left out; "
        f"{usage.calls} calls, {usage.prompt_tokens} prompt and {usage.completion_tokens} "
        f"completion tokens, {usage.usd:.4f} USD"
        f"{f'; stopped before line {stopped}' if stopped else ''}"
    )
