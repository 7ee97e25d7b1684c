"""``audit serve | select | export | import | forget``: people check the judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from monitor.cli.common import (
    AsJson,
    ConfigFile,
    Overrides,
    check_out,
    moment_of,
    say,
    settings_of,
    write_out,
)

if TYPE_CHECKING:
    from monitor.audit.store.database import Database
    from monitor.audit.store.drawing import DrawnBatch, DrawRequest
    from monitor.config import Settings
    from monitor.lookup.forgetting import FoundTexts
    from monitor.records.forgetting import ForgettingRequest

#: Of applications that are kept: so many are named, and so much of a name.
_MOST_NAMES, _LONGEST_NAME = 20, 100

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

    from monitor.config import ROLES

    settings = settings_of(config, set_, uses=ROLES["audit"])
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
            help="uniform, stratified (half of them bad, by segment), boundary (half of them where "
            "the judge was in doubt) or worst (the worst ones, which correct nothing).",
        ),
    ] = "stratified",
    metric: Annotated[
        str, typer.Option("--metric", help="What is bad, by this metric.")
    ] = "faithfulness",
    judge: Annotated[
        str | None, typer.Option("--judge", help="Of this judge (default: the latest).")
    ] = None,
    weekly: Annotated[
        bool,
        typer.Option("--weekly", help="Also as many of each week from now on, on Mondays (UTC)."),
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="End what --weekly has begun. Draw nothing.")
    ] = False,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
) -> None:
    """Draw interactions to be audited.

    Each has a known probability, which is kept.

    Exit code 1 when there is nothing to draw from, or to stop.
    """
    import asyncio
    from time import time

    database, now = _database(config, set_), time()
    from monitor.audit import commands

    if stop:
        _stop_weekly(database, application)
    request = _request(application, metric, (since, now), number, strategy, judge)
    found = asyncio.run(commands.select(database, request, round(now * 1000), weekly=weekly))
    if weekly:
        say(f"as many of {application} are drawn each Monday, while audit serve runs", err=True)
    if found is None:
        _end_with_nothing(request, since, _database(config, set_))
    _say_batch(found, as_json=json)


def _stop_weekly(database: Database, application: str) -> NoReturn:
    import asyncio

    from monitor.audit import commands

    was_there = asyncio.run(commands.end_weekly(database, application))
    ended = f"{application} is drawn each week no more"
    say(ended if was_there else f"{application} was not drawn each week", err=True)
    raise typer.Exit(0 if was_there else 1)


def _request(
    application: str,
    metric: str,
    since: tuple[str, float],
    number: int,
    strategy: str,
    judge: str | None,
) -> DrawRequest:
    from monitor.audit.store.drawing import STRATEGIES, DrawRequest, new_seed
    from monitor.errors import ConfigurationError
    from monitor.metrics.catalogue import CATALOGUE

    chosen = next((each for each in STRATEGIES if each == strategy), None)
    if chosen is None:
        raise ConfigurationError(
            f"--strategy: found {strategy!r}, expected {', '.join(STRATEGIES)}"
        )
    if metric not in CATALOGUE:
        raise ConfigurationError(f"--metric: there is no {metric!r}; see docs/metrics.md")
    span_ms = (round(moment_of(*since).timestamp() * 1000), round(since[1] * 1000))
    return DrawRequest(application, metric, *span_ms, number, chosen, judge, new_seed())


def _end_with_nothing(request: DrawRequest, since: str, database: Database) -> NoReturn:
    """Nothing is left to draw from: a name may be mistyped."""
    import asyncio

    from monitor.audit import commands

    kept = asyncio.run(commands.applications(database))
    by = "" if request.judge is None else f" by {request.judge}"
    others = ", ".join(name[:_LONGEST_NAME] for name in kept[:_MOST_NAMES])
    hint = f"kept are those of: {others}" if kept else "is rag-monitor audit serve running?"
    say(
        f"nothing to draw from: no interaction of {request.application[:_LONGEST_NAME]}{by} since "
        f"{since} with a value of {request.metric} is kept that was not drawn before; {hint}",
        err=True,
    )
    raise typer.Exit(1)


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
    out: Annotated[Path, typer.Option("--out", help="File to write (-: stdout).")],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="jsonl (all of it, as audit import reads it), csv or parquet (a row for each "
            "label, without texts).",
        ),
    ] = "jsonl",
    as_: Annotated[
        str | None,
        typer.Option(
            "--as", help="evaluate: what people found wrong, as JSONL that evaluate reads."
        ),
    ] = None,
    since: SinceLabel = "30d",
    config: ConfigFile = None,
    set_: Overrides = None,
) -> None:
    """Write all audits with their labels.

    With --as evaluate, a test set: the interactions in which people found something wrong.
    """
    import asyncio
    import time

    from monitor.errors import ConfigurationError

    if as_ not in (None, "evaluate"):
        raise ConfigurationError(f"--as: found {as_!r}, expected evaluate")
    database = _database(config, set_)
    from monitor.audit import commands, exported

    if format_ not in exported.FORMATS or (as_ is not None and format_ != "jsonl"):
        expected = "jsonl beside --as" if as_ is not None else ", ".join(exported.FORMATS)
        raise ConfigurationError(f"--format: found {format_!r}, expected {expected}")
    if str(out) != "-":
        check_out(out)
    since_ms = round(moment_of(since, time.time()).timestamp() * 1000)
    found = asyncio.run(commands.readings(database, since_ms))
    written = exported.FORMATS[format_] if as_ is None else exported.as_failures
    body = written(found)
    if str(out) == "-":
        sys.stdout.buffer.write(body)
        return
    write_out(out, body)
    number = len(found) if as_ is None else body.count(b"\n")
    say(f"{number} {'audits' if as_ is None else 'failures'} in {out}", err=True)


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
    import time

    from monitor.errors import ConfigurationError

    database = _database(config, set_)
    from monitor.audit import commands, exchange

    try:
        lines = exchange.lines_of(file.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {type(error).__name__}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{file} is not UTF-8 (at byte {error.start}): write it as audit export does, as JSON "
            "lines"
        ) from error
    found = asyncio.run(commands.import_labels(database, str(file), lines, time.time()))
    say(f"{found.new} labels are new, {found.known} were there", err=True)
    if found.without_note:
        say(
            f"{found.without_note} notes were left out: the texts of their interactions were "
            "forgotten",
            err=True,
        )
    if found.undrawn:
        say(
            f"{found.undrawn} of them correct nothing: their interactions were not drawn in this "
            "database. Draw here first (audit select), else their weights are unknown",
            err=True,
        )


@app.command()
def forget(
    interaction: Annotated[
        str | None, typer.Option("--interaction", help="Id of one interaction.")
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option("--attribute", help="NAME=VALUE: all interactions that have it."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option("--person", help="The same, of the attribute audit.person_attribute."),
    ] = None,
    application: Annotated[
        str | None, typer.Option("--application", help="Only of this application.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    config: ConfigFile = None,
    set_: Overrides = None,
    limit: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds for reading, and for writing.")
    ] = 60.0,
) -> None:
    """Take texts away for good. Numbers stay.

    From the database, its pages and exports, and from alarms. They do not come back on a replay.
    Says where they may still be, and until when.

    Exit code 1 without a yes.
    """
    from monitor.records.forgetting import ForgettingRequest

    settings = settings_of(config, set_, uses={"audit"})
    name, value = _subject(interaction, attribute, person, settings.audit.person_attribute)
    _forget(settings, ForgettingRequest(value, name, application or ""), limit, yes=yes)


def _forget(settings: Settings, request: ForgettingRequest, limit: float, *, yes: bool) -> None:
    import asyncio
    from datetime import UTC, datetime

    from monitor.app.inspection import lookup_access
    from monitor.lookup import forgetting
    from monitor.runtime import logs

    logs.configure_command(settings.log.format)
    has_database = settings.audit.database is not None

    def places() -> forgetting.ForgettingPlaces:  # connections belong to one event loop
        database = _database_of(settings) if has_database else None
        access = lookup_access(settings, limit)
        return forgetting.ForgettingPlaces(access, settings.kafka.topics.alarms, database)

    now = datetime.now(UTC)
    found = asyncio.run(forgetting.look(places(), request))
    for line in _found_lines(found, has_database=has_database):
        say(line, err=True)
    _confirm(yes=yes)
    done = asyncio.run(forgetting.forget(places(), request, found, now))
    say(f"forgotten: {_interactions(len(found.kept))} in the database, {done.alarms} alarms")
    if not done.is_overwritten:
        say(
            "Somebody reads the database just now: its log (-wal) holds the old bytes until they "
            "have ended. A running audit serve overwrites them then; else say it again.",
            err=True,
        )
    say("They may still be elsewhere, where this command does not reach:", err=True)
    for line in (
        *asyncio.run(forgetting.left_elsewhere(places(), now)),
        *_elsewhere(settings),
    ):
        say(f"  {line}", err=True)


def _subject(
    interaction: str | None, attribute: str | None, person: str | None, name: str | None
) -> tuple[str, str]:
    """Attribute ("" for an id) and value of what is to be forgotten."""
    from monitor.errors import ConfigurationError

    given = [each for each in (interaction, attribute, person) if each is not None]
    if len(given) != 1 or not given[0].strip():
        raise ConfigurationError(
            "audit forget: name one of --interaction ID, --attribute NAME=VALUE and --person VALUE"
        )
    if interaction is not None:
        return "", interaction
    if person is not None:
        if name is None:
            raise ConfigurationError(
                "--person: set audit.person_attribute to the attribute that names a person, or use "
                "--attribute NAME=VALUE"
            )
        return name, person
    key, equals, value = (attribute or "").partition("=")
    if not (key and equals and value):
        raise ConfigurationError(f"--attribute: found {attribute!r}, expected NAME=VALUE")
    return key, value


def _found_lines(found: FoundTexts, *, has_database: bool) -> list[str]:
    kept = (
        f"{_interactions(len(found.kept))} in the database"
        if has_database
        else "no database to look in (audit.database is not set)"
    )
    return [
        kept,
        f"{_interactions(len(found.on_topic))} on the topic of score records",
        f"{len(found.alarms)} alarms that quote them",
        *_unknown_lines(found),
        *(
            ["nothing is found; what comes later is forgotten, too, if you go on"]
            if found.is_empty
            else []
        ),
    ]


#: So many ids stand in a line.
_NAMED: Final = 5


def _unknown_lines(found: FoundTexts) -> list[str]:
    """What alarms quote, and nobody can say of whom."""
    if not found.unknown:
        return []
    named = [name for _, name in found.unknown]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return [
        f"{_interactions(len(named))} that alarms quote and nothing else keeps: whose they are is "
        f"not known; --interaction ID forgets one ({', '.join(named[:_NAMED])}{more})"
    ]


def _interactions(number: int) -> str:
    return f"{number} interaction{'' if number == 1 else 's'}"


def _confirm(*, yes: bool) -> None:
    from monitor.errors import ConfigurationError

    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError("audit forget: nothing was forgotten; say --yes to do it")
    if not typer.confirm("Forget their texts?", err=True):
        raise typer.Exit(1)


def _elsewhere(settings: Settings) -> list[str]:
    """Where texts are that no topic holds."""
    judges = [whole.judge for whole in (settings.base, *settings.effective)]
    caches = [judge.cache for judge in judges]
    redis = next((cache for cache in caches if cache.kind == "redis"), None)
    lines = []
    if redis is not None:
        lines.append(f"Redis of judge.cache: claims, until {redis.ttl} after they were kept")
    if any(cache.kind == "memory" for cache in caches):
        lines.append("memory of the scorers (judge.cache): claims, until they end")
    if any(judge.asks_a_model for judge in judges):
        lines.append("logs of the judge's provider: as long as your contract with it says")
    return [
        *lines,
        "files of audit export and of evaluate, and copies of the database: wherever they are",
        "segments: a value of an attribute in export.segment appears on gauges and in alarms, as a "
        "name",
    ]


def _database(config: Path | None, overrides: list[str] | None) -> Database:
    return _database_of(settings_of(config, overrides, uses={"audit"}))


def _database_of(settings: Settings) -> Database:
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
