"""Reading the counters of a registry."""

from __future__ import annotations

from prometheus_client import CollectorRegistry


def counted(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """Samples of a counter by the values of its labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == name and sample.value
    }
