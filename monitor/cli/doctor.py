"""``doctor``: look at everything that the monitor needs, and change nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, settings_of

if TYPE_CHECKING:
    from monitor.doctor.report import ReportLine

#: Columns of the table where the output is no terminal.
WIDTH = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(config: ConfigFile = None, set_: Overrides = None, json: AsJson = False) -> None:
    """Check everything that the monitor needs.

    Settings, brokers, topics, rights, traffic, judge and port. Changes nothing.

    Exit code 1 when a line says FAIL.
    """
    import asyncio

    from monitor.doctor.report import exit_code

    lines = asyncio.run(_reported(_groups(config, set_), json))
    raise typer.Exit(exit_code(lines))


async def _groups(
    config: Path | None, overrides: list[str] | None
) -> AsyncIterator[list[ReportLine]]:
    """Lines as they become known; a wrong setting is the first of them, and the last."""
    import logging
    import os
    import time

    from monitor.doctor.report import ok
    from monitor.doctor.wrong import wrong_setting
    from monitor.errors import ConfigurationError
    from monitor.runtime import logs

    if any("=" not in item for item in overrides or []):
        settings_of(None, overrides)  # raises: not a setting, but the command line is wrong
    try:
        settings = settings_of(config, overrides)
    except ConfigurationError as error:
        yield [wrong_setting(error)]
        return
    from monitor.doctor.examine import examine

    logs.configure("error", settings.log.format)
    logging.disable()  # whatever goes wrong is a line of ours
    named = config or os.environ.get("RAG_MONITOR_CONFIG")
    yield [ok("settings", str(named or "environment and defaults"), "valid")]
    async for group in examine(settings, time.time):
        yield group


async def _reported(groups: AsyncIterator[list[ReportLine]], as_json: bool) -> list[ReportLine]:
    """Print: the table as it grows, JSON at the end. The lines."""
    import os
    import shutil
    import sys

    from monitor.doctor import table
    from monitor.runtime.visible import json_text

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if terminal else WIDTH
    colour = terminal and "NO_COLOR" not in os.environ
    lines: list[ReportLine] = []
    async for group in groups:
        lines += group
        if not as_json:
            for row in table.rows(group, width=width, colour=colour):
                typer.echo(row)
    if as_json:
        rows = [line._asdict() for line in lines]
        typer.echo(json_text(rows, indent=2))
    else:
        typer.echo(f"\n{table.summary(lines)}")
    return lines
