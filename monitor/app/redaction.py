"""Settings → what is redacted."""

from __future__ import annotations

from monitor.config import Settings
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.telemetry import ScorerTelemetry


def build_redactor(settings: Settings, telemetry: ScorerTelemetry) -> Redactor:
    """What replaces personal data; raises ``ConfigurationError`` for a wrong region or pattern."""
    return Redactor(redaction_rules(settings), lambda k: telemetry.redactions.labels(k).inc())


def redaction_rules(settings: Settings) -> RedactionRules | None:
    """What is redacted; None where nothing is."""
    chosen = settings.redaction
    if not chosen.enabled:
        return None
    salt = chosen.salt.get_secret_value() if chosen.salt else ""
    return RedactionRules(chosen.kinds, chosen.regions, chosen.patterns, salt)
