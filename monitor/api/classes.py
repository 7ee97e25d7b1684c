"""One class for each metric of the catalogue, made of it; ``classes.pyi`` has their names."""

from __future__ import annotations

from monitor.api.metric import CatalogueMetric
from monitor.metrics.catalogue import CATALOGUE, Metric


def class_name(metric: str) -> str:
    """In CamelCase.

    >>> class_name("claim_f1")
    'ClaimF1'
    """
    return "".join(part.capitalize() for part in metric.split("_"))


def described(metric: Metric) -> str:
    """The docstring: what it means, and how it is computed."""
    good = {True: "Higher is better", False: "Lower is better", None: "Neither is a fault"}
    return f"{metric.meaning}\n\n    {good[metric.higher_is_better]}. {metric.formula}\n    "


def _made(metric: Metric) -> type[CatalogueMetric]:
    body = {"metric": metric.name, "__doc__": described(metric), "__module__": __name__}
    return type(class_name(metric.name), (CatalogueMetric,), body)


METRIC_CLASSES = {class_name(name): _made(metric) for name, metric in CATALOGUE.items()}
globals().update(METRIC_CLASSES)


def stub() -> str:
    """What ``classes.pyi`` holds.

    ``python -m monitor.api.classes > monitor/api/classes.pyi`` writes it.
    """
    head = (
        "# Written by python -m monitor.api.classes: what it makes, for those who read types.\n"
        "from collections.abc import Mapping\n\n"
        "from monitor.api.metric import CatalogueMetric\n"
        "from monitor.metrics.catalogue import Metric\n\n"
        "METRIC_CLASSES: Mapping[str, type[CatalogueMetric]]\n\n"
        "def class_name(metric: str) -> str: ...\n"
        "def described(metric: Metric) -> str: ...\n"
        "def stub() -> str: ...\n"
    )
    classes = (
        f'\nclass {class_name(metric.name)}(CatalogueMetric):\n    """{described(metric)}"""\n'
        for metric in CATALOGUE.values()
    )
    return head + "".join(classes)


if __name__ == "__main__":
    print(stub(), end="")
