"""The metrics that have panels of their own, and which way each of all of them is worse."""

from __future__ import annotations

from typing import Final, NamedTuple

from monitor.metrics.catalogue import CATALOGUE


class Shown(NamedTuple):
    """A metric with panels of its own."""

    name: str
    best: int

    @property
    def title(self) -> str:
        """Its plain name, as a title."""
        return capitalised(CATALOGUE[self.name].plain)

    @property
    def meaning(self) -> str:
        """A sentence, and which end is the best."""
        return f"{CATALOGUE[self.name].meaning} {self.best} is best."

    @property
    def higher_is_better(self) -> bool:
        """Its direction."""
        return CATALOGUE[self.name].higher_is_better is True

    @property
    def matcher(self) -> str:
        """Selects its series."""
        return f'metric="{self.name}"'


def capitalised(text: str) -> str:
    """Its first letter only: the others may be names.

    >>> capitalised("agreement with the reference (F1)")
    'Agreement with the reference (F1)'
    """
    return text[:1].upper() + text[1:]


SHOWN: Final = (
    Shown("faithfulness", 1),
    Shown("noise_sensitivity_relevant", 0),
    Shown("noise_sensitivity_irrelevant", 0),
)
#: What every judged pick has, also where nothing could be compared.
EVERY_PICK: Final = (Shown("answered", 1), Shown("retrieved", 1))
#: What stands in a table in the place of a metric's name.
PLAIN_CELLS: Final = [
    {
        "type": "value",
        "options": {
            name: {"text": capitalised(metric.plain), "index": index}
            for index, (name, metric) in enumerate(CATALOGUE.items())
        },
    }
]
NAMES: Final = "|".join(metric.name for metric in SHOWN)


def directed(*, higher_is_better: bool) -> str:
    """Selects the metrics of one direction."""
    names = [n for n, metric in CATALOGUE.items() if metric.higher_is_better is higher_is_better]
    return f'metric=~"{"|".join(names)}"'
