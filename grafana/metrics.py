"""The metrics that have panels of their own, and which way each of all of them is worse."""

from __future__ import annotations

from typing import Final, NamedTuple

from monitor.metrics.catalogue import CATALOGUE


class Shown(NamedTuple):
    """A metric with panels of its own."""

    name: str
    title: str
    meaning: str

    @property
    def higher_is_better(self) -> bool:
        """Its direction."""
        return CATALOGUE[self.name].higher_is_better is True

    @property
    def matcher(self) -> str:
        """Selects its series."""
        return f'metric="{self.name}"'


SHOWN: Final = (
    Shown("faithfulness", "Faithfulness", "Share of claims that the passages support; 1 is best."),
    Shown(
        "noise_sensitivity_relevant",
        "Noise, relevant",
        "Share of claims that are wrong and come from a relevant passage; 0 is best.",
    ),
    Shown(
        "noise_sensitivity_irrelevant",
        "Noise, irrelevant",
        "Share of claims that are wrong and come from an irrelevant passage; 0 is best.",
    ),
)
#: What every judged pick has, also where nothing could be compared.
EVERY_PICK: Final = (
    Shown(
        "answered",
        "Answered",
        "Share of responses that claim anything: no refusals, no empty texts; 1 is best.",
    ),
    Shown(
        "retrieved",
        "Retrieved",
        "Share of interactions for which a passage with words was retrieved; 1 is best.",
    ),
)
NAMES: Final = "|".join(metric.name for metric in SHOWN)


def directed(*, higher_is_better: bool) -> str:
    """Selects the metrics of one direction."""
    names = [n for n, metric in CATALOGUE.items() if metric.higher_is_better is higher_is_better]
    return f'metric=~"{"|".join(names)}"'
