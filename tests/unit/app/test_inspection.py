"""What commands that only look are given of the settings."""

from __future__ import annotations

import time

import pytest

from monitor.app.inspection import (
    dry_run_judge,
    input_rules,
    lookup_access,
    price_per_million,
    traffic_access,
)
from monitor.config import load
from monitor.errors import ConfigurationError
from monitor.runtime.health import Health
from tests.stages.answers import answered

RATES = {
    "sampling.rate": 0.5,
    "sampling.key": "record_key",
    "applications": [{"application": "shop-*", "sampling": {"rate": 0.1}}],
    "ingest.exclude": [{"attribute": "tenant", "equals": "test"}],
}


def test_the_rules_are_those_of_the_application() -> None:
    """Rate and key by name, what is held back, and the least rate for whoever looks at it."""
    rules = input_rules(load({}, flags=RATES))
    assert rules.sampler(answered("a", application="shop-1")) == (0.1, "record_key")
    assert rules.sampler(answered("a", application="bank")) == (0.5, "record_key")
    assert (rules.sampling_key, rules.least_rate) == ("record_key", 0.1)
    assert rules.let_through.against(answered("a")) is None
    assert rules.let_through.against(answered("a", attributes={"tenant": "test"})) == "exclude.0"


def test_a_wrong_pattern_hinders_nobody_who_redacts_nothing() -> None:
    """Records on the topics are redacted already; only what is logged is not."""
    settings = load({}, flags={"redaction.patterns": {"broken": "("}})
    access = lookup_access(settings, 5.0)
    assert access.scores == settings.kafka.topics.scores
    with pytest.raises(ConfigurationError, match="broken"):
        access.rules()


def test_the_offline_judge_is_not_rehearsed() -> None:
    """It costs nothing; a model is, and its price is known or given."""
    health = Health(time.monotonic)
    assert traffic_access(load({}), health, 5.0).judge is None
    price = {"input_usd_per_million": 2.0, "output_usd_per_million": 8.0}
    flags = {"judge.kind": "llm", "judge.model": "openai/own", "judge.price": price}
    model = load({}, flags=flags)
    access = traffic_access(model, health, 5.0)
    assert access.judge is not None
    assert access.judge.identity == dry_run_judge(model.judge).identity
    assert price_per_million(model.judge) == (2.0, 8.0)
