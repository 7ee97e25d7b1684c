"""The circuit of a model, and how many judgements it bears: by the clock that they are given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.judge.limits.adaptive_window import AdaptiveConcurrency
from monitor.judge.limits.breaker import Breaker, BreakerSettings
from monitor.judge.provider.faults import Fault
from monitor.judge.provider.refusals import Action

BAD_KEY = Fault("auth", "status 401", Action.STOP)
AWAY = Fault("connection", "no connection", Action.RETRY)
ODD = Fault("rejected", "status 400", Action.FALLBACK)
BUSY = Fault("rate_limited", "status 429", Action.WAIT)
SETTINGS = BreakerSettings(stop_after=3, stop_probe_s=300.0, open_after=4, first_wait_s=1.0)


def struck(*faults: Fault, now: float = 0.0) -> Breaker:
    breaker = Breaker(SETTINGS)
    for fault in faults:
        breaker.failed(fault, now, now)
    return breaker


def test_one_refusal_alone_stops_nothing() -> None:
    """Three without a reply between do, and then a probe is due every five minutes."""
    breaker = struck(BAD_KEY, BAD_KEY)
    assert breaker.stopped is None
    breaker.worked(0.0)
    for now in (1.0, 2.0, 3.0):
        assert breaker.stopped is None
        breaker.failed(BAD_KEY, now, now)
    assert breaker.stopped == BAD_KEY
    assert not breaker.may_probe(302.9)
    assert breaker.may_probe(303.0)
    breaker.probing = True
    assert not breaker.may_probe(303.0), "one at a time"
    breaker.failed(BAD_KEY, 304.0, 304.0)
    breaker.probed(304.0)
    assert not breaker.may_probe(603.9)
    assert breaker.may_probe(604.0)


def test_a_reply_heals() -> None:
    """Whatever was wrong, a probe that is answered is the end of it."""
    for faults in ([BAD_KEY] * 3, [AWAY] * 4):
        breaker = struck(*faults)
        assert breaker.stopped or breaker.is_open
        breaker.worked(1.0)
        assert not breaker.stopped
        assert not breaker.is_open


@pytest.mark.parametrize("faults", [[BAD_KEY] * 3, [AWAY] * 4])
def test_a_reply_to_an_older_call_heals_nothing(faults: list[Fault]) -> None:
    """A key that was withdrawn is still good for what was under way; that says nothing of now."""
    breaker = struck(*faults, now=5.0)
    breaker.worked(4.9)
    breaker.failed(ODD, 4.9, 6.0)
    assert breaker.stopped or breaker.is_open
    breaker.worked(5.1)
    assert not breaker.stopped
    assert not breaker.is_open


def test_probes_of_an_absent_provider_come_ever_later() -> None:
    """After 1, 2, 4, 8, 16 and then every 30 seconds."""
    breaker, now, waits = struck(*[AWAY] * 4), 0.0, []
    for _ in range(8):
        waits.append(breaker.probe_at - now)
        now = breaker.probe_at
        assert breaker.may_probe(now)
        breaker.probing = True
        breaker.failed(AWAY, now, now)
        breaker.probed(now)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_later_absence_begins_with_short_waits_again() -> None:
    """An answer between two of them makes the second one a first one."""
    breaker = struck(*[AWAY] * 4)
    for now in (1.0, 3.0, 7.0):
        breaker.probed(now)
    breaker.worked(8.0)
    for _ in range(4):
        breaker.failed(AWAY, 99.0, 100.0)
    assert breaker.probe_at == 101.0


def test_calls_that_end_late_put_no_probe_off() -> None:
    """Those that were under way when the circuit opened fail one after the other."""
    breaker = struck(*[AWAY] * 4)
    breaker.failed(AWAY, 0.0, 0.9)
    assert breaker.probe_at == 1.0


def test_a_model_is_either_away_or_refuses() -> None:
    """Who was away and refuses now has stopped; who has stopped does not open the circuit too."""
    for faults in ([*[AWAY] * 4, *[BAD_KEY] * 3], [*[BAD_KEY] * 3, *[AWAY] * 4]):
        breaker = struck(*faults)
        assert breaker.stopped == BAD_KEY
        assert not breaker.is_open


def test_a_provider_that_never_answered_need_not_be_awaited() -> None:
    """Then it has refused, and nobody tries a call again; after any answer it is only away."""
    settings = replace(SETTINGS, awaits_first=False)
    never, before = Breaker(settings), Breaker(settings)
    before.worked(0.0)
    for _ in range(4):
        never.failed(AWAY, 0.0, 0.0)
        before.failed(AWAY, 0.0, 0.0)
    assert never.stopped == replace(AWAY, action=Action.STOP)
    assert not never.stopped.retriable
    assert not never.is_open
    assert before.stopped is None
    assert before.is_open


@pytest.mark.parametrize("answer", [ODD, BUSY])
def test_who_turns_away_one_request_is_there(answer: Fault) -> None:
    """Neither an odd interaction nor too many requests open the circuit."""
    assert not struck(AWAY, AWAY, AWAY, answer, AWAY).is_open
    assert not struck(*[answer] * 20).is_open


def test_the_window_opens_quickly_and_after_a_refusal_slowly() -> None:
    """By one with each reply; halved once a crowd; then by one in a round of replies."""
    window = AdaptiveConcurrency(first=4)
    for _ in range(12):
        window.worked(under_way=99, began=0.0)
    assert window.size == 16
    for began in (1.0, 1.5, 2.0):  # all made before the first refusal came in
        window.refused(began, now=3.0)
    assert window.size == 8
    for _ in range(8):
        window.worked(under_way=99, began=0.0)
    assert window.size == 8
    window.worked(under_way=99, began=0.0)
    assert window.size == 9
    window.refused(3.0, now=4.0)  # made when the crowd was turned away: not of it
    assert window.size == 4
    for now in range(10, 20):
        window.refused(now, now)
    assert window.size == 1


def test_what_is_not_used_does_not_grow() -> None:
    """A quiet hour is no proof that the provider bears a crowd."""
    window = AdaptiveConcurrency(first=4)
    for _ in range(100):
        window.worked(under_way=3, began=0.0)
    assert window.size == 4
    window.worked(under_way=4, began=0.0)
    assert window.size == 5


@pytest.mark.parametrize(("cuts", "quickly"), [(0, 40), (1, 16)])
def test_after_a_stop_the_window_is_small_and_soon_as_before(cuts: int, quickly: int) -> None:
    """Answers to older calls open nothing; after a refusal it is slow from where it was cut."""
    window = AdaptiveConcurrency(first=4)
    for _ in range(28):
        window.worked(under_way=99, began=0.0)
    for _ in range(cuts):
        window.refused(0.0, now=1.0)
    for now in (2.0, 3.0):  # twice in a row: what was borne is not forgotten
        window.begin_again(now)
        assert window.size == 4
    for _ in range(40):
        window.worked(under_way=99, began=2.9)
    assert window.size == 4
    for size in range(5, quickly + 1):
        window.worked(under_way=99, began=3.0)
        assert window.size == size
    window.worked(under_way=99, began=3.0)
    assert window.size == (quickly if cuts else quickly + 1)


def test_a_small_window_is_not_made_larger_by_a_stop() -> None:
    """Who bore one at a time bears one."""
    window = AdaptiveConcurrency(first=4)
    for now in range(1, 4):
        window.refused(now, now)
    window.begin_again(5.0)
    assert window.size == 1
