"""Reading a ``/metrics`` page back: what a user sees is what the demo shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import aiohttp
from prometheus_client.parser import text_string_to_metric_families


class Gauge(NamedTuple):
    """One window of one metric as exported; None where the series is absent."""

    value: float | None
    lower: float | None
    upper: float | None
    samples: float


class Page(NamedTuple):
    """One scrape: ``gauges`` by (metric, window), ``outcomes`` by (outcome, reason).

    ``records_read`` counts the score records that the exporter has seen.
    """

    gauges: Mapping[tuple[str, str], Gauge]
    outcomes: Mapping[tuple[str, str], int]
    consumed: int
    in_flight: int
    records_read: int


def read(text: str) -> Page:
    """The page in ``text`` (Prometheus text format)."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    outcomes: dict[tuple[str, str], int] = {}
    plain: dict[str, float] = {}
    read_records = 0.0
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith("rag_score") and "window" in sample.labels:
                key = (sample.labels["metric"], sample.labels["window"])
                scores.setdefault(key, {})[sample.name] = sample.value
            elif sample.name == "rag_monitor_interactions_total":
                reason = (sample.labels["outcome"], sample.labels["reason"])
                outcomes[reason] = int(sample.value)
            elif sample.name == "rag_monitor_score_records_total":
                read_records += sample.value
            elif not sample.labels:
                plain[sample.name] = sample.value
    return Page(
        {key: _gauge(found) for key, found in scores.items()},
        outcomes,
        int(plain.get("rag_monitor_interactions_consumed_total", 0)),
        int(plain.get("rag_monitor_interactions_in_flight", 0)),
        int(read_records),
    )


def _gauge(found: Mapping[str, float]) -> Gauge:
    return Gauge(
        found.get("rag_score"),
        found.get("rag_score_lower"),
        found.get("rag_score_upper"),
        found.get("rag_score_samples", 0.0),
    )


async def scrape(url: str) -> Page:
    """The page at ``url``; raises ``aiohttp.ClientError`` when there is none."""
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        answer.raise_for_status()
        return read(await answer.text())
