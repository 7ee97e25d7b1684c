"""Settings of the redaction, and the versions of the judges that follow from them."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judges import build_judges
from monitor.app.policies import build_policies
from monitor.app.redaction import build_redactor
from monitor.config import load
from monitor.errors import ConfigurationError
from monitor.telemetry import ScorerTelemetry
from tests.stages.records import attributed

LLM = {"judge.kind": "llm", "judge.model": "openai/gpt-4o-mini"}


def version(**flags: Any) -> str:
    """Of the judge that these flags give."""
    named = {name.replace("__", "."): value for name, value in flags.items()}
    (configured,) = build_judges(load({}, flags=named), ScorerTelemetry(CollectorRegistry()))
    return configured.judge.identity.version


def test_it_is_on_unless_it_is_switched_off() -> None:
    """Nobody sends addresses to a judge by having forgotten a setting."""
    telemetry = ScorerTelemetry(CollectorRegistry())
    assert build_redactor(load({}), telemetry).is_on
    assert not build_redactor(load({}, flags={"redaction.enabled": "false"}), telemetry).is_on


@pytest.mark.parametrize("judge", [{}, LLM])
def test_it_is_part_of_the_version_of_every_judge(judge: dict[str, str]) -> None:
    """On, off, and every choice of what is found; but not the salt."""
    chosen: list[dict[str, Any]] = [
        {},
        {"redaction.enabled": False},
        {"redaction.kinds": "email"},
        {"redaction.regions": "US"},
        {"redaction.patterns": '{"customer": "C-[0-9]+"}'},
        {"judge.relevance": "labels"},
    ]
    versions = [version(**judge, **flags) for flags in chosen]
    assert len(set(versions)) == len(versions)
    assert version(**judge, **{"redaction.salt": "s"}) == versions[0]


def test_own_patterns_come_from_the_environment() -> None:
    """As JSON; the salt from a file, too."""
    settings = load({"RAG_MONITOR_REDACTION__PATTERNS": '{"customer": "C-[0-9]+"}'})
    registry = CollectorRegistry()
    redactor = build_redactor(settings, ScorerTelemetry(registry))
    assert redactor.text("C-12").startswith("<CUSTOMER:")
    assert registry.get_sample_value("rag_monitor_redactions_total", {"kind": "customer"}) == 1.0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"redaction.patterns": '{"Customer": "x"}'}, "redaction.patterns: found the name"),
        ({"redaction.patterns": '{"email": "x"}'}, "redaction.patterns: found the name 'email'"),
        ({"redaction.kinds": "names"}, "redaction.kinds.0: found 'names'"),
        ({"redaction.regions": "de"}, "redaction.regions: found 'de', expected two letters"),
        ({"redaction.patterns": '{"a": "("}'}, "redaction.patterns.a: found '(', no regular"),
    ],
)
def test_a_wrong_setting_is_named(flags: dict[str, str], said: str) -> None:
    """With its path, at the start."""
    with pytest.raises(ConfigurationError) as caught:
        build_redactor(load({}, flags=flags), ScorerTelemetry(CollectorRegistry()))
    assert str(caught.value).startswith(said)


def test_labels_win_where_the_setting_says_so() -> None:
    """By application, like every setting of a judge."""
    flags = {"applications": '[{"application": "bot", "judge": {"relevance": "labels"}}]'}
    settings = load({}, flags=flags)
    policy = build_policies(
        settings, build_judges(settings, ScorerTelemetry(CollectorRegistry()))
    ).policy
    assert policy(attributed("bot")).labels_win
    assert not policy(attributed("other")).labels_win
