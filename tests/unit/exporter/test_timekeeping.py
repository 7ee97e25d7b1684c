"""A clock that leaps ahead is not believed alone; one that goes back is, and nothing stays lost."""

from __future__ import annotations

from structlog.testing import capture_logs

from monitor.exporter.timekeeping import LEAP_S, Timekeeper
from monitor.kafka.clock import TOLD_S, BrokerClock, steady_seconds
from tests.stages.folding import made, read
from tests.stages.page import page
from tests.stages.score_records import START, record

DAY, HOUR = 86_400.0, 3_600.0


class Clocks:
    """The time of the wall is ``off`` by so much; both go on together."""

    def __init__(self) -> None:
        self.passed, self.off = 0.0, 0.0
        self.brokers = BrokerClock(self.wall, lambda: self.passed)
        told = self.brokers.broker_time_for(self.brokers.own)
        self.keeper = Timekeeper(self.brokers.own, lambda: self.passed, told)

    def wall(self) -> float:
        """What the clock says."""
        return START + self.passed + self.off

    def told(self) -> None:
        """The brokers tell the true time."""
        self.brokers.observe(self.true, self.wall())

    @property
    def true(self) -> float:
        """What everybody else says."""
        return START + self.passed

    def after(self, seconds: float) -> float:
        """What is given so much later."""
        self.passed += seconds
        return self.keeper()


def test_a_leap_of_three_days_is_not_believed_while_records_say_otherwise() -> None:
    """Time goes on without it, for as long as it lasts, and it is said once."""
    clocks = Clocks()
    assert clocks.after(0.0) == clocks.true
    with capture_logs() as lines:
        clocks.off = 3 * DAY
        for _ in range(300):
            assert clocks.after(60.0) == clocks.true
            clocks.keeper.seen(clocks.true - 1.0)
        assert clocks.keeper.is_doubted
        assert clocks.keeper.ahead_s == 3 * DAY
        clocks.off = 0.0
        assert clocks.after(60.0) == clocks.true
    assert not clocks.keeper.is_doubted
    assert not clocks.keeper.has_gone_back
    assert [line["event"] for line in lines] == ["clock_not_believed", "clock_believed"]


def test_a_leap_is_believed_when_a_record_is_from_then() -> None:
    """A machine that was asleep over the weekend; those before it on the topic say nothing."""
    clocks = Clocks()
    clocks.after(0.0)
    clocks.off = 2 * DAY
    clocks.after(1.0)
    assert clocks.keeper.is_doubted
    clocks.keeper.seen(START + DAY)
    assert clocks.after(1.0) == clocks.true
    clocks.keeper.seen(START + 2 * DAY + 1.0)
    assert clocks.after(1.0) == clocks.true + 2 * DAY
    assert not clocks.keeper.is_doubted


def test_a_leap_is_believed_at_once_when_the_records_were_there_already() -> None:
    """A clock that was behind is set right."""
    clocks = Clocks()
    clocks.off = -3 * DAY
    clocks.after(0.0)
    clocks.keeper.seen(clocks.true)
    clocks.off = 0.0
    assert clocks.after(1.0) == clocks.true
    assert not clocks.keeper.is_doubted


def test_a_leap_that_nothing_speaks_against_for_an_hour_is_believed() -> None:
    """Nothing comes in, and gauges of last week are of no use to anybody."""
    clocks = Clocks()
    clocks.after(0.0)
    clocks.off = 2 * DAY
    assert clocks.after(1.0) == clocks.true
    assert clocks.after(LEAP_S - 1.0) == clocks.true
    assert clocks.after(2.0) == clocks.true + 2 * DAY


def test_a_clock_that_was_behind_and_is_set_right_is_believed_when_brokers_tell() -> None:
    """Whatever is on the topic: a record of then every 50 minutes had it doubted for ever."""
    clocks = Clocks()
    clocks.off = -3 * DAY
    clocks.after(0.0)
    clocks.off = 0.0
    clocks.after(1.0)
    clocks.told()
    for _ in range(5):
        clocks.keeper.seen(clocks.true - 3 * DAY)
        assert clocks.after(3_000.0) == clocks.true
        assert not clocks.keeper.is_doubted


