"""``alarms``: what is worse than normal, as it stands on the topic."""

from __future__ import annotations

from typing import Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, settings_of


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("alarms")(alarms)


def alarms(
    config: ConfigFile = None,
    set_: Overrides = None,
    all_: Annotated[bool, typer.Option("--all", help="Closed ones, too.")] = False,
    claims: Annotated[
        bool, typer.Option("--claims", help="The claims that count, too: texts of your traffic.")
    ] = False,
    json: AsJson = False,
    limit: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for reading.")] = 60.0,
) -> None:
    """Show the open alarms: what changed, and since when.

    With the worst interactions since. --json prints all of it.

    Prints pauses on stderr, since no alarm opens while judging pauses.

    Exit code 3 when the topic is missing, or Kafka does not answer in time.
    """
    import asyncio
    import time
    from datetime import UTC, datetime

    from monitor.app.connections import connection, output_connection
    from monitor.control import commands
    from monitor.control.commands import ControlAccess
    from monitor.exporter.alarms.listing import lines, read_alarms
    from monitor.runtime import logs
    from monitor.runtime.health import Health
    from monitor.runtime.visible import json_visible, visible

    settings = settings_of(config, set_, uses=())
    logs.configure_command(settings.log.format)
    outputs = output_connection(settings, connection(settings))
    topic = settings.kafka.topics.alarms
    control = settings.kafka.topics.control
    found = asyncio.run(read_alarms(outputs, topic, Health(time.monotonic), limit))
    shown = [one for one in found.records if all_ or one.state == "open"]
    access = ControlAccess(outputs, control, Health(time.monotonic), limit)
    for line in asyncio.run(commands.status_lines(access, time.time())):  # beside what is asked for
        typer.echo(visible(line), err=True)
    if json:
        whole = ",\n".join(one.to_json().decode() for one in shown)
        typer.echo(json_visible(f"[{whole}]"))
        return
    now = datetime.now(UTC)
    for line in (line for one in shown for line in lines(one, now, with_claims=claims)):
        _say(visible(line))
    still = sum(one.state == "open" for one in found.records)
    skipped = f"; {found.unreadable} records cannot be read" if found.unreadable else ""
    typer.echo(f"{still} open of {len(found.records)} alarms on {topic}{skipped}", err=True)


def _say(line: str) -> None:
    """Whole words on a terminal; a line stays one where a program reads it."""
    import shutil
    import sys

    from monitor.exporter.alarms.listing import wrapped

    is_terminal = sys.stdout.isatty()
    for part in wrapped(line, shutil.get_terminal_size().columns) if is_terminal else [line]:
        typer.echo(part)
