"""What ``evaluate`` and ``suite`` ask before, and warn of afterwards."""

from __future__ import annotations

from pydantic import Field

from monitor.config.base import Fraction, Section


class RiskSettings(Section):
    """Beyond which a column of scores gets a sign of risk."""

    skew: Fraction = Field(0.1, description="most difference of mean and median")
    deviation: Fraction = Field(0.3, description="largest standard deviation")
    bad: Fraction = Field(
        0.5,
        description="a score above it is bad. Of a metric of which more is better, one below 1 "
        "minus it",
    )
    bad_share: Fraction = Field(0.2, description="largest share of bad scores")


class EvaluateSettings(Section):
    """Files and suites."""

    confirm_usd: float = Field(
        1.0, ge=0, description="US dollars beyond which to ask first, on a terminal"
    )
    risks: RiskSettings = RiskSettings()
