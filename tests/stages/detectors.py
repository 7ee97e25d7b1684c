"""Detectors with a baseline, over score records that a test makes."""

from __future__ import annotations

from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.stats.baseline import NOTHING, Baseline
from tests.stages.score_records import PERIOD

METRICS = ("faithfulness", "noise_sensitivity_irrelevant")
SETTINGS = DriftSettings(METRICS, 1.0, 50.0, NOTHING, PERIOD, 2)
NORMAL = Normal({name: Baseline(0.1, 0.01, {"acme": 0.2}) for name in METRICS})


def drift_aggregator(
    settings_: DriftSettings = SETTINGS, normal: Normal = NORMAL
) -> DriftDetectors:
    """Detectors with a baseline for everything that the made records name."""
    aggregator = DriftDetectors(settings_)
    for application in ("bot", "shop", "other"):
        for version in ("1", "2"):
            aggregator.set_normal(application, f"offline@{version}", normal)
    return aggregator
