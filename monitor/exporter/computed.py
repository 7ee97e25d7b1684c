"""What a page says of every application and judge, straight from the aggregates and baselines."""

from __future__ import annotations

from collections import defaultdict

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.scores.aggregator import OTHER, ScoreAggregator, SeriesKey
from monitor.exporter.serve.scraped import (
    DriftReading,
    Gauge,
    Learning,
    PageOwner,
    ScrapedPage,
)

_Gauges = dict[tuple[str, str], Gauge]


def pages_of(
    aggregator: ScoreAggregator, baselines: Baselines, now: float
) -> dict[PageOwner, ScrapedPage]:
    """As ``scrape.read_process`` reads them from a page that was served ``now`` (epoch seconds).

    Who has neither scored nor read has no counts: they are 0.
    """
    aggregator.advance(now)
    gauges, drift = _gauges(aggregator), _drift(aggregator, now)
    learning = _learning(baselines, aggregator)
    unknown = Learning(0, baselines.learning_settings.slots, is_over=False)
    return {
        owner: ScrapedPage(
            gauges.get(owner, {}),
            {},
            consumed=0,
            in_flight=0,
            records_read=0,
            watched=drift.get(owner, {}),
            learning=learning.get(owner, unknown),
        )
        for owner in sorted({*gauges, *drift, *learning})
    }


def _gauges(aggregator: ScoreAggregator) -> dict[PageOwner, _Gauges]:
    found: dict[PageOwner, _Gauges] = defaultdict(dict)
    for key, window, estimate in aggregator.estimates():
        if isinstance(key, SeriesKey):
            found[PageOwner(key.application, key.judge)][key.metric, window] = Gauge(
                estimate.value, estimate.lower, estimate.upper, estimate.samples
            )
    return found


def _drift(aggregator: ScoreAggregator, now: float) -> dict[PageOwner, dict[str, DriftReading]]:
    found: dict[PageOwner, dict[str, DriftReading]] = defaultdict(dict)
    for state in aggregator.drift.states(now) if aggregator.drift is not None else ():
        metric, application, judge = state.key
        found[PageOwner(application, judge)][metric] = DriftReading(
            state.evidence, state.threshold, state.baseline, state.alarm
        )
    return found


def _learning(baselines: Baselines, aggregator: ScoreAggregator) -> dict[PageOwner, Learning]:
    """Those without a name of their own are ``other`` together."""
    needed, named = baselines.learning_settings.slots, aggregator.named()
    found: dict[PageOwner, Learning] = {}
    for status in baselines.status():
        application, judge = status.pair
        if application in named:
            owner, slots = PageOwner(application, judge), status.slots or 0
            found[owner] = Learning(slots, needed, not status.is_learning)
        else:
            owner = PageOwner(OTHER, judge)
            before = found.get(owner, Learning(0, needed, is_over=True))
            found[owner] = before._replace(is_over=before.is_over and not status.is_learning)
    return found
