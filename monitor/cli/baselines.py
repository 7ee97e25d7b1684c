"""``baseline show | freeze | reset | set``: what the scores are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.baseline_lines import (
    described,
    doubts_of_frozen,
    lacks,
    metric_line,
    not_frozen,
    pair_line,
    without_line,
)
from monitor.cli.common import AsJson, ConfigFile, Overrides, print_json, say, settings_of

if TYPE_CHECKING:
    from monitor.exporter.baselines.commands import BaselineAccess
    from monitor.exporter.scores.folding import JudgedApplication
    from monitor.records.control import BaselineRecord

app = typer.Typer(help="Show, set, freeze or reset baselines.", no_args_is_help=True)

BaselineTimeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds for reading, and for writing.")
]
BaselineApplication = Annotated[
    str | None,
    typer.Option("--application", help="Only this application."),
]
JudgeName = Annotated[
    str | None,
    typer.Option("--judge", help="Only this judge, as name@version."),
]


@app.command()
def show(
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    limit: BaselineTimeout = 60.0,
) -> None:
    """Show baselines, and the progress of learning."""
    import asyncio

    from monitor.exporter.baselines import commands

    access, now = _access(config, set_, limit)
    asyncio.run(commands.read(access, now, scores=True))
    found = commands.rows(access, now)
    if json:
        print_json(found)
        return
    for row in found:
        say(pair_line(row))
        for name, metric in row["metrics"].items():
            say(metric_line(name, metric, row))
        for name, metric in row["without"].items():
            say(without_line(name, metric, week=row["week"]))
    if not found:
        typer.echo("nothing is known yet: no scores, no baselines", err=True)


@app.command()
def freeze(
    config: ConfigFile = None,
    set_: Overrides = None,
    application: BaselineApplication = None,
    judge: JudgeName = None,
    json: AsJson = False,
    limit: BaselineTimeout = 60.0,
) -> None:
    """Make the present quality the baseline.

    It is the mean of the latest scored interactions.

    A metric with too few values keeps what it has.

    Exit code 1 when none has enough.
    """
    import asyncio

    from monitor.exporter.baselines import commands

    access, now = _access(config, set_, limit)
    wanted, too_few = _wanted(application, judge), dict[tuple[str, str], int]()
    new: list[BaselineRecord] = []

    def made() -> list[BaselineRecord]:
        found = commands.freeze(access, wanted, now)
        too_few.update(found.too_few)
        new[:] = found.new
        return found.records

    records = asyncio.run(commands.decide(access, now, made, scores=True))
    for pair, slots in too_few.items():
        say(not_frozen(pair, slots, access.baselines.learning_settings.least), err=True)
    _tell(access, records, json, "" if too_few else "nothing is scored of it within the horizon")
    for one in new:
        for line in doubts_of_frozen(one):
            say(line, err=True)
    for record in records:
        _tell_what_lacks(access, record)


@app.command()
def reset(
    config: ConfigFile = None,
    set_: Overrides = None,
    application: BaselineApplication = None,
    judge: JudgeName = None,
    json: AsJson = False,
    limit: BaselineTimeout = 60.0,
) -> None:
    """Forget baselines, and learn them anew.

    From interactions that are scored from now on.

    Exit code 1 when there are none. With --application and --judge learning begins anew also
    where there is none yet.
    """
    import asyncio

    from monitor.exporter.baselines import commands

    access, now = _access(config, set_, limit)
    wanted, both = _wanted(application, judge), application is not None and judge is not None
    named = (application or "", _label(judge or "")) if both else None

    def made() -> list[BaselineRecord]:
        return commands.reset(access, wanted, named, now)

    records = asyncio.run(commands.decide(access, now, made, scores=False))
    _tell(access, records, json, "there is no such baseline")


@app.command("set")
def set_baseline(
    application: Annotated[str, typer.Argument(help="Name of the application.")],
    judge: Annotated[str, typer.Argument(help="The judge, as name@version.")],
    means: Annotated[
        list[str], typer.Argument(help="metric=mean, each between 0 and 1.", metavar="METRIC=MEAN…")
    ],
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    limit: BaselineTimeout = 60.0,
) -> None:
    """Set the normal mean of metrics, from now on.

    Each in its own direction.
    """
    import asyncio

    from monitor.exporter.baselines import commands

    given = dict(map(_mean, means))
    pair = (application, _label(judge))
    access, now = _access(config, set_, limit)

    def made() -> list[BaselineRecord]:
        return [commands.changed(access, pair, given, now)]

    (record,) = asyncio.run(commands.decide(access, now, made, scores=False))
    _tell(access, [record], json, "")
    _tell_what_lacks(access, record)


def _access(
    config: Path | None, overrides: list[str] | None, limit_s: float
) -> tuple[BaselineAccess, float]:
    """The access, and the time in epoch seconds."""
    import time

    from monitor.app.baseline_access import baseline_access
    from monitor.runtime import logs

    settings = settings_of(config, overrides, uses=())
    logs.configure_command(settings.log.format)
    return baseline_access(settings, limit_s), time.time()


def _tell(
    access: BaselineAccess, records: Sequence[BaselineRecord], as_json: bool, none: str
) -> None:
    """Say what was published; exit code 1 when that is nothing."""
    if not records:
        if none:
            typer.echo(none, err=True)
        raise typer.Exit(1)
    if as_json:
        print_json([record.model_dump(mode="json", by_alias=True) for record in records])
    for record in () if as_json else records:
        say(described(record))
    for record in records:
        fixed = access.drift.fixed(record.application, record.judge)
        if fixed is not None:
            names = ", ".join(fixed.metrics)
            say(f"drift.baselines goes before it: {names} of {record.key}", err=True)


def _tell_what_lacks(access: BaselineAccess, record: BaselineRecord) -> None:
    """Say which watched metrics still have no baseline."""
    fixed = access.drift.fixed(record.application, record.judge)
    held = fixed.metrics if fixed is not None else ()
    watched = [name for name in access.drift.settings.metrics if name not in held]
    left = lacks(record, watched)
    if left is not None:
        typer.echo(left, err=True)


def _wanted(application: str | None, judge: str | None) -> Callable[[JudgedApplication], bool]:
    return lambda pair: application in (None, pair[0]) and judge in (None, pair[1])


def _label(judge: str) -> str:
    from monitor.errors import ConfigurationError

    name, _, version = judge.rpartition("@")
    if not name or not version:
        raise ConfigurationError(
            f"judge: found {judge!r}, expected name@version, as baseline show prints it"
        )
    return judge


def _mean(item: str) -> tuple[str, float]:
    from monitor.errors import ConfigurationError
    from monitor.metrics.catalogue import CATALOGUE

    name, _, text = item.partition("=")
    directed = [metric for metric, found in CATALOGUE.items() if found.higher_is_better is not None]
    if name not in directed:
        raise ConfigurationError(f"found {item!r}, expected METRIC=MEAN of {', '.join(directed)}")
    try:
        mean = float(text)
    except ValueError:
        mean = -1.0
    if not 0.0 <= mean <= 1.0:
        raise ConfigurationError(f"{name}: found {text!r}, expected a number from 0 to 1")
    return name, mean
