"""Options that commands share, and how settings are loaded for a command."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.runtime.standard_output import discard_output

if TYPE_CHECKING:
    from collections.abc import Collection

    from monitor.config import SecretPart, Settings

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="YAML file (default: $RAG_MONITOR_CONFIG)."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="One setting, like --set sampling.rate=0.1 (repeatable)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Connecting = Annotated[
    float,
    typer.Option(
        "--timeout", min=0.1, help="Seconds to wait for a broker that is away, reading from topics."
    ),
]


def settings_of(
    file: Path | None, overrides: list[str] | None, uses: Collection[SecretPart] | None = None
) -> Settings:
    """Settings of this invocation; raises ``ConfigurationError``.

    ``uses`` are the parts whose secrets the command uses, beside Kafka's; None: all of them.
    """
    from monitor.config import PARTS, load
    from monitor.errors import ConfigurationError

    flags = {}
    for item in overrides or []:
        path, equals, value = item.partition("=")
        if not equals:
            raise ConfigurationError(f"--set: found {item!r}, expected path=value")
        flags[path] = value
    return load(os.environ, file, flags, uses=PARTS if uses is None else uses)


def moment_of(since: str, now: float, flag: str = "--since") -> datetime:
    """RFC 3339, or an age (``2h``) before ``now`` (epoch seconds), as a ``flag`` gives it."""
    from datetime import UTC, timedelta

    from monitor.config import seconds
    from monitor.errors import ConfigurationError
    from monitor.ingest.event_time import parse_timestamp

    try:
        return datetime.fromtimestamp(now, UTC) - timedelta(seconds=seconds(since))
    except (ValueError, OverflowError):
        pass
    try:
        found = parse_timestamp(since)
    except ValueError:
        found = None
    if found is None:
        raise ConfigurationError(
            f"{flag}: found {since!r}, expected a time like 2026-11-20T12:00:00Z, or an age in "
            "s, m, h, d or w like 2h"
        )
    return found


def print_json(value: Any) -> None:
    """A value as lines of JSON, which can be printed anywhere."""
    from monitor.runtime.visible import json_text

    typer.echo(json_text(value, indent=2))


def check_out(out: Path) -> None:
    """Raises ``ConfigurationError`` where no file of that name can be: before long reading."""
    from monitor.errors import ConfigurationError

    folder = out.absolute().parent
    if out.is_dir() or not folder.is_dir():
        wrong = "it is a folder" if out.is_dir() else f"there is no folder {folder}"
        raise ConfigurationError(f"--out: {out}: {wrong}")


def write_out(out: Path, body: bytes) -> None:
    """Write the file that ``--out`` names; raises ``ConfigurationError``."""
    from monitor.errors import ConfigurationError

    try:
        out.write_bytes(body)
    except OSError as error:
        raise ConfigurationError(f"--out: {out}: {error.strerror}") from None


def say(line: str, *, err: bool = False) -> None:
    """Print a line with names that others have given."""
    from monitor.runtime.visible import visible

    typer.echo(visible(line), err=err)


def print_report(text: str) -> bool:
    """Print a report, also where nobody reads it to its end (``| head``): exit codes stay.

    False when nobody reads any more.
    """
    try:
        typer.echo(text)
    except BrokenPipeError:
        discard_output()
        return False
    return True
