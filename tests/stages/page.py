"""A page made of score records and control records."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest

from monitor.app.scores import Aggregators
from monitor.exporter.alarms.transitions import transitions
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.objectives import Objective, objective_states
from monitor.records import ScoreRecord
from tests.stages.score_records import (
    START,
)

PROMISED = [Objective("faithfulness", "40s", bound=0.9, minimum_samples=2)]


def page(found: Aggregators, now: float) -> list[bytes]:
    """Everything that is said at a time: gauges, objectives, and the alarms that would open."""
    registry, clock = CollectorRegistry(), START + now
    registry.register(QualityCollector(found.scores, lambda: clock, lambda: True))
    gauges = generate_latest(registry)
    kept = objective_states(found.scores.estimates(), lambda _application: PROMISED)
    states = found.drift.states(clock)
    releases = found.scores.releases_of
    opened = transitions({}, states, found.drift.history, clock, "tenant", rollouts=releases)
    return [gauges, *(repr(one).encode() for one in kept), *(one.to_json() for one in opened)]


Event = Callable[[Aggregators], object]


def score(each: ScoreRecord) -> Event:
    """A score record is read."""
    return lambda found: found.scores.add(each, each.to_json())


def live(
    found: Aggregators, events: Iterable[Event], now: float, rng: random.Random
) -> Aggregators:
    """Read, and be looked at, and look for something to learn, at any times up to now."""
    held = list(events)
    for event, moment in zip(held, sorted(rng.uniform(0, now) for _ in held), strict=True):
        event(found)
        if rng.random() < 0.4:
            page(found, moment)
        if rng.random() < 0.2:
            found.baselines.learn(found.scores.training_slots, START + moment)
    return found
