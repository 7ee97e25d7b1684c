"""Time that runs faster: the waits of alerts and routes, all divided by one number. Pure.

Alerts wait for minutes, so that nothing wakes anybody for a moment's trouble. What is shown within
a minute are the same rules, rendered from settings with shorter times, and the same tree of routes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from monitor.config import seconds
from monitor.config.alerting import Alerts

#: Five minutes become five seconds.
PACE: Final = 60.0
#: The group's offsets are looked at every 5 s: what is younger than two looks is not late.
LEAST_LAG_S: Final = 10
#: Prometheus takes up new targets every 5 s, and until then nothing is down; what changed comes
#: by way of the topic, a moment after the gauge is 1; and lag is told before its consequence.
LEAST_PENDING_S: Final = {"RagMonitorDown": 10, "RagQualityDrift": 4, "RagMonitorBlind": 12}
_WINDOWS: Final = ("window", "long_window", "not_ready", "held")
_WAITS: Final = ("pending", "keep_firing")
_OF_ROUTES: Final = ("group_wait", "group_interval", "repeat_interval")


def divided(duration: str, by: float, least: int = 1) -> str:
    """A duration divided, in whole seconds, at least ``least``; none at all stays none.

    >>> divided("5m", 60), divided("90m", 60), divided("30s", 60), divided("0s", 60)
    ('5s', '90s', '1s', '0s')
    """
    if re.fullmatch("0+s", duration):
        return "0s"
    return f"{max(least, math.ceil(seconds(duration) / by))}s"


def alert_settings(by: float = PACE) -> dict[str, Any]:
    """Settings of the alerts, by path, with the default times divided.

    >>> found = alert_settings(60)
    >>> found["alerts.window"], found["alerts.lag"], found["alerts.pending"]["RagMonitorDown"]
    ('15s', '10s', '10s')
    """
    defaults = Alerts()
    found: dict[str, Any] = {
        f"alerts.{name}": divided(getattr(defaults, name), by) for name in _WINDOWS
    }
    for name in _WAITS:
        waits = getattr(defaults, name)
        found[f"alerts.{name}"] = {
            alert: divided(wait, by, LEAST_PENDING_S.get(alert, 1)) for alert, wait in waits.items()
        }
    return {**found, "alerts.lag": divided(defaults.lag, by, LEAST_LAG_S)}


def hurried(route: Mapping[str, Any], by: float = PACE) -> dict[str, Any]:
    """A route of Alertmanager, and all under it, with their waits divided."""
    waits = {key: divided(str(route[key]), by) for key in _OF_ROUTES if key in route}
    below = [hurried(one, by) for one in route.get("routes", [])]
    return {**route, **waits, **({"routes": below} if below else {})}
