"""Work in turns: nothing is left out, and each turn gets on."""

from __future__ import annotations

from monitor.exporter.scores.steps import one_turn


def test_turns_take_all_in_their_order() -> None:
    """However short they are; the last one finds nothing."""
    left = iter(range(3))
    assert [list(one_turn(left, 0.0)) for _ in range(4)] == [[0], [1], [2], []]


def test_a_turn_with_time_takes_what_there_is() -> None:
    """All of it at once."""
    assert list(one_turn(iter("abc"), 60.0)) == ["a", "b", "c"]
