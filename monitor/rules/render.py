"""The rule files of some settings."""

from __future__ import annotations

from typing import Final

from monitor.config import Settings
from monitor.rules.counts import counts
from monitor.rules.health import processes, reading
from monitor.rules.judge import judge
from monitor.rules.model import Alert, Recording, RuleGroup, as_yaml
from monitor.rules.plan import plan
from monitor.rules.quality import quality

HEAD: Final = (
    "Written by `rag-monitor rules render` from the settings: change those (alerts.*), and not\n"
    "this file. For Prometheus 2.42 and newer, and for Mimir's ruler."
)


def groups(settings: Settings) -> tuple[RuleGroup, RuleGroup]:
    """What is evaluated together: quality, and the monitor's own health."""
    found = plan(settings)
    health: list[Recording | Alert] = [
        *counts(found),
        *processes(found),
        *reading(found),
        *judge(found),
    ]
    return quality(found), RuleGroup("rag-monitor", health)


def rendered(settings: Settings) -> dict[str, str]:
    """File name → its text."""
    return {f"{group.name}.yml": as_yaml([group], HEAD) for group in groups(settings)}
