"""``report``: for an auditor, how the numbers of a span came about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from monitor.cli.common import (
    ConfigFile,
    Overrides,
    check_out,
    moment_of,
    say,
    settings_of,
    write_out,
)

if TYPE_CHECKING:
    from monitor.report.reading import ReportPlaces


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    since: Annotated[
        str, typer.Option("--since", help="From then on: RFC 3339, or an age like 30d.")
    ] = "30d",
    until: Annotated[
        str | None,
        typer.Option("--until", help="To before then, said the same way (default: now)."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File to write.")] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="html or json (default: by the file's ending)."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", help="Hold a report (JSON) against the topic as it is now."),
    ] = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    limit: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds for reading each cluster.")
    ] = 600.0,
) -> None:
    """Report how a span was sampled and judged.

    With outcomes, rates, judges, agreement with people, alarms, and a seal: a chain
    of SHA-256 over the score records. --check says whether they have changed.

    Exit code 1 when --check finds a difference.
    """
    from monitor.app.inspection import lookup_access
    from monitor.report.reading import ReportPlaces
    from monitor.runtime import logs

    settings = settings_of(config, set_, uses=())
    logs.configure_command(settings.log.format)
    places = ReportPlaces(lookup_access(settings, limit), settings.kafka.topics.alarms)
    if check is not None:
        _check(places, check)
    if out is not None and str(out) != "-":
        check_out(out)
    _report(places, since, until, out, _written(out, format_))


def _report(
    places: ReportPlaces, since: str, until: str | None, out: Path | None, written: str
) -> None:
    import asyncio
    import time
    from datetime import UTC, datetime

    from monitor.report import reading
    from monitor.report.deleted import in_sentences

    now = time.time()
    ends = datetime.fromtimestamp(now, UTC)
    begin, end = moment_of(since, now), ends if until is None else moment_of(until, now, "--until")
    if begin >= end:
        _refuse(f"--since {since} is not before {'now' if until is None else f'--until {until}'}")
    if end > ends:
        _refuse(f"--until {until} lies in the future: a report is of what has been")
    found = asyncio.run(reading.made(places, begin, end, ends))
    if written == "json":
        body = found.model_dump_json(by_alias=True, indent=1) + "\n"
    else:
        from monitor.report.page import as_page

        body = as_page(found)
    if out is None or str(out) == "-":
        typer.echo(body, nl=False)
    else:
        write_out(out, body.encode())
    records = sum(one.records for one in found.seals)
    say(f"{records} score records from {begin.isoformat()} to {end.isoformat()}", err=True)
    for sentence in in_sentences(found.deleted or ()):
        say(sentence, err=True)


def _check(places: ReportPlaces, file: Path) -> NoReturn:
    import asyncio

    from pydantic import ValidationError

    from monitor.report import reading
    from monitor.report.frame import AuditReport

    try:
        reported = AuditReport.model_validate_json(file.read_bytes())
    except OSError as error:
        _refuse(f"{file} cannot be read: {type(error).__name__}")
    except ValidationError:
        _refuse(f"{file} is no report as JSON: make one with --format json")
    lines = asyncio.run(reading.differences(places, reported))
    for line in lines:
        say(line)
    if not lines:
        records = sum(one.records for one in reported.seals)
        say(f"unchanged: {records} records of {reported.topic}")
    raise typer.Exit(1 if lines else 0)


def _written(out: Path | None, format_: str | None) -> str:
    found = format_ or ("json" if out is None or out.suffix == ".json" else "html")
    if found not in ("html", "json"):
        _refuse(f"--format: found {found!r}, expected html or json")
    return found


def _refuse(why: str) -> NoReturn:
    from monitor.errors import ConfigurationError

    raise ConfigurationError(f"report: {why}")
