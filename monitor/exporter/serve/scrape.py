"""Reading a ``/metrics`` page back: what a user sees is what the demo shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from monitor.exporter.serve.scraped import DriftReading, Gauge, Learning, ScrapedPage

#: Beginnings of the lines that are read. Most of a page are segments, histograms and comments, and
#: parsing takes its time.
_READ: Final = (
    "rag_score",
    "rag_drift_",
    "rag_monitor_interactions_",
    "rag_monitor_score_records_",
    "rag_monitor_baseline_",
    "rag_monitor_paused",
)
#: In the order of the fields of ``Watched``.
_WATCHED: Final = (
    "rag_drift_evidence",
    "rag_drift_threshold",
    "rag_score_baseline",
    "rag_drift_alarm",
)


def read(text: str) -> ScrapedPage:
    """The page in ``text`` (Prometheus text format) of one application and one judge."""
    found = _PageIndex()
    # Not splitlines: only a newline ends a line, whatever stands in a label.
    lines = "\n".join(line for line in text.split("\n") if line.startswith(_READ))
    for family in text_string_to_metric_families(lines):
        for sample in family.samples:
            found.take(sample)
    return ScrapedPage(
        {key: _gauge(of) for key, of in found.scores.items()},
        found.outcomes,
        int(found.totals["rag_monitor_interactions_consumed_total"]),
        int(found.totals["rag_monitor_interactions_in_flight"]),
        int(found.totals["rag_monitor_score_records_total"]),
        {metric: _watched(of) for metric, of in found.watched.items()},
        _learning(found),
        tuple(sorted(found.paused)),
    )


class _PageIndex:
    """What stands on a page, by what it is about."""

    def __init__(self) -> None:
        self.scores = defaultdict[tuple[str, str], dict[str, float]](dict)
        self.watched = defaultdict[str, dict[str, float]](dict)
        self.outcomes: dict[tuple[str, str], int] = {}
        self.learning: list[bool] = []
        self.paused: set[str] = set()
        #: Over all labels.
        self.totals = defaultdict[str, float](float)

    def take(self, sample: Sample) -> None:
        name, labels = sample.name, sample.labels
        self.totals[name] += sample.value
        if name.startswith("rag_score") and "window" in labels:
            self.scores[labels["metric"], labels["window"]][name] = sample.value
        elif name in _WATCHED:
            self.watched[labels["metric"]][name] = sample.value
        elif name == "rag_monitor_interactions_total":
            self.outcomes[labels["outcome"], labels["reason"]] = int(sample.value)
        elif name == "rag_monitor_baseline_learning":
            self.learning.append(sample.value == 1)
        elif name == "rag_monitor_paused":
            self.paused.add(labels["application"])


def _gauge(found: Mapping[str, float]) -> Gauge:
    return Gauge(
        found.get("rag_score"),
        found.get("rag_score_lower"),
        found.get("rag_score_upper"),
        found.get("rag_score_samples", 0.0),
    )


def _watched(found: Mapping[str, float]) -> DriftReading:
    evidence, threshold, baseline, alarm = (found.get(name) for name in _WATCHED)
    return DriftReading(evidence, threshold, baseline, alarm == 1)


def _learning(found: _PageIndex) -> Learning | None:
    needed = int(found.totals["rag_monitor_baseline_needed"])
    slots = int(found.totals["rag_monitor_baseline_slots"])
    is_over = bool(found.learning) and not any(found.learning)
    return Learning(slots, needed, is_over) if needed else None


async def scrape(url: str) -> ScrapedPage:
    """The page at ``url``; raises ``aiohttp.ClientError`` when there is none."""
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        answer.raise_for_status()
        return read(await answer.text())
