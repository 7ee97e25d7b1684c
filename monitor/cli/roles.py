"""``run``, ``score``, ``export``, ``version``: the long-running roles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, settings_of

if TYPE_CHECKING:
    from monitor.app import Role


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run)
    app.command("score")(score)
    app.command("export")(export)
    app.command("version")(version)


def run(config: ConfigFile = None, set_: Overrides = None) -> None:
    """Run scorer and exporter in one process."""
    _serve(config, set_, ["score", "export"])


def score(config: ConfigFile = None, set_: Overrides = None) -> None:
    """Run the scorer: consume interactions, judge a part of them, write score records."""
    _serve(config, set_, ["score"])


def export(
    config: ConfigFile = None,
    set_: Overrides = None,
    from_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Read score records from a JSONL file instead of Kafka."),
    ] = None,
    at: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="With --from-file: the time to compute for (RFC 3339); default: now."),
    ] = None,
    print_: Annotated[
        bool, typer.Option("--print", help="With --from-file: print the gauges and end.")
    ] = False,
    control: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="With --from-file: control records from a JSONL file; "
            "without it baselines are learned from the scores, and not published."
        ),
    ] = None,
) -> None:
    """Run the exporter: follow score records, serve rolling gauges."""
    if from_file is None:
        if at is not None or print_ or control is not None:
            raise typer.BadParameter("--at, --control and --print go with --from-file")
        _serve(config, set_, ["export"])
        return
    if not print_:
        raise typer.BadParameter("--from-file goes with --print")
    _print_gauges(config, set_, from_file, at, control)


def _print_gauges(
    config: Path | None,
    overrides: list[str] | None,
    file: Path,
    at: str | None,
    control: Path | None,
) -> None:
    import time

    from monitor.books import books, promises
    from monitor.errors import ConfigurationError
    from monitor.export.from_file import gauges
    from monitor.ingest.event_time import parse_timestamp

    settings = settings_of(config, overrides)
    found = books(settings)
    try:
        moment = parse_timestamp(at) if at else None
    except ValueError as error:
        raise ConfigurationError(f"--at: found {at!r}, expected {error}") from error
    decided = None if control is None else _lines("--control", control)
    text = gauges(
        found.scores,
        found.baselines,
        _lines("--from-file", file),
        moment.timestamp() if moment else time.time(),
        decided,
        promises(settings),
    )
    typer.echo(text, nl=False)


def _lines(option: str, file: Path) -> Iterator[bytes]:
    """The lines of a file that an option names; raises ``ConfigurationError``."""
    from monitor.errors import ConfigurationError

    try:
        with file.open("rb") as lines:
            yield from lines
    except OSError as error:
        raise ConfigurationError(f"{option} {file}: {error.strerror}") from error


def version(json: AsJson = False) -> None:
    """Print the version."""
    from monitor import __version__

    typer.echo(f'{{"version": "{__version__}"}}' if json else __version__)


def _serve(config: Path | None, overrides: list[str] | None, roles: list[Role]) -> None:
    settings = settings_of(config, overrides)
    import asyncio

    from monitor import app, logs

    logs.configure(settings.log.level, settings.log.format)
    asyncio.run(app.serve(settings, roles))
