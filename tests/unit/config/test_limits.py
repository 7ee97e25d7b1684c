"""Limits, prices and the day's money, as settings give them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judge_settings import llm_settings
from monitor.app.judges import build_judges, require_prices, unused_limits
from monitor.app.policies import build_budget
from monitor.app.slots import unused_floors, unused_forced
from monitor.config import load
from monitor.errors import ConfigurationError
from monitor.telemetry import ScorerTelemetry

LLM = {"judge.kind": "llm", "judge.model": "openai/gpt-4o-mini"}
VIP = {"attribute": "tenant", "equals": "vip"}
PRICE = {"judge.price.input_usd_per_million": "1.5", "judge.price.output_usd_per_million": "6"}


def test_a_model_may_have_limits_of_its_own(tmp_path: Path) -> None:
    """What it does not give is as for all; from YAML and from the environment."""
    file = tmp_path / "config.yaml"
    file.write_text(
        "limits: {requests_per_minute: 500, tokens_per_minute: 9000,"
        " models: {openai/gpt-4o: {tokens_per_minute: 30}}}",
        encoding="utf-8",
    )
    environ = {"RAG_MONITOR_LIMITS__MODELS": json.dumps({"m": {"requests_per_minute": 2}})}
    limits = load({}, file).limits
    assert limits.of("openai/gpt-4o") == (500, 30)
    assert limits.of("openai/gpt-4o-mini") == (500, 9000)
    assert load(environ).limits.of("m") == (2, None)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("budget.timezone", "Mars/Olympus"),
        ("budget.timezone", ""),
        ("limits.usd_per_day", "0"),
        ("limits.usd_per_day", "inf"),
        ("limits.requests_per_minute", "0"),
        ("limits.stop_probe", "5"),
        ("limits.redis.prefix", "x:"),
        ("limits.models", '{"m": {"requests": 3}}'),
        ("judge.price.input_usd_per_million", "1"),
        ("judge.price.input_usd_per_million", "-1"),
        ("judge.price.input_usd_per_million", "inf"),
    ],
)
def test_what_cannot_be_is_refused_by_its_path(path: str, value: str) -> None:
    """In one line that begins with the section."""
    with pytest.raises(ConfigurationError) as caught:
        load({}, flags={path: value})
    assert str(caught.value).startswith(path.rpartition(".")[0])


def test_limits_of_a_model_that_nobody_asks_are_told() -> None:
    """Of judges, fallbacks and extraction each is asked; the rest is no model of ours."""
    named = ["openai/gpt-4o-mini", "openai/b", "openai/e", "gpt-4o-mini"]
    flags = {
        **LLM,
        "judge.fallback_models": '["openai/b"]',
        "judge.extract_model": "openai/e",
        "limits.models": json.dumps({name: {"requests_per_minute": 1} for name in named}),
    }
    settings = load({}, flags=flags)
    configured_judges = build_judges(settings, ScorerTelemetry(CollectorRegistry()))
    assert unused_limits(settings, configured_judges) == ["gpt-4o-mini"]


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ({"sampling.block": "auto"}, "export.segment"),
        ({"export.segment": "tenant"}, "sampling.block"),
        ({"sampling.block": "auto", "export.segment": "tenant"}, None),
        ({"sampling.block": "8", "applications": [{"application": "a", "segment": "t"}]}, None),
    ],
)
def test_floors_that_change_nothing_are_told(given: dict[str, Any], lacks: str | None) -> None:
    """They are shares of segments, and of what is picked from blocks."""
    why = unused_floors(load({}, flags={"sampling.floors": '{"acme": 0.2}', **given}))
    assert why is None if lacks is None else lacks in (why or "")
    assert unused_floors(load({}, flags=given)) is None


@pytest.mark.parametrize(
    ("given", "whose"),
    [
        ({}, None),
        ({"sampling.block": "1", "ingest.format": "otlp_json"}, None),
        ({"ingest.format": "otlp_json"}, "traces"),
        ({"applications": [{"application": "a", "sampling": {"rate": 0.1}}]}, None),
        ({"applications": [{"application": "a", "when": [VIP], "sampling": {"rate": 0.1}}]}, "a"),
    ],
)
def test_forced_rules_that_nobody_asks_are_told(given: dict[str, Any], whose: str | None) -> None:
    """The hash picks one of a block of traces, and where rules split an application."""
    flags = {"sampling.block": "8", **given}
    for forced in ({"sampling.forced": [VIP]}, {"sampling.force_unanswered": "true"}):
        why = unused_forced(load({}, flags={**flags, **forced}))
        assert why is None if whose is None else f" of {whose}: there the hash" in (why or "")
    assert unused_forced(load({}, flags=flags)) is None


def test_configured_judges_of_one_model_share_what_its_provider_bears() -> None:
    """Another key is another account; the offline judge asks nobody, and has no budget."""
    entries = [
        {"application": "a", "judge": {"name": "x"}},
        {"application": "b", "judge": {"api_key": "other"}},
    ]
    environ = {"RAG_MONITOR_APPLICATIONS": json.dumps(entries)}
    settings = load(environ, flags=LLM)
    configured_judges = build_judges(settings, ScorerTelemetry(CollectorRegistry()))
    base, named, other = (
        configured.provider_gates.of(llm_settings(configured.section))
        for configured in configured_judges
    )
    assert base is named
    assert other is not base
    assert build_budget(load({}, flags={"limits.usd_per_day": "1"}), time.time) is None
    money = build_budget(load(environ, flags={**LLM, "limits.usd_per_day": "1"}), time.time)
    assert money is not None


async def test_a_price_is_litellms_or_the_settings() -> None:
    """A model without either is refused where there is a budget, by its name."""
    known = build_judges(load({}, flags=LLM), ScorerTelemetry(CollectorRegistry()))
    own = {**LLM, "judge.model": "openai/of-my-own"}
    unknown = build_judges(load({}, flags=own), ScorerTelemetry(CollectorRegistry()))
    priced = load({}, flags={**own, **PRICE})
    for configured_judges in (known, build_judges(priced, ScorerTelemetry(CollectorRegistry()))):
        require_prices(configured_judges)
    assert llm_settings(priced.judge).price == (1.5, 6.0)
    with pytest.raises(ConfigurationError, match=r"openai/of-my-own .* give judge\.price"):
        require_prices(unknown)


async def test_another_model_without_a_price_is_refused_and_the_sentence_helps() -> None:
    """``judge.price`` is that of ``judge.model``: to give it would change nothing."""
    flags = {**LLM, **PRICE, "judge.fallback_models": "openai/of-my-own"}
    configured_judges = build_judges(load({}, flags=flags), ScorerTelemetry(CollectorRegistry()))
    with pytest.raises(ConfigurationError, match=r"openai/of-my-own .* leave it out"):
        require_prices(configured_judges)
