"""What was decided outlasts a record that was made without knowing of it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.control.decisions import beside_decisions
from monitor.control.latest_records import LatestRecords
from monitor.control.state import WrittenAt
from monitor.exporter.baselines.commands import anew, with_means, with_the_rest
from monitor.exporter.scores.steps import at_once
from monitor.records.control import BaselineRecord, MetricBaseline, Origin
from tests.stages.daily_exporter import HOUR_S, METRICS, MORNING, PAIR, DailyExporter


def at(hours: float) -> float:
    """Epoch seconds, so many hours after midnight."""
    return MORNING + hours * HOUR_S


def made(origin: Origin, hours: float, **means: float) -> BaselineRecord:
    """A record of these metrics; without any it is a reset."""
    return BaselineRecord(
        application=PAIR[0],
        judge=PAIR[1],
        origin=origin,
        effective_from=datetime.fromtimestamp(at(hours), UTC),
        slots=100 if means else 0,
        metrics={name: MetricBaseline(mean=mean, se=0.01) for name, mean in means.items()},
    )


def means(record: BaselineRecord) -> dict[str, float]:
    """Of all its metrics."""
    return {name: one.mean for name, one in record.metrics.items()}


LEARNED = made("learned", 1, faithfulness=0.8, context_recall=0.7)
LATER = made("learned", 30, faithfulness=0.6, context_recall=0.5)
FROZEN = made("frozen", 2, faithfulness=0.75)


@pytest.mark.parametrize("before", [None, LEARNED, FROZEN, made("learned", 3)])
def test_what_is_set_outlasts_a_lesson_that_did_not_know_of_it(
    before: BaselineRecord | None,
) -> None:
    """And the rest of the lesson holds, where nothing else was decided."""
    by_hand = with_means(before, PAIR, {"faithfulness": 0.9}, at(4))
    held = beside_decisions(by_hand, LATER)
    assert held.metrics["faithfulness"] == by_hand.metrics["faithfulness"]
    if before is FROZEN:
        assert held == by_hand, "beside what is frozen nothing is learned"
    else:
        reset_at = before.effective_from if before is not None and not before.metrics else None
        assert held == LATER.model_copy(update={"metrics": held.metrics, "reset_at": reset_at})
        assert held.metrics["context_recall"].mean == 0.5


def test_two_means_at_a_time_both_hold() -> None:
    """Whichever stands first; of two of one metric that which was set later."""
    first = with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(4))
    second = with_means(LEARNED, PAIR, {"context_recall": 0.4}, at(4.001))
    for one, other in permutations((first, second)):
        held = beside_decisions(one, other)
        assert means(held) == {"faithfulness": 0.9, "context_recall": 0.4}
    again = with_means(LEARNED, PAIR, {"faithfulness": 0.2}, at(4.002))
    assert means(beside_decisions(first, again))["faithfulness"] == 0.2
    assert means(beside_decisions(again, first))["faithfulness"] == 0.2


def test_two_means_where_nothing_is_known_both_hold() -> None:
    """And the rest is learned, from after the reset if there was one."""
    for before in (None, made("learned", 3)):
        first = with_means(before, PAIR, {"faithfulness": 0.9}, at(4))
        second = with_means(before, PAIR, {"context_recall": 0.4}, at(5))
        held = beside_decisions(first, second)
        assert means(held) == {"faithfulness": 0.9, "context_recall": 0.4}
        assert held.leaves_others
        assert held.learned_after == first.learned_after
        # An exporter has learned between the reading of a command and its writing.
        lesson = LATER if before is None else beside_decisions(before, LATER)
        assert means(beside_decisions(lesson, first)) == {**means(LATER), "faithfulness": 0.9}
    # A lesson of before the reset, by somebody who has not read that.
    assert beside_decisions(LEARNED, first) is first


def test_a_reset_outlasts_a_lesson_of_before_it() -> None:
    """One of later slots is none of before it. What is set after the reset holds beside it."""
    reset = made("learned", 10)
    assert beside_decisions(reset, LEARNED) is reset
    later = LATER.model_copy(update={"reset_at": reset.effective_from})
    assert beside_decisions(reset, LATER) == later
    assert beside_decisions(later, LEARNED) is later
    unknowing = with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(11))
    held = beside_decisions(reset, unknowing)
    assert (means(held), held.learned_after) == ({"faithfulness": 0.9}, reset.effective_from)
    assert held.leaves_others
    another = beside_decisions(held, with_means(LEARNED, PAIR, {"context_recall": 0.4}, at(12)))
    assert means(another) == {"faithfulness": 0.9, "context_recall": 0.4}
    of_before = with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(9))
    assert beside_decisions(reset, of_before) is reset
    assert beside_decisions(of_before, reset) is reset


def test_a_lesson_of_before_another_one_comes_too_late() -> None:
    """As of an exporter that lags: what is set in it holds all the same."""
    assert beside_decisions(LATER, LEARNED) is LATER
    late = with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(31))
    assert means(beside_decisions(LATER, late)) == {"faithfulness": 0.9, "context_recall": 0.5}


def test_a_whole_lesson_takes_the_place_of_a_provisional_one_and_never_the_reverse() -> None:
    """Whichever ends later: late slots, or another setting, may end the whole one sooner."""
    provisional = LATER.model_copy(update={"provisional": True})
    assert beside_decisions(provisional, LEARNED) is LEARNED
    assert beside_decisions(LEARNED, provisional) is LEARNED


def test_of_two_clocks_the_later_decision_holds() -> None:
    """One is five minutes ahead: who reads what it has set, or its reset, decides after that."""
    ahead = with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(5))
    knowing = with_means(ahead, PAIR, {"faithfulness": 0.6}, at(5) - 300)
    assert beside_decisions(ahead, knowing) is knowing
    reset = made("learned", 5)
    knowing = with_means(reset, PAIR, {"faithfulness": 0.6}, at(5) - 300)
    assert means(beside_decisions(reset, knowing)) == {"faithfulness": 0.6}
    assert beside_decisions(reset, knowing) == knowing


def test_who_has_read_only_the_later_of_two_means_agrees() -> None:
    """The earlier record is gone from the topic: both write the same in the end."""
    one, other = (
        with_means(None, PAIR, {name: 0.9}, at(hours))
        for name, hours in zip(METRICS, (5, 4), strict=True)
    )
    for first, second in ((one, other), (other, one)):
        of_both = beside_decisions(first, second)
        assert beside_decisions(second, of_both) == of_both


def test_what_is_frozen_outlasts_a_lesson() -> None:
    """A mean that is set later goes beside it, one of before only where it froze nothing."""
    assert beside_decisions(FROZEN, LATER) is FROZEN
    unknowing = with_means(LEARNED, PAIR, {"context_recall": 0.9}, at(4))
    assert means(beside_decisions(FROZEN, unknowing)) == {
        "faithfulness": 0.75,
        "context_recall": 0.9,
    }
    before = with_means(LEARNED, PAIR, {"faithfulness": 0.9, "context_recall": 0.4}, at(0))
    frozen = beside_decisions(before, FROZEN)
    assert means(frozen) == {"faithfulness": 0.75, "context_recall": 0.4}
    assert beside_decisions(before, with_the_rest(FROZEN, before, at(2))) == with_the_rest(
        FROZEN, before, at(2)
    )


def test_two_means_beside_what_is_frozen_both_hold() -> None:
    """Whichever stands first, and also where both are of one that is frozen."""
    all_frozen = with_the_rest(made("frozen", 2, faithfulness=0.7, context_recall=0.6), None, at(3))
    sets = [with_means(all_frozen, PAIR, {name: 0.1}, at(4)) for name in METRICS]
    for one, other in permutations(sets):
        held = beside_decisions(beside_decisions(all_frozen, one), other)
        assert means(held) == {"faithfulness": 0.1, "context_recall": 0.1}
        assert held.origin == "frozen"


def test_what_is_set_while_somebody_freezes_holds_where_it_was_not_frozen() -> None:
    """And what is frozen holds, where it was set before."""
    unknowing = with_the_rest(FROZEN, LEARNED, at(6))
    assert unknowing.metrics["context_recall"].origin == "learned"
    for name, mean in (("context_recall", 0.1), ("faithfulness", 0.75)):
        by_hand = with_means(LEARNED, PAIR, {name: 0.1}, at(5))
        for one, other in permutations((by_hand, unknowing)):
            assert means(beside_decisions(one, other))[name] == mean


def test_a_late_lesson_brings_nothing_back() -> None:
    """Of an exporter that has read what was set, and not that all was frozen or begun anew then.

    Also where the clock was ahead by which it was set, and where something was set since.
    """
    for ahead_s in (0, 300, 3 * 24 * HOUR_S):
        by_hand = with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(5) + ahead_s)
        lesson = beside_decisions(
            by_hand, made("learned", 4.5, faithfulness=0.6, context_recall=0.5)
        )
        assert means(lesson)["faithfulness"] == 0.9
        frozen = with_the_rest(FROZEN, by_hand, at(5) + 60)
        assert means(beside_decisions(frozen, lesson))["faithfulness"] == 0.75
        reset = anew(by_hand, PAIR, at(5) + 60)
        assert beside_decisions(reset, lesson) is reset
        since = with_means(reset, PAIR, {"context_recall": 0.1}, at(5) + 120)
        held = beside_decisions(beside_decisions(reset, since), lesson)
        assert means(held) == {"context_recall": 0.1}
        again = made("learned", 8, faithfulness=0.5, context_recall=0.5)
        learned = beside_decisions(held, again)
        assert means(learned) == {"faithfulness": 0.5, "context_recall": 0.1}
        assert beside_decisions(learned, lesson) == learned


def test_who_knows_of_an_earlier_reset_only_does_not_know_of_a_later_one() -> None:
    """Though its slots are later by the clock of that one, which is behind."""
    first, later = anew(None, PAIR, at(1)), made("learned", 4)
    lesson = beside_decisions(first, made("learned", 4.5, faithfulness=0.8))
    assert lesson.reset_at == first.effective_from
    assert beside_decisions(later, lesson) is later
    by_hand = with_means(first, PAIR, {"faithfulness": 0.9}, at(5))
    held = beside_decisions(later, by_hand)
    assert (means(held), held.learned_after) == ({"faithfulness": 0.9}, later.effective_from)


def test_what_is_frozen_after_a_reset_holds_though_its_slots_are_earlier() -> None:
    """Few were scored since. What says nothing of the reset is of before it."""
    lesson = beside_decisions(anew(None, PAIR, at(3)), LATER)
    frozen = with_the_rest(FROZEN, lesson, at(31))
    assert beside_decisions(lesson, frozen) is frozen
    assert beside_decisions(lesson, FROZEN) is lesson


def test_a_freeze_and_a_reset_that_did_not_know_of_each_other() -> None:
    """In both orders, though what was frozen has slots of after the reset: the rest is learned."""
    reset, seconds = anew(LEARNED, PAIR, at(5)), 1 / HOUR_S
    slots = made("frozen", 5 + 10 * seconds, faithfulness=0.75)
    frozen = with_the_rest(slots, LEARNED, at(5 + 11 * seconds))
    set_since = with_means(frozen, PAIR, {"faithfulness": 0.4}, at(6))
    for decided, mean in ((frozen, 0.75), (set_since, 0.4)):
        for one, other in permutations((reset, decided)):
            held = beside_decisions(beside_decisions(LEARNED, one), other)
            assert means(held) == {"faithfulness": mean}, "what was learned before is not back"
            assert held.leaves_others
            after = beside_decisions(held, LATER)
            assert means(after) == {"faithfulness": mean, "context_recall": 0.5}
            assert beside_decisions(after, decided) == after, "nor in the place of what is learned"


def test_of_an_earlier_version_the_last_slot_says_when_it_was_frozen() -> None:
    """It does not say that itself: what was set after that slot holds, and exporters write that."""
    by_hand = with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(4))
    earlier = made("frozen", 3.9, faithfulness=0.75, context_recall=0.6)
    held = beside_decisions(by_hand, earlier)
    assert means(held) == {"faithfulness": 0.9, "context_recall": 0.6}
    assert beside_decisions(earlier, held) == held
    later = made("frozen", 4.1, faithfulness=0.75, context_recall=0.6)
    assert beside_decisions(by_hand, later) is later
    reset = anew(LEARNED, PAIR, at(4))
    assert beside_decisions(reset, earlier) is reset
    assert means(beside_decisions(reset, later)) == means(later)


def test_what_was_set_without_knowing_of_a_metric_does_not_end_it() -> None:
    """Nor does the same record once more, which is written beside an exporter's own."""
    known = with_the_rest(FROZEN, LEARNED, at(4))
    unaware = with_means(FROZEN, PAIR, {"faithfulness": 0.3}, at(5))
    held = beside_decisions(known, unaware)
    assert means(held) == {"faithfulness": 0.3, "context_recall": 0.7}
    assert beside_decisions(held, unaware) == held


