"""``demo`` and ``traffic``: made-up interactions with known truth."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, settings_of

DemoLength = Annotated[
    float | None,
    typer.Option("--for", help="Seconds to run (without it: until Ctrl-C).", min=1),
]
Seed = Annotated[int, typer.Option(help="Seed of the made-up traffic.")]
DemoRate = Annotated[float, typer.Option(help="Interactions a second.", min=0.1, max=5000)]
IncidentAt = Annotated[int, typer.Option(help="Seconds until the incident begins.", min=0)]
IncidentFor = Annotated[int, typer.Option(help="Seconds that the incident lasts.", min=0)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("demo")(demo)
    app.command("traffic")(traffic)


def demo(
    for_: DemoLength = None,
    seed: Seed = 1,
    rate: DemoRate = 40.0,
    sampling: Annotated[float, typer.Option(help="Share to judge.", min=0, max=1)] = 0.5,
    incident_at: IncidentAt = 24,
    incident_for: IncidentFor = 10,
    judge: Annotated[str, typer.Option(help="offline or llm.")] = "offline",
    model: Annotated[
        str | None,
        typer.Option(help="litellm model id, with --judge llm."),
    ] = None,
    port: Annotated[int, typer.Option(help="Port of /metrics (0: a free one).")] = 0,
    stack: Annotated[
        bool, typer.Option("--stack", help="With a real Prometheus and Alertmanager beside it.")
    ] = False,
    deploy: Annotated[
        Path | None,
        typer.Option(help="Their configuration, with --stack (default: deploy/ of the checkout)."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show the whole monitor live, with nothing to set up.

    An embedded broker, made-up traffic with an incident in it, and the offline judge. The summary
    at its end is JSON: always where stdout is no terminal, else with --json.
    """
    if model is not None and judge != "llm":
        raise typer.BadParameter("--model goes with --judge llm")
    began = time.monotonic()
    import asyncio

    from monitor.demo.options import DemoOptions
    from monitor.demo.run import run_demo

    options = DemoOptions(
        *(for_, incident_at, incident_for, seed, rate, sampling, judge, model, port, stack),
        deploy,
        json,
    )
    asyncio.run(run_demo(options, os.environ, began))


def traffic(
    config: ConfigFile = None,
    set_: Overrides = None,
    for_: DemoLength = None,
    seed: Seed = 1,
    rate: DemoRate = 20.0,
    incident_at: IncidentAt = 24,
    incident_for: IncidentFor = 10,
    limit: Annotated[
        float,
        typer.Option("--timeout", min=0.1, help="Seconds that the broker may keep it waiting."),
    ] = 60.0,
) -> None:
    """Send made-up interactions to the configured topic.

    Print how many the brokers acknowledged.
    """
    settings = settings_of(config, set_, uses=())
    import asyncio

    from monitor.demo.send import send
    from monitor.runtime import logs

    logs.configure(settings.log.level, settings.log.format)
    asyncio.run(send(settings, for_, seed, rate, incident_at, incident_for, limit))
