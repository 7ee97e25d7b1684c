"""When the circuit opens, how it probes, and when it closes; minorities never open it."""

from __future__ import annotations

from random import Random

import pytest

from monitor.ingest.dead_letters.circuit_breaker import Circuit, CircuitLimits

LIMITS = CircuitLimits(share=0.9, least=50, window_s=60, probe=10, wait_s=1, longest_wait_s=8)


def opened(limits: CircuitLimits = LIMITS) -> Circuit:
    """A circuit that has just opened, at time 0."""
    circuit = Circuit(limits, 0.0)
    for _ in range(limits.least):
        circuit.failed("invalid_json")
    assert circuit.is_open
    return circuit


def test_it_opens_at_the_share_and_not_before_enough_were_seen() -> None:
    """45 failures of 50 are 90 %; 49 of 49 are too few to tell."""
    circuit = Circuit(LIMITS, 0.0)
    for _ in range(5):
        circuit.fine()
    for i in range(45):
        assert not circuit.is_open, i
        circuit.failed("invalid_json")
    assert circuit.is_open
    assert circuit.counts == (45, 50)


def test_just_below_the_share_it_stays_closed() -> None:
    """Six fine ones among 54 failures hold it: 89.999… of 100 is not 90."""
    circuit = Circuit(LIMITS, 0.0)
    for _ in range(6):
        circuit.fine()
    for _ in range(53):
        circuit.failed("invalid_json")
    assert not circuit.is_open
    circuit.failed("invalid_json")
    assert circuit.is_open


def test_it_names_the_most_frequent_cause() -> None:
    """That is what a person looks for first."""
    circuit = Circuit(LIMITS, 0.0)
    for i in range(50):
        circuit.failed("missing_field" if i % 3 else "invalid_json")
    assert circuit.cause == "missing_field"


@pytest.mark.parametrize("share", [0.3, 0.75])
def test_a_poisonous_share_of_a_mixture_never_opens_the_default_circuit(share: float) -> None:
    """Three of four records may be bad, in any order of a hundred shuffles."""
    for seed in range(100):
        rng, circuit = Random(seed), Circuit(CircuitLimits(), 0.0)
        for i in range(2_000):
            circuit.roll(i / 100)
            if rng.random() < share:
                circuit.failed("invalid_json")
            else:
                circuit.fine()
            assert not circuit.is_open, (seed, i)


def test_a_burst_within_good_traffic_does_not_open_it() -> None:
    """300 bad ones in a row, after a minute with 1,000 good ones, are a minority."""
    circuit = Circuit(CircuitLimits(), 0.0)
    for i in range(1_000):
        circuit.roll(i * 0.05)
        circuit.fine()
    for _ in range(300):
        circuit.failed("invalid_json")
    assert not circuit.is_open


def test_what_has_left_the_window_counts_no_more() -> None:
    """Good records of yesterday do not hide that everything fails today."""
    circuit = Circuit(LIMITS, 0.0)
    for _ in range(10_000):
        circuit.fine()
    circuit.roll(61.0)
    circuit.roll(67.0)
    for _ in range(50):
        circuit.failed("invalid_json")
    assert circuit.is_open


def test_a_share_of_zero_switches_it_off() -> None:
    """Then every record is taken, whatever becomes of it."""
    circuit = Circuit(LIMITS._replace(share=0.0), 0.0)
    for _ in range(10_000):
        circuit.failed("invalid_json")
    assert not circuit.is_open
    assert circuit.room is None


def test_probes_are_few_and_their_waits_grow_up_to_a_bound() -> None:
    """Ten records after 1, 2, 4, 8, 8 … seconds: an all-bad topic is done at a bounded rate."""
    circuit, now, waits = opened(), 0.0, []
    for _ in range(6):
        assert circuit.room == 0
        waits.append(circuit.wait_s)
        circuit.roll(now + 0.99 * circuit.wait_s)
        assert circuit.room == 0
        now += circuit.wait_s
        circuit.roll(now)
        for left in range(10, 0, -1):
            assert circuit.room == left
            circuit.failed("invalid_json")
    assert waits == [1, 2, 4, 8, 8, 8]