def test_an_earlier_freeze_that_did_not_know_of_a_metric_does_not_end_it() -> None:
    """Though it is later than the slots of one whose metrics were all set since."""
    earlier = with_the_rest(FROZEN, None, at(3))
    known = with_the_rest(FROZEN, LEARNED, at(4))
    held = beside_decisions(known, with_means(known, PAIR, {"faithfulness": 0.3}, at(5)))
    assert means(held) == {"faithfulness": 0.3, "context_recall": 0.7}
    for one, other in permutations((held, earlier)):
        assert means(beside_decisions(one, other)) == means(held)


def test_what_was_refined_since_holds_though_more_was_set_in_it() -> None:
    """A record says no less of what was learned because less of it is undecided."""
    by_hand = with_means(LEARNED, PAIR, {"faithfulness": 0.3}, at(5))
    recall = by_hand.metrics["context_recall"].model_copy(update={"se": 0.02})
    refined = by_hand.model_copy(update={"metrics": {**by_hand.metrics, "context_recall": recall}})
    assert beside_decisions(LEARNED, refined) is refined


def test_a_clock_that_is_days_ahead_keeps_nothing_from_being_decided() -> None:
    """What is set later holds at once, and against the slots of now."""
    wrong = with_means(LEARNED, PAIR, {"faithfulness": 0.1}, at(4 + 3 * 24))
    right = with_means(wrong, PAIR, {"faithfulness": 0.9}, at(4))
    assert beside_decisions(wrong, right) is right
    assert beside_decisions(right, wrong) == right
    assert right.metrics["faithfulness"].effective_from == datetime.fromtimestamp(at(4), UTC)
    assert means(with_the_rest(FROZEN, wrong, at(5)))["faithfulness"] == 0.75
    held = beside_decisions(right, with_the_rest(FROZEN, right, at(5)))
    assert means(held)["faithfulness"] == 0.75
    assert beside_decisions(held, anew(held, PAIR, at(6))).metrics == {}


