"""Settings → what is redacted."""

from __future__ import annotations

from collections.abc import Callable

from monitor.config import Settings
from monitor.ingest.redaction.redactor import OFF, RedactionRules, Redactor
from monitor.telemetry import ScorerTelemetry


def build_redactor(settings: Settings, telemetry: ScorerTelemetry) -> Redactor:
    """What replaces personal data, and counts it; raises like ``redactor_of``."""
    return redactor_of(settings, lambda kind: telemetry.redactions.labels(kind).inc())


def redactor_of(settings: Settings, count: Callable[[str], None] = lambda kind: None) -> Redactor:
    """What replaces personal data; ``count`` is told the kind of each.

    Raises ``ConfigurationError`` for a wrong region or pattern.
    """
    return Redactor(_rules(settings), count)


def redaction_tag(settings: Settings) -> str:
    """What is redacted, as the version of a judge contains it."""
    rules = _rules(settings)
    return rules.tag if rules else OFF


def _rules(settings: Settings) -> RedactionRules | None:
    """None where nothing is redacted."""
    chosen = settings.redaction
    if not chosen.enabled:
        return None
    salt = chosen.salt.get_secret_value() if chosen.salt else ""
    return RedactionRules(chosen.kinds, chosen.regions, chosen.patterns, salt)
