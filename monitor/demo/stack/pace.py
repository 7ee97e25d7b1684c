"""Time that runs faster: the shipped rules and routes with all their waits divided. Pure.

Rules wait for minutes so that nothing pages for a moment's trouble. What is shown within a minute
is the same rules and the same tree of routes, in which each duration is divided by one number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

_UNITS: Final = {
    "ms": 0.001,
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86_400,
    "w": 604_800,
    "y": 31_536_000,
}
_PART: Final = re.compile(r"(\d+)(ms|[smhdwy])")
_DURATION: Final = r"(?:\d+(?:ms|[smhdwy]))+"
_STRING: Final = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
#: In an expression: text in quotes, which stays, or the inside of [5m], [1h:1m], or offset 5m.
_WAITS: Final = re.compile(rf"({_STRING})|(\[|\boffset\s+-?|:)({_DURATION})")
#: Of a rule, a group of rules, and a route.
TIMES: Final = (
    *("for", "keep_firing_for", "interval"),
    *("group_wait", "group_interval", "repeat_interval"),
)


def seconds_of(duration: str) -> float:
    """The length of a duration in the notation of Prometheus; raises ``ValueError``.

    >>> seconds_of("1h30m"), seconds_of("250ms"), seconds_of("0s")
    (5400.0, 0.25, 0.0)
    """
    if not re.fullmatch(_DURATION, duration):
        raise ValueError(f"found {duration!r}, expected a duration like 5m")
    return float(sum(int(n) * _UNITS[unit] for n, unit in _PART.findall(duration)))


def divided(duration: str, by: float, least: int = 1) -> str:
    """A duration divided, in whole seconds, at least ``least``; none at all stays none.

    >>> divided("5m", 60), divided("90m", 60), divided("30s", 60), divided("0s", 60)
    ('5s', '90s', '1s', '0s')
    """
    wanted = seconds_of(duration)
    return f"{max(least, math.ceil(wanted / by))}s" if wanted else "0s"


def expression(promql: str, by: float, least: int) -> str:
    """An expression with its ranges and offsets divided; a label's value is no duration.

    >>> expression('rate(a{window="1h"}[5m]) > 0 and b[1h:1m] and c offset 1d', 60, 4)
    'rate(a{window="1h"}[5s]) > 0 and b[60s:4s] and c offset 1440s'
    """

    def faster(found: re.Match[str]) -> str:
        string, before, duration = found.groups()
        return string or before + divided(duration, by, least)

    return _WAITS.sub(faster, promql)


def hurried(node: Any, by: float, *, least: int) -> Any:
    """Rules or routes with every wait divided by ``by``, and every range, too.

    ``least`` is the shortest range in seconds: it must hold several scrapes.
    """
    if isinstance(node, list):
        return [hurried(one, by, least=least) for one in node]
    if not isinstance(node, Mapping):
        return node
    changed = {}
    for key, value in node.items():
        if key in TIMES:
            changed[key] = divided(str(value), by)
        elif key == "expr":
            changed[key] = expression(str(value), by, least)
        else:
            changed[key] = hurried(value, by, least=least)
    return changed
