"""``status``: is it working, and how good are we; without Prometheus."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, print_report, settings_of

if TYPE_CHECKING:
    from contextlib import ExitStack

    from monitor.config import Settings
    from monitor.status.situation import Situation
    from monitor.status.sources import SituationAccess

#: Seconds between two looks of ``--watch``.
EVERY_S = 2.0
#: Rows of a picture that is printed once: all that there is to say.
_NO_BOUND = 10_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    config: ConfigFile = None,
    set_: Overrides = None,
    url: Annotated[
        list[str] | None,
        typer.Option(
            "--url", help="A running monitor (repeatable, default: http.host and http.port)."
        ),
    ] = None,
    application: Annotated[
        str | None, typer.Option("--application", help="Only this application.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again until Ctrl-C.")] = False,
    json: AsJson = False,
    limit: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds for reading from topics.")
    ] = 60.0,
) -> None:
    """Show whether it works, and how good answers are.

    Asks the running monitor. Where none answers, computes scores from the topics. Says what keeps
    scores away. Exit code 3 when neither the monitor nor Kafka answers.
    """
    import asyncio

    settings = settings_of(config, set_, uses=())
    asyncio.run(_show(_access(settings, url, limit), application, watch, json))


def _access(settings: Settings, urls: list[str] | None, limit_s: float) -> SituationAccess:
    import time

    from monitor.runtime import logs
    from monitor.runtime.health import Health
    from monitor.status.sources import SituationAccess, default_url

    logs.configure_command(settings.log.format)
    found = default_url(settings)
    asked = urls or ([] if found is None else [found])
    return SituationAccess(settings, asked, time.time, Health(time.monotonic), limit_s)


async def _show(
    access: SituationAccess, application: str | None, watch: bool, as_json: bool
) -> None:
    import asyncio
    import time
    from contextlib import ExitStack

    from monitor.runtime.shutdown import stop_on_signals, until

    stop, began, last = asyncio.Event(), time.monotonic(), None
    if watch:
        stop_on_signals(stop)
    with ExitStack() as stack:
        screen = _Screen(access.settings, stack, watch=watch, as_json=as_json)
        while not stop.is_set():
            looked = time.monotonic()
            last = (await _looked(access, last)).of_application(application)
            if not screen.show(last, looked - began) or not watch:
                return
            # Reading topics may take long: it gets a tenth of the time.
            await until(stop, asyncio.sleep(max(EVERY_S, 9 * (time.monotonic() - looked))))


async def _looked(access: SituationAccess, last: Situation | None) -> Situation:
    """What is found now; once there was something, that nobody answers is a thing to show."""
    from monitor.errors import DependencyRefused
    from monitor.status.sources import look

    try:
        return await look(access)
    except DependencyRefused as error:
        if last is None:
            raise
        return last._replace(processes=(), silent={"nobody": str(error)})


class _Screen:
    """Where it is shown: a picture that changes, or one after the other; or JSON."""

    def __init__(self, settings: Settings, stack: ExitStack, *, watch: bool, as_json: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        from monitor.status.picture import SituationPicture

        self._as_json, self._indent = as_json, None if watch else 2
        self._picture = SituationPicture(settings.drift.metrics, settings.drift.learn_wait)
        console = Console(highlight=False)
        self._live: Live | None = None
        if watch and not as_json and sys.stdout.isatty() and not console.is_dumb_terminal:
            live = Live(self._picture, console=console, auto_refresh=False)
            self._live = stack.enter_context(live)

    def show(self, found: Situation, elapsed_s: float) -> bool:
        """Show it; False when nobody reads any more."""
        self._picture.look(found, elapsed_s)
        if self._live is not None:
            self._live.refresh()
            return True
        return print_report(self._in_json(found) if self._as_json else self._in_text())

    def _in_json(self, found: Situation) -> str:
        from datetime import UTC, datetime

        from monitor.runtime.visible import json_text
        from monitor.status.situation import as_json

        now = datetime.now(UTC).isoformat(timespec="seconds")
        return json_text(as_json(found, now), indent=self._indent)

    def _in_text(self) -> str:
        """As wide as the terminal, and as long as it is; in colours where there are any."""
        from rich.console import Console

        console = Console(height=_NO_BOUND, highlight=False)
        with console.capture() as captured:
            console.print(self._picture)
        return captured.get().rstrip("\n")
