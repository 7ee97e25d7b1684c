"""``dead-letters list | show | redrive``: look at what failed, and send it back."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    ConfigFile,
    Connecting,
    Overrides,
    moment_of,
    print_json,
    settings_of,
)

if TYPE_CHECKING:
    from collections import Counter

    from monitor.config import Settings
    from monitor.ingest.dead_letters.commands import DeadLetterAccess
    from monitor.ingest.dead_letters.redrive import Redriven, RedriveResult

#: Characters of a key or of a header, for people.
_MOST_SHOWN = 2_000

app = typer.Typer(help="Look at dead letters, and send them back.", no_args_is_help=True)

Most = Annotated[int, typer.Option("--max", min=1, help="Print at most so many.")]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Failed since then: RFC 3339, or an age like 2h."),
]


@app.command("list")
def list_(
    config: ConfigFile = None,
    set_: Overrides = None,
    most: Most = 100,
    since: Since = None,
    grouped: Annotated[
        bool, typer.Option("--grouped", help="Count by stage, class and topic.")
    ] = False,
    json: AsJson = False,
    limit: Connecting = 60.0,
) -> None:
    """List dead letters, newest first.

    Without any text of a user.
    """
    import asyncio

    from monitor.app.accesses import dead_letter_access
    from monitor.runtime.visible import visible

    settings, moment = _prepared(config, set_, since)
    rows, summary = asyncio.run(_listed(dead_letter_access(settings, limit), most, moment, grouped))
    if json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(visible(_group_line(row) if grouped else _dead_letter_line(row)))
    typer.echo(summary, err=True)


@app.command()
def show(
    place: Annotated[
        str,
        typer.Argument(
            help="PARTITION/OFFSET of the dead letter, or its record's TOPIC/PARTITION/OFFSET."
        ),
    ],
    config: ConfigFile = None,
    set_: Overrides = None,
    value: Annotated[
        bool, typer.Option("--value", help="The value too, with texts of users.")
    ] = False,
    json: AsJson = False,
    limit: Connecting = 60.0,
) -> None:
    """Show one dead letter: what was wrong, and its headers.

    The last one of an original place.

    Exit code 1 when there is none.
    """
    import asyncio

    from monitor.app.accesses import dead_letter_access
    from monitor.ingest.dead_letters import commands
    from monitor.runtime.visible import visible

    settings, _ = _prepared(config, set_, None)
    looked_up = commands.shown(
        dead_letter_access(settings, limit), *_place(place), with_value=value
    )
    shown = asyncio.run(looked_up)
    if isinstance(shown, str):
        topic = settings.kafka.topics.dead_letters
        typer.echo(visible(f"no dead letter {place} on {topic}: {shown}"), err=True)
        raise typer.Exit(1)
    if json:
        print_json(shown)
        return
    for key, found in shown.items():
        if key == "headers":
            typer.echo("headers:")
            for name, text in found:
                typer.echo(f"  {_some(name)}: {_some(text)}")
        else:
            typer.echo(f"{key}: {visible(found) if key == 'value' else _some(found)}")


@app.command()
def redrive(
    config: ConfigFile = None,
    set_: Overrides = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent. Send and commit nothing.")
    ] = False,
    most: Annotated[
        int | None,
        typer.Option("--max", min=1, help="Send at most so many."),
    ] = None,
    since: Since = None,
    json: AsJson = False,
    limit: Connecting = 60.0,
) -> None:
    """Send dead letters back to their topics.

    Each once: the next redrive begins after them.

    Refuses dead letters with 3 attempts. Passes over those older than --since for good. Exit
    code 1 when it could not send some back. It names them.
    """
    import asyncio

    from monitor.app.accesses import dead_letter_access
    from monitor.ingest.dead_letters.redrive import LEFT
    from monitor.runtime.visible import visible

    settings, moment = _prepared(config, set_, since)
    redriven, counts = asyncio.run(
        _redriven(dead_letter_access(settings, limit), dry_run, most, moment)
    )
    if json:
        answers = {str(answer): count for answer, count in sorted(counts.items())}
        dead_letters = [_redriven_row(one) for one in redriven]
        print_json({"dry_run": dry_run, "answers": answers, "letters": dead_letters})
    else:
        for one in redriven:
            typer.echo(visible(_redriven_line(one)))
        typer.echo(_summary(counts, dry_run), err=True)
    if any(counts[answer] for answer in LEFT):
        raise typer.Exit(1)


def _some(found: object) -> str:
    """On one line, and not endless: keys and headers are anybody's."""
    from monitor.runtime.visible import visible

    text = str(found)
    if len(text) <= _MOST_SHOWN:
        return visible(text)
    return f"{visible(text[:_MOST_SHOWN])}… ({len(text)} characters, --json shows them)"