def test_who_only_reads_goes_by_the_same_rule() -> None:
    """As audits do: they show what holds, also before an exporter has written it again."""
    latest = LatestRecords(BaselineRecord, beside_decisions)
    for record in (with_means(LEARNED, PAIR, {"faithfulness": 0.9}, at(4)), LATER):
        latest.apply(record, WrittenAt())
    held = latest.of(LATER.key)
    assert held is not None
    assert means(held) == {"faithfulness": 0.9, "context_recall": 0.5}


def test_of_a_record_that_was_set_as_a_whole_nothing_is_learned() -> None:
    """As earlier versions wrote it."""
    earlier = made("set", 1, faithfulness=0.9)
    assert beside_decisions(earlier, LATER) is earlier


RECORDS = st.sampled_from(
    [
        LEARNED,
        LATER,
        FROZEN,
        made("learned", 3),
        made("learned", 40),
        with_the_rest(FROZEN, None, at(3)),
        with_the_rest(FROZEN, LEARNED, at(4)),
        anew(with_means(LEARNED, PAIR, {"faithfulness": 0.3}, at(60)), PAIR, at(4)),
        *(
            with_means(before, PAIR, {name: 0.3}, at(hours))
            for before in (None, LEARNED, FROZEN, LATER, made("learned", 3))
            for name in METRICS
            for hours in (2.5, 5)
        ),
    ]
)


