"""``baseline show | freeze | reset | set``: what the scores are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, say, settings_of

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
    found = commands.rows(access)
    if json:
        _print_json(found)
        return
    for row in found:
        say(_line(row))
        for name, metric in row["metrics"].items():
            say(_metric_line(name, metric, row))
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

    Exit code 1 when there are none.
    """
    import asyncio

    from monitor.exporter.baselines import commands

    access, now = _access(config, set_, limit)
    wanted = _wanted(application, judge)

    def made() -> list[BaselineRecord]:
        return commands.freeze(access, wanted, now)

    records = asyncio.run(commands.decide(access, now, made, scores=True))
    _tell(access, records, json, "nothing is scored of it within the horizon")


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
    left = [name for name in access.drift.settings.metrics if name not in record.metrics]
    if left:
        names = ", ".join(left)
        what = "they are learned" if record.leaves_others else "set or freeze them, too"
        typer.echo(f"no baseline, and so no alarm: {names}; {what}", err=True)


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
        typer.echo(none, err=True)
        raise typer.Exit(1)
    if as_json:
        _print_json([record.model_dump(mode="json", by_alias=True) for record in records])
    for record in () if as_json else records:
        say(_described(record))
    for record in records:
        fixed = access.drift.fixed(record.application, record.judge)
        if fixed is not None:
            names = ", ".join(fixed.metrics)
            say(f"drift.baselines goes before it: {names} of {record.key}", err=True)


def _described(record: BaselineRecord) -> str:
    who = f"{record.application}  {record.judge}"
    if not record.metrics:
        return f"{who}  learned anew from scores after {record.effective_from.isoformat()}"
    means = ", ".join(
        f"{name} {metric.mean:.4f}{_by_itself(metric.origin, record.origin)}"
        for name, metric in record.metrics.items()
    )
    of = f" from {record.slots} slots" if record.slots else ""
    return f"{who}  {record.origin}{of}: {means}"


def _by_itself(origin: str | None, of_record: str) -> str:
    return "" if origin in (None, of_record) else f" ({origin})"


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


def _line(row: dict[str, Any]) -> str:
    """One application and judge; where enough was scored, that nobody has published it.

    >>> row = {"application": "bot", "judge": "a@1", "learning": True, "slots": 9, "needed": 10}
    >>> _line(row)
    'bot  a@1  learning: 9 of 10 scored slots'
    >>> _line({**row, "slots": 10})
    'bot  a@1  learning: 10 of 10 scored slots; no exporter has published it yet'
    """
    who = f"{row['application']}  {row['judge']}"
    if row["learning"]:
        found = f"{who}  learning: {row['slots']} of {row['needed']} scored slots"
        is_enough = row["slots"] is not None and row["slots"] >= row["needed"]
        return f"{found}; no exporter has published it yet" if is_enough else found
    if row["origin"] in (None, "reset"):
        return f"{who}  fixed by the configuration"
    of = f" from {row['slots']} slots" if row["slots"] else ""
    kind = "provisional" if row["provisional"] else row["origin"]
    until = ", until a day is full and no alarm on it is open" if row["provisional"] else ""
    return f"{who}  {kind}{of}, holds after {row['effective_from']}{until}"


def _metric_line(name: str, metric: dict[str, Any], row: dict[str, Any]) -> str:
    """A metric of it.

    >>> metric = {"mean": 0.9, "se": 0.01, "segments": {}, "origin": "learned", "hour_spread": 0.05}
    >>> _metric_line("answered", metric, {"origin": "learned", "provisional": True}).split("  ")[-1]
    'hours may vary by 0.0500'
    """
    from monitor.stats.baseline import is_unsteady

    segments = ", ".join(
        f"{key or '(absent)'} {mean:.4f}" for key, mean in metric["segments"].items()
    )
    parts = [f"    {name:30} {metric['mean']:.4f} (SE {metric['se']:.4f})"]
    if metric["origin"] != row["origin"]:
        parts.append(f"({metric['origin']})")
    if metric.get("values"):
        parts.append(f"from {metric['values']}")
    if is_unsteady(metric.get("halves_z")):
        parts.append(f"UNSTEADY: its halves differ by {abs(metric['halves_z']):.1f} SE")
    if metric.get("first_mean") is not None:
        then, since = metric["first_mean"], metric["mean"]
        parts.append(f"LEARNED IN A BAD TIME? {then:.4f} then, {since:.4f} in the week after")
    if (other := metric.get("learned_in_alarm_of")) is not None:
        parts.append(f"LEARNED IN A BAD TIME? An alarm of {other} was open")
    if metric.get("day_spread"):
        parts.append(f"days vary by {metric['day_spread']:.4f}")
    if metric.get("hour_spread"):
        how = "may vary" if row["provisional"] else "vary"
        parts.append(f"hours {how} by {metric['hour_spread']:.4f}")
    if metric.get("hours"):
        parts.append(f"hours add {min(metric['hours']):+.4f} to {max(metric['hours']):+.4f}")
    return "  ".join([*parts, segments]).rstrip()


def _print_json(value: Any) -> None:
    from monitor.runtime.visible import json_text

    typer.echo(json_text(value, indent=2))
