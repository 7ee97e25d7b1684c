"""What ``baseline`` says of a decision: what it was, and what the rest waits for."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from monitor.cli.baseline_lines import described, doubts_of_frozen, lacks, without_line
from monitor.exporter.baselines.commands import with_means
from monitor.exporter.baselines.unlearned import without_baseline
from monitor.records.control import BaselineRecord, MetricBaseline
from tests.stages.daily_exporter import METRICS, MORNING, PAIR, DailyExporter

RARE = "context_recall"


def steady(_day: int, _hour: int) -> float:
    """Nothing changes."""
    return 0.2


def learned(days: int) -> BaselineRecord:
    """Of an exporter with a metric that has too few values for a baseline."""
    return DailyExporter().play(range(days), steady, rare=24, hours=range(20)).baseline


@pytest.mark.parametrize(("days", "how"), [(1, "provisional"), (3, "learned")])
def test_what_is_still_learned_is_not_to_be_set(days: int, how: str) -> None:
    """Who is told to set or freeze it, and does, ends its learning."""
    record = with_means(learned(days), PAIR, {"faithfulness": 0.9}, MORNING)
    assert (record.provisional, record.leaves_others) == (how == "provisional", False)
    left = f"no baseline, and so no alarm: {RARE}; "
    assert lacks(record, METRICS) == left + "they are learned"
    frozen = record.model_copy(update={"origin": "frozen", "provisional": False})
    assert lacks(frozen, METRICS) == left + "set or freeze them, too"
    assert lacks(record, ["faithfulness"]) is None


@pytest.mark.parametrize(("days", "how"), [(1, "provisional from 100 slots"), (3, "learned from")])
def test_what_was_set_was_not_learned(days: int, how: str) -> None:
    """The slots and the word are those of the other metrics, where there are any."""
    before = learned(days)
    alone = with_means(before, PAIR, {"faithfulness": 0.9}, MORNING)
    assert described(alone) == "bot  offline@1  set: faithfulness 0.9000"
    beside = with_means(before, PAIR, {RARE: 0.7}, MORNING)
    assert described(beside).startswith(f"bot  offline@1  {how}")
    assert f"{RARE} 0.7000 (set)" in described(beside)


def test_while_provisional_it_waits_for_the_day() -> None:
    """Slots are full already."""
    exporter = DailyExporter().play(range(1), steady, rare=24, hours=range(20))
    rows = without_baseline(exporter.baselines, exporter.scores.watched(), math.inf)[PAIR]
    assert without_line(RARE, rows[RARE]).endswith(
        "it takes 60, when 24 h are full and no alarm is open"
    )
    early = DailyExporter().play(range(1), steady, rare=24, hours=range(6))
    rows = without_baseline(early.baselines, early.scores.watched(), math.inf)[PAIR]
    assert without_line(RARE, rows[RARE]).endswith("when a week or 100 slots are full")


def test_what_is_frozen_too_soon_or_too_short_is_said() -> None:
    """In words, to who has frozen it; a steady day is no doubt."""
    begin, end = (datetime.fromtimestamp(MORNING + at, UTC) for at in (0, 98 * 60))
    found = MetricBaseline(
        mean=0.8, halves_z=-4.0, frozen_from=begin, frozen_until=end, provisional=True
    )
    metrics = {"faithfulness": found}
    of_minutes = BaselineRecord(
        application="bot",
        judge="offline@1",
        origin="frozen",
        effective_from=datetime.fromtimestamp(MORNING, UTC),
        slots=1_000,
        metrics=metrics,
    )
    short, mixed = doubts_of_frozen(of_minutes)
    assert "from 1000 scored slots of 98 min, which knows no other hours: it tole" in short
    assert "UNSTEADY, so between what was and what is: faithfulness; where that has" in mixed
    whole = found.model_copy(update={"halves_z": None, "provisional": False})
    assert (
        doubts_of_frozen(of_minutes.model_copy(update={"metrics": {"faithfulness": whole}})) == []
    )
