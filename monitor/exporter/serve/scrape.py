"""Reading a ``/metrics`` page back: what a user sees is what the demo shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from monitor.exporter.serve.scraped import (
    DriftReading,
    Gauge,
    Learning,
    PageOwner,
    ProcessPage,
    ScrapedPage,
)

#: Beginnings of the lines that are read. Most of a page are segments, histograms and comments, and
#: parsing takes its time.
READ: Final = (
    "rag_score",
    "rag_drift_",
    "rag_monitor_interactions_",
    "rag_monitor_score_records_",
    "rag_monitor_baseline_",
    "rag_monitor_paused",
    "rag_monitor_ready",
    "rag_monitor_build",
    "rag_monitor_judge_state",
    "rag_monitor_budget_usd_",
    "rag_monitor_group_lag_records",
    "rag_monitor_consumer_lag_records",
)
#: In the order of the fields of ``DriftReading``.
_WATCHED: Final = (
    "rag_drift_evidence",
    "rag_drift_threshold",
    "rag_score_baseline",
    "rag_drift_alarm",
)


def read(text: str) -> ScrapedPage:
    """The page in ``text`` (Prometheus text format) of one application and one judge."""
    return page_of(_samples(text))


def page_of(samples: Iterable[Sample]) -> ScrapedPage:
    """The page of these samples: all that begin as in ``READ``, and no matter which others."""
    found = _indexed(samples)
    pairs = [found.of(owner) for owner in found.owners]
    return found.of(None)._replace(
        gauges={key: gauge for pair in pairs for key, gauge in pair.gauges.items()},
        watched={metric: it for pair in pairs for metric, it in pair.watched.items()},
        learning=_learning(found, found.owners),
    )


def read_process(text: str) -> ProcessPage:
    """The page in ``text`` of any number of applications and judges."""
    found = _indexed(_samples(text))
    totals = found.totals
    return ProcessPage(
        {owner: found.of(owner) for owner in sorted(found.owners)},
        found.of(None),
        found.version,
        is_scorer="rag_monitor_interactions_consumed_total" in totals,
        is_exporter="rag_monitor_baseline_needed" in totals,
        is_ready=totals.get("rag_monitor_ready") == 1,
        judges=found.judges,
        left_usd=totals.get("rag_monitor_budget_usd_left"),
        per_day_usd=totals.get("rag_monitor_budget_usd_per_day"),
        unread_by_group=found.total_of("rag_monitor_group_lag_records"),
        unread_here=found.total_of("rag_monitor_consumer_lag_records"),
    )


def _samples(text: str) -> Iterator[Sample]:
    # Not splitlines: only a newline ends a line, whatever stands in a label.
    lines = "\n".join(line for line in text.split("\n") if line.startswith(READ))
    for family in text_string_to_metric_families(lines):
        yield from family.samples


def _indexed(samples: Iterable[Sample]) -> _PageIndex:
    found = _PageIndex()
    for sample in samples:
        found.take(sample)
    return found


class _PageIndex:
    """What stands on a page, by whose it is and what it is about."""

    def __init__(self) -> None:
        self.scores: dict[PageOwner, dict[tuple[str, str], dict[str, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        self.watched: dict[PageOwner, dict[str, dict[str, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        self.outcomes: dict[tuple[str, str], int] = {}
        self.slots: dict[PageOwner, int] = {}
        self.is_learning: dict[PageOwner, bool] = {}
        self.paused: set[str] = set()
        self.judges: dict[str, str] = {}
        self.version = ""
        #: Over all labels.
        self.totals: dict[str, float] = {}

    @property
    def owners(self) -> set[PageOwner]:
        """All whose scores, evidence or baselines are on the page."""
        return {*self.scores, *self.watched, *self.is_learning}

    def take(self, sample: Sample) -> None:
        name, labels = sample.name, sample.labels
        self.totals[name] = self.totals.get(name, 0.0) + sample.value
        owner = PageOwner(labels.get("application", ""), labels.get("judge", ""))
        if name.startswith("rag_score") and "window" in labels:
            self.scores[owner][labels["metric"], labels["window"]][name] = sample.value
        elif name in _WATCHED:
            self.watched[owner][labels["metric"]][name] = sample.value
        elif name == "rag_monitor_interactions_total":
            self.outcomes[labels["outcome"], labels["reason"]] = int(sample.value)
        elif name == "rag_monitor_baseline_learning":
            self.is_learning[owner] = sample.value == 1
        elif name == "rag_monitor_baseline_slots":
            self.slots[owner] = int(sample.value)
        elif name == "rag_monitor_paused":
            self.paused.add(labels["application"])
        elif name == "rag_monitor_judge_state" and sample.value == 1:
            self.judges[labels["model"]] = labels["state"]
        elif name == "rag_monitor_build_info":
            self.version = labels["version"]

    def of(self, owner: PageOwner | None) -> ScrapedPage:
        """The page with the scores of this one; None: of nobody."""
        scores = self.scores.get(owner, {}) if owner else {}
        watched = self.watched.get(owner, {}) if owner else {}
        return ScrapedPage(
            {key: _gauge(of) for key, of in scores.items()},
            self.outcomes,
            self.total("rag_monitor_interactions_consumed_total"),
            self.total("rag_monitor_interactions_in_flight"),
            self.total("rag_monitor_score_records_total"),
            {metric: _watched(of) for metric, of in watched.items()},
            _learning(self, {owner} if owner else set()),
            tuple(sorted(self.paused)),
        )

    def total(self, name: str) -> int:
        """Over all labels."""
        return self.total_of(name) or 0

    def total_of(self, name: str) -> int | None:
        """The same; None where the page has no such gauge."""
        found = self.totals.get(name)
        return None if found is None else int(found)


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


def _learning(found: _PageIndex, owners: Collection[PageOwner]) -> Learning | None:
    needed = found.total("rag_monitor_baseline_needed")
    slots = sum(found.slots.get(owner, 0) for owner in owners)
    learning = [found.is_learning[owner] for owner in owners if owner in found.is_learning]
    return Learning(slots, needed, bool(learning) and not any(learning)) if needed else None


async def scrape(url: str) -> ScrapedPage:
    """The page at ``url``; raises ``aiohttp.ClientError`` when there is none."""
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        answer.raise_for_status()
        return read(await answer.text())