def test_a_clock_that_brokers_say_is_behind_is_not_gone_by() -> None:
    """Theirs is, and it is said; records of its own time say nothing."""
    clocks = Clocks()
    clocks.off = -3 * DAY
    clocks.told()
    with capture_logs() as lines:
        assert clocks.after(1.0) == clocks.true
        clocks.keeper.seen(clocks.wall())
        assert clocks.after(1.0) == clocks.true
    assert (clocks.keeper.is_doubted, clocks.keeper.ahead_s) == (True, -3 * DAY)
    assert [(line["event"], line["ahead_s"]) for line in lines] == [
        ("clock_not_believed", -3 * DAY)
    ]


def test_many_steps_of_less_than_an_hour_are_doubted_when_brokers_tell() -> None:
    """72 of them are three days."""
    clocks = Clocks()
    for step in range(72):
        clocks.off += HOUR - 60.0
        clocks.told()
        found = clocks.after(60.0)
        assert abs(found - clocks.true) <= LEAP_S
        assert clocks.keeper.is_doubted == (step > 0)
    assert clocks.keeper.ahead_s == 72 * (HOUR - 60.0)


def test_a_leap_is_seen_by_what_brokers_told_before_it() -> None:
    """Their word goes on by seconds that nobody sets, for an hour; then time goes on from there."""
    clocks = Clocks()
    clocks.told()
    clocks.after(0.0)
    clocks.off = 3 * DAY
    assert clocks.after(1.0) == clocks.true
    assert clocks.keeper.is_doubted
    assert clocks.after(TOLD_S) == clocks.true
    assert clocks.brokers.broker_time() is None
    assert clocks.after(LEAP_S + 1.0) == clocks.true + 3 * DAY  # nobody speaks against it


def test_brokers_say_nothing_of_another_clock() -> None:
    """A demo's time is its own."""
    brokers = BrokerClock(lambda: START, lambda: 0.0)
    brokers.observe(START, START)
    assert brokers.broker_time_for(brokers.own)() == START
    assert brokers.broker_time_for(lambda: START)() is None


def test_steps_of_less_than_an_hour_are_followed() -> None:
    """As they always were: the horizon begins days ago."""
    clocks = Clocks()
    clocks.after(0.0)
    clocks.off = HOUR - 1.0
    assert clocks.after(1.0) == clocks.true + clocks.off
    assert not clocks.keeper.is_doubted


def test_a_clock_that_goes_back_by_more_than_a_minute_has_gone_back() -> None:
    """Until that was dealt with; by less it comes right by itself."""
    clocks = Clocks()
    clocks.off = 30.0
    clocks.after(0.0)
    clocks.off = 0.0
    clocks.after(1.0)
    assert not clocks.keeper.has_gone_back
    clocks.off = -DAY
    assert clocks.after(1.0) == clocks.true - DAY
    assert clocks.keeper.has_gone_back
    clocks.keeper.begin_anew()
    assert not clocks.keeper.has_gone_back


def test_seconds_that_nobody_sets_never_go_back() -> None:
    """They are those of the machine."""
    before = steady_seconds()
    assert steady_seconds() >= before


def test_a_aggregator_that_begins_anew_says_what_a_fresh_one_does() -> None:
    """The clock was two days ahead: all was dropped, and comes back when it is read again."""
    pool = [record(str(i), 100.0 + i, i / 20) for i in range(20)]
    found = read(pool, 130.0, made(period=86_400))
    whole = page(found, 130.0)
    found.scores.advance(START + 130.0 + 2 * DAY)
    late = [record(str(20 + i), 100.0 + i) for i in range(20)]
    read(late, 130.0, found)
    assert len(page(found, 130.0)[0]) < len(whole[0])  # what began this: nothing is taken in
    found.scores.begin_anew()
    assert found.scores.held == 0
    read([*pool, *late], 130.0, found)
    fresh = read([*pool, *late], 130.0, made(period=86_400))
    assert page(found, 130.0) == page(fresh, 130.0)
    assert found.scores.held == 40