def _prepared(
    config: Path | None, overrides: list[str] | None, since: str | None
) -> tuple[Settings, datetime | None]:
    import time

    from monitor.runtime import logs

    settings = settings_of(config, overrides, uses=())
    logs.configure_command(settings.log.format)
    return settings, moment_of(since, time.time()) if since else None


def _place(text: str) -> tuple[str | None, int, int]:
    """(topic or None for the dead letter topic, partition, offset)."""
    import re

    from monitor.errors import ConfigurationError

    found = re.fullmatch(r"(?:([^/]+)/)?([0-9]{1,9})/([0-9]{1,18})", text, re.ASCII)
    if found is None:
        raise ConfigurationError(
            f"found {text!r}, expected PARTITION/OFFSET or TOPIC/PARTITION/OFFSET"
        )
    topic, partition, offset = found.groups()
    return topic, int(partition), int(offset)


async def _listed(
    access: DeadLetterAccess, most: int, since: datetime | None, grouped: bool
) -> tuple[list[dict[str, Any]], str]:
    from monitor.ingest.dead_letters import commands
    from monitor.ingest.dead_letters.listing import DeadLetterGroups, DeadLetterList

    collect = DeadLetterGroups(most, since) if grouped else DeadLetterList(most, since)
    await commands.listed(access, collect)
    rows, topic = collect.rows(), access.topic
    strangers = f"; {collect.foreign} records are no dead letters, or of a newer version"
    foreign = strangers if collect.foreign else ""
    unit = "groups" if grouped else "dead letters"
    return rows, f"{len(rows)} of {collect.total} {unit} on {topic}{foreign}"


async def _redriven(
    access: DeadLetterAccess, dry_run: bool, most: int | None, since: datetime | None
) -> tuple[list[Redriven], Counter[RedriveResult]]:
    import asyncio

    from monitor.ingest.dead_letters import commands
    from monitor.runtime.shutdown import stop_on_signals

    stop = asyncio.Event()
    stop_on_signals(stop)
    return await commands.redriven(access, dry_run=dry_run, most=most, since=since, stop=stop)


def _dead_letter_line(row: dict[str, Any]) -> str:
    origin = row["original"]
    return (
        f"{row['first_failed_at']}  {row['partition']}/{row['offset']}  "
        f"{row['stage']}/{row['class']}  attempts {row['attempts']}  "
        f"{origin['topic']}/{origin['partition']}/{origin['offset']}  {row['message']}"
    )


def _group_line(row: dict[str, Any]) -> str:
    return (
        f"{row['count']:>8}  {row['stage']}/{row['class']}  {row['topic']}  "
        f"{row['first']} … {row['last']}"
    )


def _redriven_row(one: Redriven) -> dict[str, Any]:
    origin = one.dead_letter.history.origin if one.dead_letter else None
    return {
        "answer": one.answer.value,
        "partition": one.partition,
        "offset": one.offset,
        "original": str(origin),
        "why": one.why,
    }


def _redriven_line(one: Redriven) -> str:
    row = _redriven_row(one)
    return f"{row['answer']}  {row['partition']}/{row['offset']}  {row['original']}  {row['why']}"


def _summary(counts: Counter[RedriveResult], dry_run: bool) -> str:
    summary = ", ".join(f"{count} {answer.value}" for answer, count in sorted(counts.items()))
    return ("dry run, nothing was sent: " if dry_run else "") + (summary or "no dead letters left")
