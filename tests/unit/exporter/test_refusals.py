"""The commonest incidents of a RAG application are alarms, and quiet days are none."""

from __future__ import annotations

from collections import Counter

import pytest

from monitor.config import load
from tests.benchmarks.quiet_weeks import INCIDENTS, REFUSAL, Watched, emptied, incident, quiet

SETTINGS = {"export.segment": "tenant", "drift.learn_slots": 200, "drift.learn_for": "0s"}
#: All begin with the same traffic, one a 120 s, which is judged once.
SEED, PER_DAY = 1, 720
EVERY_S = 86_400 / PER_DAY


@pytest.mark.parametrize("name", INCIDENTS)
@pytest.mark.parametrize("learn_slots", [200, 1_000])
async def test_it_alarms_within_sixty_judged(name: str, learn_slots: int) -> None:
    """Refusals, passages without words in half of the answers and in all; by its own metric."""
    settings = load({}, flags={**SETTINGS, "drift.learn_slots": learn_slots})
    found = await incident(name, SEED, settings, EVERY_S)
    assert found.judged is not None
    assert found.judged <= 60
    assert found.said.startswith(f"{found.metric} of support-bot fell ")


async def test_the_sentence_says_how_bad_it_is() -> None:
    """Where nothing was ever empty, what came before the first empty one is not part of it."""
    settings = load({}, flags=SETTINGS)
    found = await incident("passages empty in 100 %", SEED, settings, EVERY_S)
    assert "fell 1.00 → about 0.1" in found.said


async def test_quiet_days_are_quiet() -> None:
    """1,440 judged of traffic as usual, with the shipped settings and five watched metrics.

    Weeks of it are a benchmark: ``tests/benchmarks/quiet_weeks.py``.
    """
    assert await quiet(SEED, days=2.0, per_day=PER_DAY) == Counter()


async def test_before_there_was_nothing_to_alarm_about() -> None:
    """The other metrics do not move: they leave out what refuses, or has no passages."""
    settings = load({}, flags=SETTINGS)
    watched = Watched(SEED, EVERY_S, settings)
    await watched.learned()
    opened = set[str]()
    for _ in range(100):
        record = await watched.pick(emptied(1.0))
        assert record.scores["retrieved"] == 0.0
        opened |= {alarm.metric for alarm in watched.look()}
    assert opened == {"retrieved"}
    assert REFUSAL not in record.claims.response
