"""``run``, ``score``, ``export``, ``version``: the long-running roles."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Connecting, Overrides, print_json, settings_of

if TYPE_CHECKING:
    from monitor.app.process import Role
    from monitor.config import SecretPart


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run)
    app.command("score")(score)
    app.command("export")(export)
    app.command("version")(version)


def run(config: ConfigFile = None, set_: Overrides = None) -> None:
    """Run scorer and exporter in one process.

    Where audit.database is set, it serves the audits, too.
    """
    audits = [] if config is None else ["--config", str(config)]
    audits += [word for each in set_ or () for word in ("--set", each)]
    _serve(config, set_, ["score", "export"], audits)


def score(
    config: ConfigFile = None,
    set_: Overrides = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Count the judgements and costs of the records that are unread now. Call "
            "no model, write and commit nothing.",
        ),
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=525_600.0,  # a year
            help="With --dry-run: count the last so many minutes, read or not.",
        ),
    ] = None,
    json: AsJson = False,
    limit: Connecting = 60.0,
) -> None:
    """Run the scorer: consume, sample, judge.

    It writes score records to Kafka.
    """
    if dry_run:
        _dry_run(config, set_, json, limit, minutes)
        return
    if json or minutes is not None:
        raise typer.BadParameter(f"{'--json' if json else '--minutes'} goes with --dry-run")
    from monitor.config import ROLES

    _serve(config, set_, ["score"], uses=ROLES["scorer"])


def _dry_run(
    config: Path | None,
    overrides: list[str] | None,
    as_json: bool,
    limit_s: float,
    minutes: float | None,
) -> None:
    import asyncio
    import time

    from monitor.config import ROLES
    from monitor.plan.dry_run import dry_run
    from monitor.runtime import logs
    from monitor.runtime.health import Health

    settings = settings_of(config, overrides, uses=ROLES["scorer"])
    logs.configure_command(settings.log.format)
    found = asyncio.run(dry_run(settings, time.time(), Health(time.monotonic), limit_s, minutes))
    if as_json:
        print_json(found)
        return
    if not found["consumed"]:
        typer.echo(_nothing(settings.kafka.group_id, minutes))
        return
    usage = found["usage"]
    tokens = f"{usage['prompt_tokens']:,} + {usage['completion_tokens']:,} tokens"
    typer.echo(
        f"would judge {found['judged']:,} of {found['consumed']:,}: {usage['calls']:,} calls, "
        f"{tokens}, {usage['usd']:.4f} USD"
    )
    if found["unpriced"]:
        names = ", ".join(found["unpriced"])
        typer.echo(f"counted as 0 USD, since the price is not in litellm's list: {names}")
    for name, number in found["outcomes"].items():
        typer.echo(f"    {name:30} {number:,}")


def _nothing(group_id: str, minutes: float | None) -> str:
    """What an empty dry run means: not that judging costs nothing."""
    if minutes is not None:
        return f"nothing came in the last {minutes:g} minutes: give --minutes more"
    return (
        f"nothing is unread: the group {group_id} has read everything. "
        "--minutes 60 counts the last hour, and rag-monitor plan --from-topic prices live traffic"
    )


def export(
    config: ConfigFile = None,
    set_: Overrides = None,
    from_file: Annotated[
        Path | None,
        typer.Option(help="Read score records from a JSONL file instead of Kafka."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="With --from-file: the time to compute for, in RFC 3339 (default: now)."),
    ] = None,
    print_: Annotated[
        bool, typer.Option("--print", help="With --from-file: print the gauges and end.")
    ] = False,
    control: Annotated[
        Path | None,
        typer.Option(
            help="With --from-file: control records from a JSONL file. "
            "Without it, learns baselines from the scores and publishes none."
        ),
    ] = None,
) -> None:
    """Run the exporter: serve gauges, open alarms.

    It follows the score records, and the records of the control topic.
    """
    if from_file is None:
        if at is not None or print_ or control is not None:
            raise typer.BadParameter("--at, --control and --print go with --from-file")
        from monitor.config import ROLES

        _serve(config, set_, ["export"], uses=ROLES["exporter"])
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

    from monitor.app.scores import aggregators, promises
    from monitor.exporter.from_file import gauges

    settings = settings_of(config, overrides, uses=())
    found = aggregators(settings)
    moment = time.time() if at is None else _moment(at)
    decided = None if control is None else _lines("--control", control)
    text = gauges(
        found.scores,
        found.baselines,
        _scores(file),
        moment,
        decided,
        promises(settings),
        f"--from-file {file}",
    )
    typer.echo(text, nl=False)


def _moment(at: str) -> float:
    """Epoch seconds of RFC 3339; raises ``ConfigurationError``."""
    from monitor.errors import ConfigurationError
    from monitor.ingest.event_time import parse_timestamp

    try:
        found = parse_timestamp(at)
    except ValueError:  # its words are those for logs, which may have numbers
        found = None
    if found is None:  # also what is out of any calendar: it must not become now
        raise ConfigurationError(
            f"--at: found {at!r}, expected RFC 3339 with an offset, like 2026-11-20T12:00:00Z"
        )
    return found.timestamp()


def _scores(file: Path) -> Iterator[bytes]:
    """The lines of the file; raises ``ConfigurationError`` where there are none."""
    from monitor.errors import ConfigurationError

    lines = _lines("--from-file", file)
    first = next(lines, None)
    if first is None:
        raise ConfigurationError(f"--from-file {file}: the file is empty, expected score records")
    yield first
    yield from lines


def _lines(option: str, file: Path) -> Iterator[bytes]:
    """The lines of a file that an option names; raises ``ConfigurationError``."""
    from monitor.errors import ConfigurationError

    try:
        with file.open("rb") as lines:
            yield from lines
    except OSError as error:
        raise ConfigurationError(f"{option} {file}: {error.strerror}") from error


def version(json: AsJson = False) -> None:
    """Print the version.

    With --json also the schemas of records, the commit, the Python, and which extras are there.
    """
    from monitor import __version__

    if not json:
        typer.echo(__version__)
        return
    import platform

    from monitor.ingest.dead_letter_headers import DEAD_LETTER_SCHEMA
    from monitor.records.alarm import ALARM_SCHEMA
    from monitor.records.control import CONTROL_SCHEMA, KINDS
    from monitor.records.score import SCORE_SCHEMA
    from monitor.report.frame import REPORT_SCHEMA
    from monitor.runtime.installation import commit, extras

    schemas = {"score": SCORE_SCHEMA, "alarm": ALARM_SCHEMA, "dead_letter": DEAD_LETTER_SCHEMA}
    found = {
        "version": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "schemas": {**schemas, **dict.fromkeys(KINDS, CONTROL_SCHEMA), "report": REPORT_SCHEMA},
        "extras": extras(),
    }
    print_json(found)


def _serve(
    config: Path | None,
    overrides: list[str] | None,
    roles: list[Role],
    audits: list[str] | None = None,
    uses: Collection[SecretPart] | None = None,
) -> None:
    settings = settings_of(config, overrides, uses)
    import asyncio

    from monitor.app import process
    from monitor.runtime import logs

    logs.configure(settings.log.level, settings.log.format)
    has_audits = settings.audit.database is not None
    asyncio.run(process.serve(settings, roles, audits if has_audits else None))
