"""How people write traffic and money: ``200/s``, ``20usd/day``; and what to plan with."""

from __future__ import annotations

import re
from typing import Final

from monitor.errors import ConfigurationError

#: Share that is wrong, where nothing else is known.
USUAL_MEAN: Final = 0.08
#: Of the offline judge's risk signal with the judge's values, on labelled pairs (docs/sampling.md).
OFFLINE_CORRELATION: Final = 0.38
_A_MINUTE: Final = {"s": 60.0, "min": 1.0, "h": 1 / 60, "day": 1 / 1_440}
#: Not of any length: a plan of more would be made of infinities.
_NUMBER: Final = r"(\d{1,12}(?:\.\d{1,12})?)"
_RATE: Final = re.compile(rf"{_NUMBER}/(s|min|h|day)")
_MONEY: Final = re.compile(rf"{_NUMBER}usd/day")


def per_minute(option: str, text: str) -> float:
    """A number a minute, above 0; raises ``ConfigurationError``.

    >>> per_minute("--traffic", "200/s"), per_minute("--traffic", "1440/day")
    (12000.0, 1.0)
    """
    match = _RATE.fullmatch(text.replace(" ", ""))
    if match is None or not float(match[1]):
        raise ConfigurationError(f"{option}: found {text!r}, expected a rate like 200/s, 50/min")
    return float(match[1]) * _A_MINUTE[match[2]]


def usd_per_day(option: str, text: str) -> float:
    """US dollars, above 0; raises ``ConfigurationError``.

    >>> usd_per_day("--budget", "20usd/day")
    20.0
    """
    match = _MONEY.fullmatch(text.replace(" ", "").lower())
    if match is None or not float(match[1]):
        raise ConfigurationError(f"{option}: found {text!r}, expected money like 20usd/day")
    return float(match[1])
