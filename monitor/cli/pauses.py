"""``pause`` and ``resume``: judging stops, and goes on, on all scorers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import ConfigFile, Overrides, say, settings_of

if TYPE_CHECKING:
    from datetime import datetime

    from monitor.control.commands import ControlAccess
    from monitor.records.control import PauseRecord

PausedApplication = Annotated[
    str | None,
    typer.Option(help="Only this application (default: all)."),
]
PauseLength = Annotated[
    str,
    typer.Option("--for", help="How long, like 30m or 2h, at most 30d (default: 24h)."),
]
PauseTimeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds for reading, and for writing.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("pause")(pause)
    app.command("resume")(resume)


def pause(
    application: PausedApplication = None,
    for_: PauseLength = "24h",
    config: ConfigFile = None,
    set_: Overrides = None,
    limit: PauseTimeout = 60.0,
) -> None:
    """Pause judging.

    Interactions count as not_sampled (paused). Offsets keep advancing.

    It ends by itself, or with rag-monitor resume.
    """
    import asyncio

    from monitor.control import commands
    from monitor.records.control import PauseRecord

    access, now = _access(config, set_, limit)
    record = PauseRecord(application=_name(application), until=_until(for_, now))
    asyncio.run(commands.pause(access, record, _who()))
    say(_described(record))


def resume(
    application: PausedApplication = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    limit: PauseTimeout = 60.0,
) -> None:
    """Resume judging.

    Without --application, end all pauses. Exit code 1 when there was none.
    """
    import asyncio

    from monitor.control import commands

    access, now = _access(config, set_, limit)
    name = None if application is None else _name(application)
    ended, left = asyncio.run(commands.resume(access, name, now))
    for record in ended:
        say(f"{record.application or 'all applications'}: resumed")
    if not ended:
        typer.echo("nothing of it was paused", err=True)
    _tell_left(left, name)
    if not ended:
        raise typer.Exit(1)


def _tell_left(left: Sequence[PauseRecord], name: str | None) -> None:
    if name is not None and any(not record.application for record in left):
        typer.echo("all applications are paused still: rag-monitor resume", err=True)


def _described(record: PauseRecord) -> str:
    name, end = record.application or "all applications", record.end or "rag-monitor resume"
    return f"{name}: paused until {end}"


def _name(application: str | None) -> str:
    from monitor.errors import ConfigurationError

    if application is not None and not application.strip():
        raise ConfigurationError("--application: empty; leave it out for all applications")
    if application == "*":  # stands for all wherever a pause is shown
        raise ConfigurationError("--application: *; leave it out for all applications")
    return application or ""


def _until(text: str, now: float) -> datetime:
    from datetime import UTC, datetime

    from monitor.config import seconds
    from monitor.errors import ConfigurationError
    from monitor.records.control import LONGEST_PAUSE_S

    try:
        length_s = seconds(text)
    except ValueError:
        length_s = 0
    if not length_s or not re.fullmatch(r"[0-9]+[a-z]+", text):
        raise ConfigurationError(f"--for: found {text!r}, expected a duration like 30m or 2h")
    if length_s > LONGEST_PAUSE_S:
        raise ConfigurationError(
            f"--for: found {text!r}, expected at most {LONGEST_PAUSE_S // 86_400}d; never to "
            "judge an application, set its sampling.rate to 0, or a rule in ingest.exclude"
        )
    return datetime.fromtimestamp(int(now) + length_s, UTC)


def _who() -> str:
    """The user and host that this runs as: who asks for it, as far as the system knows."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may have a user without a name
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


def _access(
    config: Path | None, overrides: list[str] | None, limit_s: float
) -> tuple[ControlAccess, float]:
    """The access, and the time in epoch seconds."""
    import time

    from monitor.app.accesses import control_access
    from monitor.runtime import logs

    settings = settings_of(config, overrides, uses=())
    logs.configure_command(settings.log.format)
    return control_access(settings, limit_s), time.time()
