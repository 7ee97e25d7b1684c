"""Releases as gauges: which versions an application has, and when they changed.

Values are named by the traffic: they are short, and few of each attribute are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from monitor.stats.releases import Rollout

DEPLOYMENT: Final = "rag_deployment_info"
CHANGED: Final = "rag_deployment_changed_timestamp_seconds"
VALUES: Final = "rag_deployment_values"
_OF: Final = ("application", "attribute")
RELEASE_FAMILIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    DEPLOYMENT: (
        "1 for each value of deployment, prompt_version and model that an application has now.",
        (*_OF, "value"),
    ),
    CHANGED: (
        "When a value was seen first (change: began), or was seen last, and another one has its "
        "place (completed) or has it again (rolled_back), epoch seconds; the latest five begins "
        "and ends within the horizon.",
        (*_OF, "before", "value", "change"),
    ),
    VALUES: ("How many values of it were seen within the horizon.", _OF),
}


def release_families(
    found: Iterable[tuple[str, Mapping[str, Rollout]]] = (),
) -> list[GaugeMetricFamily]:
    """The families, of applications with what was rolled out there."""
    families = {
        name: GaugeMetricFamily(name, meaning, labels=labels)
        for name, (meaning, labels) in RELEASE_FAMILIES.items()
    }
    for application, rollouts in found:
        for attribute, rolled in rollouts.items():
            whose = [application, attribute]
            for value in rolled.in_use:
                families[DEPLOYMENT].add_metric([*whose, value], 1)
            # What came twice shows when it came last: one series has one value.
            latest = {(c.before, c.value, c.change): c.at for c in rolled.changes}
            for labels, at in latest.items():
                families[CHANGED].add_metric([*whose, *labels], at)
            families[VALUES].add_metric(whose, rolled.values)
    return list(families.values())
