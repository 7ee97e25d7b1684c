"""``rules render``: the rules of Prometheus, from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import ConfigFile, Overrides, settings_of

if TYPE_CHECKING:
    from monitor.config import Settings

app = typer.Typer(help="Write the rules of Prometheus.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Keeps ``render`` a command of its own while it is the only one."""


@app.command()
def render(
    out: Annotated[str, typer.Option(help="Directory of the files (-: print them).")] = "-",
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing. Exit 1 when the files differ.")
    ] = False,
    config: ConfigFile = None,
    set_: Overrides = None,
) -> None:
    """Write the recording rules and alerts of Prometheus.

    As objectives and thresholds are set (alerts.*).
    """
    from monitor.errors import ConfigurationError
    from monitor.rules.render import rendered

    settings = settings_of(config, set_, uses=())
    files = rendered(settings)
    if check and out == "-":
        raise ConfigurationError("--check: needs --out, the directory to compare with")
    if check:
        _compare(files, Path(out))
        return
    if out == "-":
        typer.echo("---\n".join(files.values()), nl=False)
    else:
        _write(files, Path(out))
    _tell_defaults(settings)


def _tell_defaults(settings: Settings) -> None:
    """Links that lead nowhere are found at 3 a.m., unless it is said now."""
    fields = type(settings.alerts).model_fields
    for name, what in (("runbook_url", "runbook"), ("dashboard_url", "dashboard")):
        address = getattr(settings.alerts, name)
        if address == fields[name].default:
            host = address.split("/")[2]
            typer.echo(f"{what} links lead to {host}, an example: set alerts.{name}", err=True)


def _compare(files: Mapping[str, str], directory: Path) -> None:
    differing = [name for name, text in files.items() if _read(directory / name) != text]
    for name in differing:
        typer.echo(f"{directory / name} differs; run rag-monitor rules render", err=True)
    if differing:
        raise typer.Exit(1)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _write(files: Mapping[str, str], directory: Path) -> None:
    from monitor.errors import ConfigurationError

    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--out: {error.filename}: {error.strerror}") from None
