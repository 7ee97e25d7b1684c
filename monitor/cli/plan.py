"""``plan``: what a budget buys, before a cent of it is spent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Connecting, Overrides, settings_of
from monitor.plan.quantities import OFFLINE_CORRELATION, USUAL_MEAN

if TYPE_CHECKING:
    from monitor.config import Settings
    from monitor.plan.plan import Takes

PlannedTraffic = Annotated[
    str | None,
    typer.Option(help="Interactions, like 200/s, 50/min, 900/h or 20000/day."),
]
PlannedBudget = Annotated[
    str | None,
    typer.Option(help="Money, like 20usd/day (default: limits.usd_per_day)."),
]
PlannedModel = Annotated[
    str | None,
    typer.Option(help="Model of the LLM judge (default: that of the settings)."),
]
#: Of ``--minutes``: a year.
MOST_MINUTES = 525_600.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    traffic: PlannedTraffic = None,
    budget: PlannedBudget = None,
    model: PlannedModel = None,
    mean: Annotated[
        float, typer.Option(min=0.001, max=0.3, help="Normal share that is wrong, to plan with.")
    ] = USUAL_MEAN,
    correlation: Annotated[
        float, typer.Option(min=0.0, max=0.95, help="Of the risk signal with the judge.")
    ] = OFFLINE_CORRELATION,
    from_topic: Annotated[
        bool, typer.Option("--from-topic", help="Measure traffic and tokens on the topic.")
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=MOST_MINUTES, help="With --from-topic: minutes to look back (default: 10)."
        ),
    ] = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    limit: Connecting = 60.0,
) -> None:
    """Estimate what a budget buys, before it is spent.

    Judgements, widths of intervals and the delay of drift alarms.
    """
    from monitor.plan.plan import Assumed, made, text, typical
    from monitor.runtime.visible import json_text

    _require_numbers(mean=mean, correlation=correlation, minutes=minutes or 0.0)
    if minutes is not None:
        _require_topic(from_topic)
    settings = settings_of(config, [*(set_ or []), *_given(budget, model)], uses={"judge", "log"})
    _require_some(settings)
    if from_topic:
        _require_price(settings)
        per_minute, takes = _measured(settings, minutes or 10.0, limit)
        per_minute = per_minute if traffic is None else _rate(traffic)
    else:
        per_minute = _rate(traffic)
        takes = typical(settings.judge, _require_price(settings))
    found = made(settings, Assumed(per_minute, mean, correlation), takes)
    if json:
        typer.echo(json_text(found, indent=2))
        return
    for line in text(found):
        typer.echo(line)


def _require_numbers(**options: float) -> None:
    """What is no number is within no bounds, and outside of none."""
    from monitor.errors import ConfigurationError

    for name, value in options.items():
        if math.isnan(value):
            raise ConfigurationError(f"--{name}: found nan, expected a number")


def _require_topic(from_topic: bool) -> None:
    from monitor.errors import ConfigurationError

    if not from_topic:
        raise ConfigurationError("--minutes: goes with --from-topic, and has no meaning without")


def _require_some(settings: Settings) -> None:
    from monitor.errors import ConfigurationError
    from monitor.plan.plan import ALONE

    if settings.sampling.rate:
        return
    if any(settings.rates):
        raise ConfigurationError(
            "sampling.rate: is 0, and the traffic of the applications with a rate of their own is "
            "unknown; plan for one of them: --set sampling.rate=…, with its "
            f"traffic. {ALONE}"
        )
    raise ConfigurationError("sampling.rate: is 0, so nothing is judged: there is no plan")


def _given(budget: str | None, model: str | None) -> list[str]:
    """Settings that options stand for."""
    from monitor.plan.quantities import usd_per_day

    found = [] if model is None else ["judge.kind=llm", f"judge.model={model}"]
    if budget is not None:
        found.append(f"limits.usd_per_day={usd_per_day('--budget', budget)}")
    return found


def _rate(traffic: str | None) -> float:
    """Interactions a minute."""
    from monitor.errors import ConfigurationError
    from monitor.plan.quantities import per_minute

    if traffic is None:
        raise ConfigurationError("--traffic: missing, give a rate like 200/s, or --from-topic")
    return per_minute("--traffic", traffic)


def _measured(settings: Settings, minutes: float, limit_s: float) -> tuple[float, Takes]:
    """Interactions a minute of the topic, and what a judgement of them takes.

    Ends with 1 where there was none: nothing is wrong, but there is nothing to plan with.
    """
    import asyncio
    import time

    from monitor.app.inspection import traffic_access
    from monitor.plan.topic import measured
    from monitor.runtime import logs
    from monitor.runtime.health import Health

    logs.configure_command(settings.log.format)
    access = traffic_access(settings, Health(time.monotonic), limit_s)
    found = asyncio.run(measured(access, time.time(), minutes))
    if found is None:
        names = ", ".join(settings.kafka.topics.interactions)
        typer.echo(
            f"rag-monitor: --from-topic: nothing was sent to {names} in the last {minutes:g} "
            "minutes that could be judged; give --minutes more, or --traffic without --from-topic",
            err=True,
        )
        raise typer.Exit(1)
    return found


def _require_price(settings: Settings) -> tuple[float, float]:
    """US dollars for a million tokens, 0 offline; raises ``ConfigurationError`` without a price."""
    from monitor.app.inspection import price_per_million
    from monitor.errors import ConfigurationError

    if not settings.judge.asks_a_model:
        return 0.0, 0.0
    price = price_per_million(settings.judge)
    if price is None:
        raise ConfigurationError(
            f"judge.model: the price of {settings.judge.model} is not in litellm's list; give "
            "judge.price.input_usd_per_million and judge.price.output_usd_per_million"
        )
    return price