@given(st.lists(RECORDS, max_size=6), RECORDS)
def test_what_holds_is_written_once_and_no_more(
    past: list[BaselineRecord], last: BaselineRecord
) -> None:
    """What holds stands after what stands on the topic, or after itself, as it is."""
    before = None
    for record in past:
        before = beside_decisions(before, record)
    held = beside_decisions(before, last)
    assert beside_decisions(held, held) == held
    assert beside_decisions(before, held) == held
    assert beside_decisions(held, last) == held


def test_an_exporter_writes_again_what_was_written_over() -> None:
    """Once, and another one the same; one that reads the topic later has it, too."""
    exporter = DailyExporter().play(range(1), lambda _day, _hour: 0.2, rare=1, hours=range(22))
    now = MORNING + 22 * HOUR_S
    lesson = exporter.baseline
    by_hand = with_means(lesson, PAIR, {"faithfulness": 0.9}, now)
    late = DailyExporter().play(range(1), lambda _day, _hour: 0.2, rare=1, hours=range(22))
    for each in (exporter, late):
        each.published.clear()
        for record in (by_hand, lesson):
            at_once(each.baselines.held_in_steps(record, lambda: now))
        assert each.metric().mean == 0.9
        each.look(now)
        each.look(now + 60)
        assert [one.to_json() for one in each.published] == [by_hand.to_json()]
        assert each.metric().mean == 0.9
