"""The list of commands, in panels; and what every command line begins with."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperGroup

#: Panel → its commands, in the order of a first day.
PANELS: Final = {
    "Run": ("demo", "run", "score", "export"),
    "Look": ("status", "worst", "show", "why", "alarms", "report", "doctor"),
    "Decide": ("pause", "resume", "baseline", "audit", "dead-letters", "plan"),
    "Evaluate": ("evaluate", "suite", "judge-check"),
    "Set up": ("ingest", "config", "rules", "traffic", "version"),
}


class PanelGroup(TyperGroup):
    """Lists its commands in ``PANELS``; those that stand in none come last."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the panels."""
        placed = {name for names in PANELS.values() for name in names}
        rest = [name for name in self.list_commands(ctx) if name not in placed]
        for panel, names in {**PANELS, "More": rest}.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, one.get_short_help_str(200)) for name, one in found if one is not None]
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)


def show_version(asked: bool) -> None:
    """Print the version and end, for ``--version``."""
    if asked:
        from monitor import __version__

        typer.echo(__version__)
        raise typer.Exit
