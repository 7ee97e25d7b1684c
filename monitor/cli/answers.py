"""``worst``, ``show``, ``why``: single answers, from the topics; no database is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsJson,
    ConfigFile,
    Overrides,
    moment_of,
    print_report,
    settings_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from monitor.app.inspection import LookupAccess
    from monitor.config import SecretPart
    from monitor.lookup.worst import WorstAnswers, WorstQuery

Limit = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for reading each topic.")]
InteractionId = Annotated[str, typer.Argument(metavar="ID", help="The interaction's id.")]
OfApplication = Annotated[str | None, typer.Option("--application", help="Only this application.")]
SinceTime = Annotated[
    str | None, typer.Option("--since", help="Since then: RFC 3339, or an age like 2h.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("worst")(worst)
    app.command("show")(show)
    app.command("why")(why)


def worst(
    metric: Annotated[str, typer.Option("--metric", help="By this metric.")] = "faithfulness",
    since: Annotated[
        str, typer.Option("--since", help="Since then: RFC 3339, or an age like 2h.")
    ] = "1d",
    most: Annotated[int, typer.Option("-n", "--max", min=1, help="At most so many.")] = 20,
    application: OfApplication = None,
    segment: Annotated[
        str | None,
        typer.Option("--segment", help="Only this segment, or attribute=value."),
    ] = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    limit: Limit = 60.0,
) -> None:
    """Show the worst answers, and what is wrong with them.

    Question, response, reference, and the claims that count against it. Texts are as redacted as
    on the score records. Exit code 1 when no record has a value.
    """
    import asyncio
    import time

    from monitor.lookup import worst as answers
    from monitor.runtime.visible import json_text, visible

    moment = moment_of(since, time.time())
    query = answers.WorstQuery(_directed(metric), moment, most, application, segment)
    found = asyncio.run(_collected(_access(config, set_, limit), query))
    records = found.records()
    if json:
        print_report(json_text([answers.as_json(one, metric) for one in records], indent=2))
    else:
        shown = (
            visible(line)
            for number, one in enumerate(records, 1)
            for line in answers.lines(number, one, metric)
        )
        _print(shown)
    typer.echo(visible(answers.summary(found, records)), err=True)
    if not found.valued:
        raise typer.Exit(1)


async def _collected(access: LookupAccess, query: WorstQuery) -> WorstAnswers:
    from monitor.lookup.reading import scores
    from monitor.lookup.worst import WorstAnswers

    found, topic = WorstAnswers(query), access.scores
    prefix = None if query.application is None else f"{query.application}/".encode()
    async with access.scanning(access.output) as scan:
        async for each in scores(
            scan,
            topic,
            lambda record: prefix is None or record.key is None or record.key.startswith(prefix),
            query.since.timestamp(),
        ):
            found.add(each.record)
    return found


def show(
    interaction_id: InteractionId,
    application: OfApplication = None,
    since: SinceTime = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    limit: Limit = 60.0,
) -> None:
    """Show one judged interaction in full.

    Texts, claims × passages with verdicts, and scores, of the latest judgement. Exit code 1 when
    there is none.
    """
    import asyncio
    import time

    from monitor.lookup import shown
    from monitor.lookup.search import scores_of
    from monitor.runtime.visible import json_text, visible

    access, begin = _access(config, set_, limit), 0.0
    if since is not None:
        begin = moment_of(since, time.time()).timestamp()
    found = asyncio.run(scores_of(access, interaction_id, application, begin))
    if not found:
        topic, name = access.scores, visible(interaction_id)
        typer.echo(
            f"no score record of {name} on {topic}; rag-monitor why {name} says why", err=True
        )
        raise typer.Exit(1)
    if json:
        print_report(json_text(shown.as_json(found), indent=2))
    else:
        _print(map(visible, shown.lines(found)))


def why(
    interaction_id: InteractionId,
    application: OfApplication = None,
    since: SinceTime = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    limit: Limit = 60.0,
) -> None:
    """Say why an interaction was judged, or was not.

    Shows no texts. Exit code 1 when no topic has a record of it.
    """
    import asyncio
    import time

    from monitor.lookup import why as reasons
    from monitor.lookup.search import findings
    from monitor.runtime.visible import json_text, visible

    now, begin = time.time(), 0.0
    if since is not None:
        begin = moment_of(since, now).timestamp()
    access = _access(config, set_, limit, uses={"log"})
    found = asyncio.run(findings(access, interaction_id, application, begin, now))
    said = reasons.answer(found)
    if json:
        print_report(json_text(reasons.as_json(found, said), indent=2))
    else:
        _print(map(visible, reasons.lines(found, said)))
    if said.outcome == reasons.NEVER_SEEN:
        raise typer.Exit(1)


def _access(
    config: Path | None,
    overrides: list[str] | None,
    limit_s: float,
    uses: Collection[SecretPart] = (),
) -> LookupAccess:
    from monitor.app.inspection import lookup_access
    from monitor.runtime import logs

    settings = settings_of(config, overrides, uses=uses)
    logs.configure_command(settings.log.format)
    return lookup_access(settings, limit_s)


def _directed(metric: str) -> str:
    """A metric of which one value is worse than another."""
    import difflib

    from monitor.errors import ConfigurationError
    from monitor.metrics.catalogue import CATALOGUE

    directed = [name for name, each in CATALOGUE.items() if each.higher_is_better is not None]
    if metric not in directed:
        near = difflib.get_close_matches(metric, directed, n=1)
        meant = f"did you mean {near[0]}?" if near else f"expected {', '.join(directed)}"
        raise ConfigurationError(f"--metric: found {metric!r}, {meant}")
    return metric


def _print(lines: Iterable[str]) -> None:
    text = "\n".join(lines)
    if text:
        print_report(text)
