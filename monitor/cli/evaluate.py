"""``evaluate``: judge a file of interactions, without Kafka."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.common import ConfigFile, Overrides, say, settings_of


class JudgeKind(StrEnum):
    """Values of ``--judge``."""

    OFFLINE = "offline"
    LLM = "llm"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate")(evaluate)


def evaluate(
    file: Annotated[
        Path, typer.Argument(help="Interactions: JSONL, a JSON list, CSV, Parquet, .gz, or -.")
    ],
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
        typer.Option(help="Where the score records go; a run that was broken off goes on there."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin --out anew, whatever it holds.")
    ] = False,
    config: ConfigFile = None,
    set_: Overrides = None,
) -> None:
    """Judge a file of interactions, without Kafka.

    Writes the score records that live traffic gets.
    Exit code 1 when a row is no interaction. It names such rows, and judges the others.
    Exit code 3 when the judge answers nothing, as with a wrong key. It writes the records anyway.
    SIGTERM and Ctrl-C end it in order: it writes running judgements, and exit codes stay.
    """
    given = {"judge.kind": judge and judge.value, "judge.model": model}
    flags = [f"{path}={value}" for path, value in given.items() if value is not None]
    settings = settings_of(config, [*(set_ or []), *flags])
    if overwrite and out is None:
        raise typer.BadParameter("--overwrite goes with --out")
    import asyncio

    from monitor.errors import DependencyRefused
    from monitor.evaluate.session import Voice, evaluate_file
    from monitor.evaluate.summary import one_line, table
    from monitor.runtime import logs

    logs.configure(settings.log.level, settings.log.format)
    voice = Voice(lambda line: say(line, err=True), is_terminal=sys.stderr.isatty())
    summary = asyncio.run(evaluate_file(settings, file, out, voice, overwrite=overwrite))
    for line in (*table(summary), one_line(summary)):
        voice.line(line)
    if summary.refused:
        raise DependencyRefused(summary.refused)
    if summary.rejected:
        raise typer.Exit(1)
