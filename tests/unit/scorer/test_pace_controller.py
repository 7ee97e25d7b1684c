"""What judgements take becomes a length of blocks, once a minute, and shows in gauges."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from prometheus_client import CollectorRegistry

from monitor.judge.limits.budget import Budget
from monitor.records import Outcome, Usage
from monitor.sampling.pace import HEADROOM, Pace, PaceBounds
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.picking import Member, Picker, PickSettings
from monitor.scorer.score_records import JudgingResult
from monitor.scorer.slots import PaceController, Slots
from monitor.telemetry import ScorerTelemetry
from tests.stages.records import JUDGE

BERLIN = ZoneInfo("Europe/Berlin")


class Bench:
    """A steering wheel and a clock."""

    def __init__(
        self,
        allowed: PaceBounds,
        usd_per_day: float | None = None,
        *,
        zone: tzinfo = UTC,
        share: float = 1.0,
        began: float = 0.0,
    ) -> None:
        self.now, self.registry = began, CollectorRegistry()
        budget = None if usd_per_day is None else Budget(usd_per_day, zone, lambda: self.now)
        self.budget = budget
        self.asked = 1.0
        self.pace = Pace(None, sheds=True, behind_s=600.0)
        slot_buffer: SlotBuffer[Member] = SlotBuffer(self.pace, lambda: self.now)
        self.pace_controller = PaceController(
            Slots(
                slot_buffer,
                Picker(PickSettings()),
                self.pace,
                allowed,
                budget,
                lambda: share,
                lambda: self.now,
                lambda: self.now,
                lambda: self.asked,
            ),
            ScorerTelemetry(self.registry),
        )

    @property
    def gone(self) -> float:
        """US dollars that are spent of the day's."""
        assert self.budget is not None
        return self.budget.spent()

    def minute(
        self, interactions: int, usage: Usage, seconds: float = 1.0, took_s: float = 60.0
    ) -> int:
        """One judgement for each block; how many. It may be over sooner."""
        picks = -(-interactions // self.pace.plan.length)
        for _ in range(picks):
            self.pace.picked(offsets=self.pace.plan.length)
            result = JudgingResult(Outcome.SCORED, None, JUDGE, usage, None, {}, {})
            self.pace_controller.judged(result, seconds)
            if self.budget is not None:
                self.budget.spend(usage.usd)
        self.now += took_s
        self.pace_controller.turn()
        return picks

    def shown(self, name: str) -> float | None:
        """A gauge."""
        return self.registry.get_sample_value(f"rag_monitor_{name}")


def test_requests_a_minute_are_used_and_not_exceeded() -> None:
    """Two calls a judgement and 60 requests for two replicas: 14 judgements a minute."""
    bench = Bench(PaceBounds(64, requests_per_minute=60), share=0.5)
    bench.pace_controller.turn()
    assert bench.shown("judgements_affordable") is None, "not known is not 0"
    picks = [bench.minute(1_000, Usage(calls=2)) for _ in range(30)]
    assert bench.shown("judgements_affordable") == HEADROOM * 15
    assert 0.85 * 15 <= sum(picks[10:]) / 20 <= 15
    assert bench.shown("sampling_block") == bench.pace.plan.length
    assert bench.shown("sampling_share") == 1


@pytest.mark.parametrize(
    ("day", "hours"), [((2026, 3, 29), 23), ((2026, 3, 30), 24), ((2026, 10, 25), 25)]
)
def test_the_days_money_lasts_until_midnight(day: tuple[int, int, int], hours: int) -> None:
    """Spread over the day: at noon half of it is gone, and at the end nearly all.

    Also of a day on which clocks change: in its last hour no more than in the one before.
    """
    began = datetime(*day, tzinfo=BERLIN).timestamp()
    bench = Bench(PaceBounds(64), 14.4, zone=BERLIN, began=began)
    bench.pace_controller.turn()
    gone = []
    for _ in range(hours * 60 - 1):
        bench.minute(500, Usage(calls=1, usd=0.001), seconds=0.1)
        gone.append(bench.gone)
    assert 0.4 * 14.4 <= gone[hours * 30] <= 0.6 * 14.4
    assert 0.85 * 14.4 <= gone[-1] <= 14.4
    assert gone[-1] - gone[-60] <= 1.2 * (gone[-60] - gone[-120])


def test_what_the_first_ten_seconds_have_cost_is_not_that_of_a_minute() -> None:
    """A tenth of a cent for each judgement, and one cent a minute: ten, and not sixty."""
    bench = Bench(PaceBounds(64), 14.4)
    bench.pace_controller.turn()
    bench.minute(100, Usage(calls=1, usd=0.001), seconds=0.1, took_s=10.0)
    shown = bench.shown("judgements_affordable")
    assert shown is not None
    assert 0.9 * HEADROOM * 10 <= shown <= HEADROOM * 10


def test_what_was_over_budget_has_cost_nothing() -> None:
    """Else the mean of what judgements cost would sink, and more be planned."""
    bench = Bench(PaceBounds(1, requests_per_minute=10))
    bench.pace_controller.turn()
    bench.minute(5, Usage(calls=2))
    refused = JudgingResult(Outcome.OVER_BUDGET, "usd_per_day", JUDGE, Usage(), None, {}, {})
    for _ in range(50):
        bench.pace_controller.judged(refused, 0.0)
    bench.now += 60
    bench.pace_controller.turn()
    assert bench.shown("judgements_affordable") == HEADROOM * 5


def test_a_burst_begins_and_ends_between_two_looks() -> None:
    """The gauge says what is taken, and not what was asked for."""
    bench = Bench(PaceBounds(64, requests_per_minute=600))
    bench.pace_controller.turn()
    for _ in range(20):
        bench.minute(19_200, Usage(calls=1))
    before = bench.pace.plan.length
    assert before > 1
    bench.asked, bench.now = 4.0, bench.now + 1
    bench.pace_controller.turn()
    assert bench.pace.plan.length == before, "the limits leave no room"
    assert bench.shown("burst") == 1
    free = Bench(PaceBounds(64), 14.4)
    free.pace_controller.turn()
    for _ in range(20):
        free.minute(500, Usage(calls=1, usd=0.001), seconds=0.1)
    before = free.pace.plan.length
    free.asked, free.now = 4.0, free.now + 1
    free.pace_controller.turn()
    assert (free.pace.plan.length, free.shown("burst")) == (before // 4, 4)
    assert free.shown("sampling_block") == before // 4
    free.asked, free.now = 1.0, free.now + 1
    free.pace_controller.turn()
    assert (free.pace.plan.length, free.shown("burst")) == (before, 1)


def test_who_is_behind_takes_no_part_in_a_burst() -> None:
    """It has enough to do."""
    bench = Bench(PaceBounds(64))
    bench.pace_controller.turn()
    bench.asked, bench.pace_controller.lag_s = 4.0, 601.0
    bench.pace_controller.turn()
    assert bench.shown("burst") == 1
    bench.pace_controller.lag_s = 0.0
    bench.pace_controller.turn()
    assert bench.shown("burst") == 4


def test_after_an_hours_burst_the_days_money_still_lasts_until_midnight() -> None:
    """What is left is spread over the rest of the day: a sixth less, neither nothing nor all."""
    bench = Bench(PaceBounds(64), 14.4)
    bench.pace_controller.turn()
    gone = []
    for minute in range(1_439):
        bench.asked = 4.0 if 240 <= minute < 300 else 1.0
        bench.minute(500, Usage(calls=1, usd=0.001), seconds=0.1)
        gone.append(bench.gone)
    usual, burst, after = (
        gone[239] / 240,
        (gone[299] - gone[239]) / 60,
        (gone[359] - gone[299]) / 60,
    )
    assert 3 * usual <= burst <= 4.4 * usual
    assert 0.6 * usual <= after <= 1.0 * usual
    assert 0.85 * 14.4 <= gone[-1] <= 14.4


def test_a_burst_before_midnight_leaves_some_of_the_money() -> None:
    """Its last hour has eight dollars; four times as many would take them in a quarter of it."""
    bench = Bench(PaceBounds(64), 14.4)
    bench.pace_controller.turn()
    for minute in range(1_439):
        bench.asked = 4.0 if minute >= 1_380 else 1.0
        before = bench.gone
        bench.minute(500, Usage(calls=1, usd=0.001), seconds=0.1)
        assert bench.gone > before
    assert 0.85 * 14.4 <= bench.gone <= 14.4
