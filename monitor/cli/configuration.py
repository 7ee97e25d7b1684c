"""``config check`` and ``config reference``."""

from __future__ import annotations

from typing import Any

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, settings_of

app = typer.Typer(help="Check and document the settings.", no_args_is_help=True)


@app.command()
def check(config: ConfigFile = None, set_: Overrides = None, json: AsJson = False) -> None:
    """Print the effective settings, secrets masked; fail with the path of a wrong key."""
    settings = settings_of(config, set_)
    _print(settings.model_dump(mode="json"), json)


@app.command()
def reference(json: AsJson = False) -> None:
    """Print every setting with its environment variable, default and meaning."""
    from monitor.config import Settings, paths

    defaults = Settings()
    if json:
        rows = [
            {
                "path": path,
                "environment": _environment(path),
                "default": _plain(_lookup(defaults, path)),
                "meaning": field.description,
            }
            for path, field in paths()
        ]
        _print(rows, True)
        return
    for path, field in paths():
        typer.echo(f"{path} = {_plain(_lookup(defaults, path))}")
        typer.echo(f"    {field.description}\n    {_environment(path)}")


def _environment(path: str) -> str:
    return "RAG_MONITOR_" + path.upper().replace(".", "__")


def _lookup(settings: Any, path: str) -> Any:
    for key in path.split("."):
        settings = getattr(settings, key)
    return settings


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _print(value: Any, as_json: bool) -> None:
    import json

    import yaml

    if as_json:
        typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        typer.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
