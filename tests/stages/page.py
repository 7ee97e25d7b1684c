"""A page made of score records and control records."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest

from monitor.app.scores import Aggregators
from monitor.exporter.alarms.transitions import transitions
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.objectives import Objective, ObjectiveState, objective_states
from monitor.records import ScoreRecord
from monitor.records.alarm import AlarmRecord
from tests.stages.score_records import START

PROMISED = [Objective("faithfulness", "40s", bound=0.9, minimum_samples=2)]


def page(found: Aggregators, now: float) -> list[bytes]:
    """Everything that is said at a time: gauges, objectives, and the alarms that would open."""
    gauges = generate_latest(_gauges(found, now))
    kept, opened = _beside(found, now)
    return [gauges, *(repr(one).encode() for one in kept), *(one.to_json() for one in opened)]


def look(found: Aggregators, now: float) -> None:
    """Ask for all that stands on a page; nobody writes it down, which takes as long again."""
    for _ in _gauges(found, now).collect():
        pass
    kept, _ = _beside(found, now)
    for _ in kept:
        pass


def _gauges(found: Aggregators, now: float) -> CollectorRegistry:
    registry, clock = CollectorRegistry(), START + now
    registry.register(QualityCollector(found.scores, lambda: clock, lambda: True))
    return registry


def _beside(
    found: Aggregators, now: float
) -> tuple[Iterator[ObjectiveState], Sequence[AlarmRecord]]:
    """Objectives and alarms."""
    clock = START + now
    kept = objective_states(found.scores.estimates(), lambda _application: PROMISED)
    states = found.drift.states(clock)
    releases = found.scores.releases_of
    history = found.drift.history
    return kept, transitions({}, states, history, clock, "tenant", rollouts=releases)


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
            look(found, moment)
        if rng.random() < 0.2:
            found.baselines.learn(found.scores.training_slots, START + moment)
    return found
