"""What a broker says of its time, and what is not believed."""

from __future__ import annotations

from monitor.kafka.clock import BrokerClock

NOW = 1_795_365_546.0


def test_an_answer_that_cannot_be_a_time_is_not_heard() -> None:
    """librdkafka's mock cluster answers 1,234 ms to each write: no clock is that far behind."""
    clock = BrokerClock(lambda: NOW)
    clock.observe(1.234, NOW)
    assert clock.offset_s is None
    assert clock.now() == NOW
    assert not clock.is_off(300.0)


def test_an_answer_is_compared_with_the_middle_of_its_exchange() -> None:
    """Sent 2 s ago: the broker spoke a second ago, two hours behind this clock."""
    clock = BrokerClock(lambda: NOW)
    clock.observe(NOW - 1 - 7_200, NOW - 2)
    assert clock.offset_s == -7_200
    assert clock.is_off(300.0)


def test_an_answer_that_took_long_says_nothing() -> None:
    """Nobody knows when within it the broker has spoken."""
    clock = BrokerClock(lambda: NOW)
    clock.observe(NOW - 7_200, NOW - 60)
    assert clock.offset_s is None


def test_a_refusal_replaces_what_was_measured_long_ago() -> None:
    """The clock was right, then it was set ahead: a refusal is news, unless it has just been."""
    now = [NOW]
    clock = BrokerClock(lambda: now[0])
    clock.observe(NOW, NOW)
    now[0] += 30
    clock.refused()
    assert clock.offset_s == 0.0
    now[0] += 7_200
    clock.refused()
    assert clock.offset_s == -3_600.0
    assert "at least" in clock.in_words
    clock.observe(NOW + 30, now[0])
    assert clock.offset_s == -7_200.0
