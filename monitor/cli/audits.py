"""``audit serve | select | export | import``: people check the judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, moment_of, say, settings_of

if TYPE_CHECKING:
    from monitor.audit.store.database import Database
    from monitor.audit.store.drawing import DrawnBatch, DrawRequest

app = typer.Typer(help="Check the judge: draw, label, export.", no_args_is_help=True)

SinceLabel = Annotated[
    str, typer.Option("--since", help="Since then: RFC 3339, or an age like 7d.")
]


@app.command()
def serve(config: ConfigFile = None, set_: Overrides = None) -> None:
    """Keep score records, and serve the pages to label.

    They are kept in a database (audit.database). The pages ask for a password.
    """
    import asyncio

    settings = settings_of(config, set_)
    _need_packages()
    from monitor.app.audit_role import AuditRole
    from monitor.runtime import logs
    from monitor.runtime.shutdown import stop_on_signals

    logs.configure(settings.log.level, settings.log.format)

    async def run() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        await AuditRole(settings).run(stop)
        logs.logger().info("stopped")

    asyncio.run(run())


@app.command()
def select(
    application: Annotated[str, typer.Option("--application", help="Of this application.")],
    number: Annotated[int, typer.Option("-n", "--n", min=1, help="So many.")] = 100,
    since: SinceLabel = "7d",
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy",
            help="uniform; stratified: half of them bad, by segment; or worst: the worst ones, "
            "which correct nothing.",
        ),
    ] = "stratified",
    metric: Annotated[
        str, typer.Option("--metric", help="What is bad, by this metric.")
    ] = "faithfulness",
    judge: Annotated[
        str | None, typer.Option("--judge", help="Of this judge; default: the latest.")
    ] = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
) -> None:
    """Draw interactions to be audited.

    Each has a known probability, which is kept.

    Exit code 1 when there is nothing to draw from.
    """
    import asyncio
    import time

    database, now = _database(config, set_), time.time()
    from monitor.audit import commands

    since_ms = round(moment_of(since, now).timestamp() * 1000)
    request = _request(application, metric, (since_ms, round(now * 1000)), number, strategy, judge)
    found = asyncio.run(commands.select(database, request, round(now * 1000)))
    if found is None:
        say(
            f"nothing to draw from: no interaction of {application} since {since} with a value of "
            f"{metric} is kept that was not drawn before; is rag-monitor audit serve running?",
            err=True,
        )
        raise typer.Exit(1)
    _say_batch(found, as_json=json)


def _request(
    application: str,
    metric: str,
    span_ms: tuple[int, int],
    number: int,
    strategy: str,
    judge: str | None,
) -> DrawRequest:
    from monitor.audit.commands import new_seed
    from monitor.audit.store.drawing import STRATEGIES, DrawRequest
    from monitor.errors import ConfigurationError
    from monitor.metrics.catalogue import CATALOGUE

    chosen = next((each for each in STRATEGIES if each == strategy), None)
    if chosen is None:
        raise ConfigurationError(
            f"--strategy: found {strategy!r}, expected {', '.join(STRATEGIES)}"
        )
    if metric not in CATALOGUE:
        raise ConfigurationError(f"--metric: there is no {metric!r}; see docs/metrics.md")
    return DrawRequest(application, metric, *span_ms, number, chosen, judge, new_seed())


def _say_batch(found: DrawnBatch, *, as_json: bool) -> None:
    from monitor.runtime.visible import json_text

    strata = {
        name: {"drawn": each.places, "of": each.of, "probability": each.probability}
        for name, each in found.strata.items()
    }
    if as_json:
        typer.echo(
            json_text(
                {
                    "batch": found.number,
                    "judge": found.judge,
                    "drawn": found.drawn,
                    "strata": strata,
                }
            )
        )
        return
    say(f"batch {found.number}: {found.drawn} interactions of {found.judge} are to be audited")
    for name, each in strata.items():
        say(f"  {name}: {each['drawn']} of {each['of']}")


@app.command("export")
def export_(
    out: Annotated[Path, typer.Option("--out", help="File to write; - is stdout.")],
    format_: Annotated[str, typer.Option("--format", help="jsonl.")] = "jsonl",
    since: SinceLabel = "30d",
    config: ConfigFile = None,
    set_: Overrides = None,
) -> None:
    """Write all audits with their labels, a line each."""
    import asyncio
    import time

    from monitor.errors import ConfigurationError

    if format_ != "jsonl":
        raise ConfigurationError(f"--format: found {format_!r}, expected jsonl")
    database = _database(config, set_)
    from monitor.audit import commands

    since_ms = round(moment_of(since, time.time()).timestamp() * 1000)
    lines = asyncio.run(commands.export(database, since_ms))
    text = "".join(f"{line}\n" for line in lines)
    if str(out) == "-":
        typer.echo(text, nl=False)
    else:
        out.write_text(text, "utf-8")
        say(f"{len(lines)} audits in {out}", err=True)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="Lines as audit export writes them.")],
    config: ConfigFile = None,
    set_: Overrides = None,
) -> None:
    """Take in the labels of a file: all of them, or none.

    Those that are there already are left alone.
    """
    import asyncio

    from monitor.errors import ConfigurationError

    database = _database(config, set_)
    from monitor.audit import commands

    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {type(error).__name__}") from error
    found = asyncio.run(commands.take_in(database, str(file), lines))
    say(f"{found.new} labels are new, {found.known} were there", err=True)


def _database(config: Path | None, overrides: list[str] | None) -> Database:
    settings = settings_of(config, overrides)
    _need_packages()
    from monitor.app.audit_role import database_of
    from monitor.runtime import logs

    logs.configure_command(settings.log.format)
    return database_of(settings)


def _need_packages() -> None:
    from importlib.util import find_spec

    from monitor.errors import ConfigurationError

    missing = [
        name for name in ("sqlalchemy", "alembic", "itsdangerous") if find_spec(name) is None
    ]
    if missing:
        raise ConfigurationError(
            f"audits need {', '.join(missing)}: pip install 'rag-monitor[audit]'"
        )
