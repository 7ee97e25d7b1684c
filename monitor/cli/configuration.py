"""``config check``, ``config reference`` and ``config schema``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, print_json, settings_of, write_out

if TYPE_CHECKING:
    from monitor.config import Application, Effective, Settings
    from monitor.records import Interaction

app = typer.Typer(help="Check and document the settings.", no_args_is_help=True)

ShownApplication = Annotated[
    str | None,
    typer.Option("--application", help="Only the settings of an application with this name."),
]
Attributes = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute", help="With --application: an attribute, like tenant=acme (repeatable)."
    ),
]
INHERITED, WITHHELD = "  # inherited", "  # not inherited: it belongs to another endpoint"


@app.command()
def check(
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    application: ShownApplication = None,
    attribute: Attributes = None,
) -> None:
    """Print the effective settings, secrets masked.

    A wrong one is an error with its path.
    """
    if attribute and application is None:
        raise typer.BadParameter("--attribute goes with --application")
    settings = settings_of(config, set_)
    _check_redaction(settings)
    _check_judges(settings)
    if application is not None:
        _print(_held_for(settings, _interaction(application, attribute or [])), json)
    elif json:
        _print({**_whole(settings), "series": _series(settings)}, True)
    else:
        typer.echo(_yaml(settings) + _series_line(_series(settings)))


@app.command()
def reference(
    json: AsJson = False,
    start_here: Annotated[
        bool, typer.Option("--start-here", help="Only the settings to start with.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="All of them as a page: docs/configuration.md.")
    ] = False,
) -> None:
    """Print every setting.

    With its environment variable, default and meaning.
    """
    if markdown:
        from monitor.config.reference import reference_page

        typer.echo(reference_page(), nl=False)
        return
    rows = [row for row in _rows() if row["start_here"] or not start_here]
    if json:
        _print(rows, True)
        return
    for title, is_first in (("Start here", True), ("The rest", False)):
        tier = [row for row in rows if row["start_here"] == is_first]
        if tier:
            typer.echo(f"# {title}: {len(tier)} settings")
        for row in tier:
            typer.echo(f"{row['path']} = {row['default']}")
            typer.echo(f"    {row['meaning']}\n    {row['environment']}")


@app.command()
def schema(
    out: Annotated[str, typer.Option(help="File to write (-: print it).")] = "-",
) -> None:
    """Print the JSON Schema of the settings, for editors.

    Editors find it by a comment: # yaml-language-server: $schema=FILE.
    """
    import json

    from monitor.config.schema import config_schema

    text = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    if out == "-":
        typer.echo(text, nl=False)
        return
    write_out(Path(out), text.encode())


def _rows() -> list[dict[str, Any]]:
    """Every setting, in the order of declaration."""
    from monitor.config import START_HERE, Settings, paths

    defaults, known = Settings(), dict(paths())
    return [
        {
            "path": path,
            "environment": _environment(path),
            "default": _plain(_lookup(defaults, path)) if path in known else None,
            "meaning": field.description,
            "start_here": path in START_HERE,
        }
        for path, field in _every_path()
    ]


def _every_path(found: Any = None) -> Iterator[tuple[str, Any]]:
    """All settings; those of the entries of a list stand behind it, with N for the number."""
    from monitor.config import listed, paths

    for path, field in found or paths():
        yield path, field
        inner = listed(field)
        if inner is not None:
            yield from _every_path(list(paths(inner, f"{path}.N.")))


def _whole(settings: Settings) -> dict[str, Any]:
    """All settings; the entries of ``applications`` with what they inherit."""
    from monitor.config import withheld

    entries = [
        {
            **_resolved(entry, whole),
            "overrides": list(entry.overrides),
            "withheld": list(withheld(entry, settings.base)),
        }
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
    ]
    return {**_dumped(settings), "applications": entries}


def _check_redaction(settings: Settings) -> None:
    """Its regions and patterns are read by libraries; wrong ones are said as at a start."""
    from monitor.app.redaction import redactor_of

    redactor_of(settings)


def _check_judges(settings: Settings) -> None:
    """Addresses and prices are read by libraries, too; a model without a price has no budget."""
    import asyncio

    from monitor.app.judges import build_judges, require_addresses, require_prices
    from monitor.app.policies import has_budget
    from monitor.telemetry import ScorerTelemetry, new_registry

    require_addresses(settings)
    configured_judges = build_judges(settings, ScorerTelemetry(new_registry()))
    if not has_budget(settings):
        return

    async def prepared() -> None:
        for configured in configured_judges:
            await configured.judge.prepare()

    asyncio.run(prepared())
    require_prices(configured_judges)


def _series(settings: Settings) -> dict[str, int]:
    """How many series there can be at most, by kind."""
    from monitor.app.scores import most_series

    found, applications, judges = most_series(settings)
    counts = {**found._asdict(), "total": found.total}
    return {**counts, "applications": applications, "judges": judges}


def _series_line(found: dict[str, int]) -> str:
    """A comment, so that what is printed can be read again."""
    judges = "judge" if found["judges"] == 1 else "judges"
    return (
        f"# at most {found['total']:,} series (rolling {found['rolling']:,}, by segment "
        f"{found['segments']:,}, drift {found['drift']:,}, objectives {found['objectives']:,}), "
        f"for {found['applications']} "
        f"applications, `other` included, and {found['judges']} {judges}"
    )


def _dumped(settings: Settings) -> dict[str, Any]:
    tree = settings.model_dump(mode="json")
    if not settings.kafka_output.bootstrap_servers:
        # Without a second cluster its other keys would be refused, read again from here.
        tree["kafka_output"] = {"bootstrap_servers": ""}
    return tree


def _resolved(entry: Application, whole: Effective) -> dict[str, Any]:
    given = entry.model_dump(mode="json", include={"application", "when"})
    return {**given, **whole.model_dump(mode="json")}


def _yaml(settings: Settings) -> str:
    """A configuration again, where a comment marks what an entry inherits."""
    import yaml

    from monitor.config import withheld

    tree = _dumped(settings)
    if settings.applications:
        del tree["applications"]
    text: str = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    lines = ["applications:"] if settings.applications else []
    for entry, whole in zip(settings.applications, settings.effective, strict=True):
        lines += _entry_lines(entry, whole, withheld(entry, settings.base))
    return text + "".join(f"{line}\n" for line in lines)


def _entry_lines(entry: Application, whole: Effective, lost: tuple[str, ...]) -> list[str]:
    """One setting a line; JSON is YAML, and never needs a second line."""
    import json

    notes = dict.fromkeys((*entry.overrides, "application", "when"), "") | dict.fromkeys(
        lost, WITHHELD
    )

    def line(path: str, value: Any) -> str:
        text = json.dumps(value, ensure_ascii=False)
        return f"{path.rpartition('.')[2]}: {text}{notes.get(path, INHERITED)}"

    lines = []
    for key, value in _resolved(entry, whole).items():
        if key in ("judge", "sampling"):
            lines += [f"{key}:", *(f"  {line(f'{key}.{k}', leaf)}" for k, leaf in value.items())]
        else:
            lines.append(line(key, value))
    return [("  " if n else "- ") + text for n, text in enumerate(lines)]


def _held_for(settings: Settings, interaction: Interaction) -> dict[str, Any]:
    """What holds for one interaction: the entry that wins, and the settings it leads to."""
    import re
    from dataclasses import asdict

    from monitor.app.policies import ingest_filter
    from monitor.app.scores import promises
    from monitor.sampling.rules import FirstMatch, RuleCase, compiled

    cases = [
        RuleCase(re.compile(entry.name_regex).fullmatch, tuple(map(compiled, entry.when)), number)
        for number, entry in enumerate(settings.applications)
    ]
    number = FirstMatch(cases, -1)(interaction)
    promised = promises(settings)(interaction.application)
    held_back = ingest_filter(settings).against(interaction)
    whole = settings.base if number < 0 else settings.effective[number]
    return {
        "application": interaction.application,
        "entry": None if number < 0 else f"applications.{number}",
        "filtered_by": held_back and f"ingest.{held_back}",
        "overrides": [] if number < 0 else list(settings.applications[number].overrides),
        **whole.model_dump(mode="json"),
        "objectives": list(map(asdict, promised)),
    }


def _interaction(application: str, attributes: list[str]) -> Interaction:
    """An interaction with nothing in it that rules do not see."""
    from datetime import UTC, datetime

    from monitor.records import Interaction, Source

    return Interaction(
        interaction_id="",
        event_time=datetime.fromtimestamp(0, UTC),
        application=application,
        user_input="",
        response="",
        attributes=dict(map(_attribute, attributes)),
        source=Source(topic="", partition=0, offset=0),
    )


def _attribute(item: str) -> tuple[str, Any]:
    """``name=value``, where the value is JSON (``7``, ``true``, ``"7"``) or else a text."""
    import json

    from monitor.errors import ConfigurationError

    name, equals, value = item.partition("=")
    if not name or not equals:
        raise ConfigurationError(f"--attribute: found {item!r}, expected name=value")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _environment(path: str) -> str:
    return "RAG_MONITOR_" + path.upper().replace(".", "__")


def _lookup(settings: Any, path: str) -> Any:
    for key in path.split("."):
        settings = getattr(settings, key)
    return settings


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _print(value: Any, as_json: bool) -> None:
    import yaml

    if as_json:
        print_json(value)
    else:
        typer.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