def test_results_of_records_under_way_do_not_lengthen_the_waits() -> None:
    """What was taken before it opened ends afterwards; that is no probe."""
    circuit = opened()
    for _ in range(500):
        circuit.failed("invalid_json")
    assert circuit.wait_s == LIMITS.wait_s


def test_fine_records_in_a_probe_close_it() -> None:
    """As soon as the probe can no longer reach the share: two of ten are fine."""
    circuit = opened()
    circuit.roll(1.0)
    circuit.failed("invalid_json")
    circuit.fine()
    assert circuit.is_open
    circuit.fine()
    assert not circuit.is_open
    assert circuit.room is None


def test_an_unfinished_probe_goes_on() -> None:
    """A quiet topic gives a probe one record now and one in an hour: it waits for nothing else."""
    circuit = opened()
    circuit.roll(1.0)
    circuit.failed("invalid_json")
    circuit.roll(3_600.0)
    assert circuit.room == 9


def test_opening_again_soon_goes_on_with_longer_waits() -> None:
    """A bug past the decoding lets each probe begin well; that must not cost 50 letters a second.

    Records that could be decoded and fail later count as failed, not as both.
    """
    circuit, now = opened(), 0.0
    waits: list[float] = []
    for _ in range(4):
        now += circuit.wait_s
        circuit.roll(now)
        circuit.fine()
        circuit.fine()
        assert not circuit.is_open
        for _ in range(50):
            circuit.fine()
            circuit.failed("internal_error", was_fine=True)
        assert circuit.is_open
        waits.append(circuit.wait_s)
    assert waits == [2, 4, 8, 8]


def test_records_dropped_by_their_id_do_not_hide_that_all_others_fail() -> None:
    """Of 10,000 one in a hundred is decoded, and each of those fails: that is everything."""
    circuit = Circuit(LIMITS, 0.0)
    for i in range(50):
        assert not circuit.is_open, i
        circuit.glimpsed(99)
        circuit.failed("missing_field")
    assert circuit.is_open
    assert circuit.counts == (50, 50)


def test_a_minority_without_readable_ids_never_opens_it_however_few_are_decoded() -> None:
    """All of the 5 % are tried, and one in a hundred of the others: they outnumber those."""
    circuit = Circuit(LIMITS, 0.0)
    for i in range(1_000):
        circuit.glimpsed(94)
        if i % 2:
            circuit.fine()
        for _ in range(5):
            circuit.failed("invalid_json", unread=True)
        assert not circuit.is_open, i


def test_a_topic_without_readable_ids_opens_it_before_one_record_is_decoded() -> None:
    """Nothing else is known then; and readable ids close it."""
    circuit = Circuit(LIMITS, 0.0)
    for _ in range(50):
        circuit.failed("invalid_json", unread=True)
    assert circuit.is_open
    circuit.roll(1.0)
    circuit.failed("invalid_json", unread=True)
    circuit.glimpsed(50)
    assert not circuit.is_open


def test_readable_ids_close_nothing_where_records_fail_later() -> None:
    """Only decoded ones do; also where a minority without ids is among them."""
    circuit = Circuit(LIMITS, 0.0)
    for _ in range(50):
        circuit.glimpsed(9)
        circuit.failed("missing_field")
    circuit.roll(1.0)
    circuit.glimpsed(1_000)
    for _ in range(10):
        circuit.failed("missing_field")
    assert circuit.is_open
    assert circuit.wait_s == 2
    circuit.roll(3.0)
    circuit.glimpsed(1_000)
    for _ in range(5):
        circuit.failed("invalid_json", unread=True)
    assert circuit.is_open
    circuit.fine()
    assert not circuit.is_open
