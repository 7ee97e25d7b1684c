"""Alarms open and close once: a function of the records, the last alarms and the clock."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.exporter.alarms import explanation
from monitor.exporter.alarms.explanation import Compared, Story, at_the_alarm, story
from monitor.exporter.alarms.transitions import carry_over, transitions
from monitor.exporter.alarms.worst import with_claims
from monitor.exporter.messages.explained import explained
from monitor.exporter.messages.headline import details
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detector import Counted
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.records import Claims, Outcome, ScoreRecord, Verdicts
from monitor.records.alarm import MOST_CLAIMS, AlarmRecord, ReleaseNearby, read_alarm_record
from monitor.records.durations import in_words
from monitor.stats.baseline import Baseline
from monitor.stats.changed_mean import changed_mean
from monitor.stats.drift import directed, uniform
from monitor.stats.estimate import Estimate
from tests.stages.incident import (
    INCIDENT,
    KEY,
    NORMAL,
    OVER,
    PERIOD,
    SETTINGS,
    aggregator,
    candidates,
    detectors,
    fine,
    scored,
    usual,
    worse,
)
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, SECOND, START, WINDOWS, at, pools
from tests.stages.score_records import PERIOD as RECORDS_PERIOD

Last = dict[str, AlarmRecord]


def failed(number: int) -> ScoreRecord:
    """A pick whose judgement failed."""
    return scored(number, 1.0, scores={}, outcome=Outcome.JUDGE_FAILED)


def look(drift: DriftDetectors, last: Last, seconds: float) -> list[AlarmRecord]:
    """One look; what comes back is published: it is the last from now on."""
    now = START + seconds
    found = transitions(last, drift.states(now), drift.history, now, "tenant")
    last.update({one.key: one for one in found})
    for one in found:
        read = read_alarm_record(one.key.encode(), one.to_json())
        assert read == one
        carry_over(read, drift)
    return found


def test_an_alarm_opens_once_with_its_explanation() -> None:
    """Quiet before; then one record, and none at the next look."""
    drift, last = aggregator(INCIDENT), Last()
    assert look(drift, last, 200.0) == []
    (opened,) = look(drift, last, 302.0)
    assert look(drift, last, 303.0) == []
    assert (opened.state, opened.key, opened.opened_at) == ("open", KEY, at(302))
    assert 195 <= (opened.since - at(0)).total_seconds() <= 230
    assert [one.segment for one in opened.segments] == ["bolt", "acme"]
    assert opened.stands_out is not None
    assert opened.change.before == pytest.approx(0.9, abs=0.01)
    assert opened.change.value is not None
    assert opened.change.value < 0.8
    assert opened.change.within < 0 < (opened.evidence or 0.0)
    assert opened.answer.startswith("faithfulness of bot fell 0.89 → about 0.7")
    assert opened.answer.endswith("; tenant=bolt 0.79 → 0.51, the others 1.00 → 1.00")
    assert opened.judge_failures.verdict == "normal"


def released(records: Iterable[ScoreRecord], at_s: float) -> list[ScoreRecord]:
    """From a second on they come from another version of the prompt."""
    first = at(at_s)
    return [
        each.model_copy(
            update={"attributes": {"prompt_version": "v13" if each.event_time >= first else "v12"}}
        )
        for each in records
    ]


def tried_out(records: Iterable[ScoreRecord], begin_s: float, end_s: float) -> list[ScoreRecord]:
    """Between two seconds every second one comes from another version, and then none."""
    return [
        each.model_copy(update={"attributes": {"prompt_version": "v13" if is_new else "v12"}})
        for n, each in enumerate(records)
        for is_new in [n % 2 == 0 and at(begin_s) <= each.event_time < at(end_s)]
    ]


def opened_after(release_s: float, records: Sequence[ScoreRecord] = INCIDENT) -> list[AlarmRecord]:
    """What opens at the end of the incident, when there was a release at that second."""
    return opened_by(released(records, release_s))


def opened_by(records: Sequence[ScoreRecord]) -> list[AlarmRecord]:
    """What opens at the end of an incident."""
    drift = DriftDetectors(SETTINGS)
    drift.set_normal("bot", FIRST.label, NORMAL)
    scores = ScoreAggregator(WINDOWS, PERIOD, drift=drift)
    for each in records:
        scores.add(each, each.to_json())
    now = START + 302.0
    scores.advance(now)
    states = drift.states(now)
    return transitions({}, states, drift.history, now, "tenant", rollouts=scores.releases_of)


def test_an_alarm_names_the_release_before_it() -> None:
    """How long before the start of the change: on the record, in its sentence and message."""
    (opened,) = opened_after(60.0)
    (release,) = opened.releases
    assert release == ReleaseNearby(
        attribute="prompt_version", before="v12", value="v13", at=at(60)
    )
    after = in_words((opened.since - at(60)).total_seconds())
    assert f", {after} after prompt_version v12 → v13; judge failures" in opened.answer
    assert details(opened).startswith(f"{after} after prompt_version v12 → v13; judge failures")
    marks = explained(opened, at(302)).marks
    assert marks[0].what == "prompt_version v12 → v13"
    read = read_alarm_record(opened.key.encode(), opened.to_json())
    assert read == opened


def test_an_alarm_names_the_end_of_a_rollout_too() -> None:
    """A version that was tried out for a minute, and is gone again."""
    (opened,) = opened_by(tried_out(INCIDENT, 60.0, 120.0))
    end, begin = opened.releases
    assert (begin.change, end.change) == ("began", "rolled_back")
    assert end.at == at(120)
    assert " after prompt_version v13 rolled back (v12 again), " in opened.answer
    assert " after prompt_version v12 → v13; " in opened.answer
    assert read_alarm_record(opened.key.encode(), opened.to_json()) == opened


def test_which_of_two_was_first_is_not_said_where_nobody_knows() -> None:
    """The start is estimated, and the release is known to the minute."""
    (opened,) = opened_after(180.0)
    assert ", at about the time of prompt_version v12 → v13; " in opened.answer


def test_a_release_alone_opens_nothing() -> None:
    """And an alarm without one says nothing of releases, also on the topic."""
    assert opened_after(60.0, usual(0, 300)) == []
    (opened,) = opened_after(0.0)
    assert opened.releases == ()
    assert b"releases" not in opened.to_json()


def test_a_restart_repeats_nothing() -> None:
    """Another process with the same records and what it reads on the topic publishes nothing."""
    last = Last()
    (opened,) = look(aggregator(INCIDENT), last, 302.0)
    read = read_alarm_record(opened.key.encode(), opened.to_json())
    assert read is not None
    assert look(aggregator(INCIDENT), {read.key: read}, 302.0) == []


def test_an_alarm_closes_once() -> None:
    """With its explanation still on it, and when it was over."""
    drift, last = aggregator(OVER), Last()
    (opened,) = look(drift, last, 302.0)
    (closed,) = look(drift, last, 490.0)
    assert look(drift, last, 500.0) == []
    assert (closed.state, closed.closed_at, closed.closed_because) == (
        "closed", at(490), "recovered",
    )  # fmt: skip
    assert (closed.since, closed.opened_at, closed.change, closed.worst) == (
        opened.since, opened.opened_at, opened.change, opened.worst,
    )  # fmt: skip
    assert closed.evidence_until == at(488)
    assert closed.recovered is not None
    assert closed.recovered.value == 1.0
    assert 180 <= closed.recovered.n <= 200
    assert closed.answer.startswith("recovered at 12:08 UTC, back at 1.00 (")


def test_a_second_incident_is_another_alarm() -> None:
    """It has a start of its own, and what was worse then is no example of what is normal."""
    drift = aggregator([*OVER, *usual(500, 100), *worse(600, 150)])
    last = Last()
    for seconds in (302.0, 490.0):
        look(drift, last, seconds)
    (again,) = look(drift, last, 752.0)
    assert 590 <= (again.since - at(0)).total_seconds() <= 640
    assert again.change.before > 0.88


def level(first: int, count: int) -> list[ScoreRecord]:
    """As bad as the baseline allows: evidence neither rises nor falls much."""
    return [scored(i, 0.88 if i % 2 else 0.89) for i in range(first, first + count)]


def test_an_alarm_outlives_the_period_that_it_opened_in() -> None:
    """What it began with is older than the evidence counts: nothing has recovered by that."""
    last = Last()
    slots = [*INCIDENT, *level(300, 1_000), *level(4_000, 1_000), *level(8_000, 1_000)]
    drift = aggregator(slots)
    (opened,) = look(drift, last, 302.0)
    assert opened.carried == ()
    (second,) = look(drift, last, PERIOD + 10.0)
    assert [one.at for one in second.carried] == [at(PERIOD)]
    assert look(drift, last, PERIOD + 20.0) == []
    assert (second.state, second.answer, second.opened_at) == (
        "open", opened.answer, opened.opened_at,
    )  # fmt: skip
    (third,) = look(drift, last, 2 * PERIOD + 10.0)
    assert [one.at for one in third.carried] == [at(PERIOD), at(2 * PERIOD)]
    assert look(drift, last, 2 * PERIOD + 2_000.0) == []
    before = next(drift.states(START + 2 * PERIOD + 2_000.0)).evidence
    # A restart knows what it reads again: slots of now, and what was carried.
    fresh = aggregator([one for one in slots if one.event_time >= at(PERIOD)])
    carry_over(third, fresh)
    assert look(fresh, dict(last), 2 * PERIOD + 2_000.0) == []
    assert next(fresh.states(START + 2 * PERIOD + 2_000.0)).evidence == before


def test_an_alarm_that_outlived_its_period_recovers_by_its_slots() -> None:
    """And its record says so, in the same bits for whoever saw all of it."""
    last = Last()
    drift = aggregator([*INCIDENT, *level(300, 1_000), *level(4_000, 1_000), *fine(7_300, 300)])
    for seconds in (302.0, PERIOD + 10.0, 2 * PERIOD + 10.0):
        look(drift, last, seconds)
    (closed,) = look(drift, last, 2 * PERIOD + 400.0)
    assert (closed.state, closed.closed_because) == ("closed", "recovered")
    assert look(drift, last, 2 * PERIOD + 500.0) == []


def test_evidence_that_nobody_carried_over_is_no_recovery() -> None:
    """Nobody was there for a whole period: the alarm ends, and nothing is said of recovery."""
    last = Last()
    look(aggregator(INCIDENT), last, 302.0)
    late = aggregator([*level(4_000, 1_000), *level(8_000, 1_000)])
    (closed,) = look(late, last, 2 * PERIOD + 2_000.0)
    assert (closed.state, closed.closed_because) == ("closed", "evidence_expired")
    assert closed.recovered is None
    assert closed.answer.startswith("it may go on: its evidence had become too")


def test_a_detector_that_is_gone_closes_its_alarm() -> None:
    """Its baseline was reset, or its judge is not used any more: nobody watches."""
    drift, last = aggregator(INCIDENT), Last()
    look(drift, last, 302.0)
    drift.set_normal("bot", FIRST.label, None)
    (closed,) = look(drift, last, 303.0)
    assert (closed.state, closed.closed_because) == ("closed", "not_watched")
    assert look(drift, last, 304.0) == []


def stale_at(drift: DriftDetectors, seconds: float) -> tuple[bool, bool]:
    """Whether there is an alarm, and whether it is stale."""
    (state,) = drift.states(START + seconds)
    return state.alarm, state.is_stale


def test_an_alarm_that_is_no_longer_fed_is_stale_and_ends() -> None:
    """Its judge was replaced, or traffic ended: an hour later it is stale, a day later over."""
    drift, last = aggregator(INCIDENT, replace(SETTINGS, period_s=604_800)), Last()
    look(drift, last, 302.0)
    hour, day = 3_600.0, 86_400.0
    assert stale_at(drift, 299 + hour) == (True, False)
    assert stale_at(drift, 301 + hour) == (True, True)
    assert look(drift, last, 290 + hour + day) == []
    (closed,) = look(drift, last, 310 + hour + day)
    assert (closed.state, closed.closed_because) == ("closed", "not_watched")
    assert closed.recovered is None
    assert look(drift, last, 500 + hour + day) == []


def on_monday(records: list[ScoreRecord]) -> list[ScoreRecord]:
    """The same three days later."""
    moments = [one.event_time + timedelta(days=3) for one in records]
    return [
        one.model_copy(update={"event_time": moment, "judged_at": moment})
        for one, moment in zip(records, moments, strict=True)
    ]


WEEK = replace(SETTINGS, period_s=604_800)
MONDAY = 3 * 86_400.0


def test_monday_opens_no_alarm_on_fridays_evidence() -> None:
    """What ended with a silence begins anew after it: Monday's first scores are no alarm."""
    drift, last = aggregator([*INCIDENT, *on_monday(usual(300, 150))], WEEK), Last()
    look(drift, last, 302.0)
    (closed,) = look(drift, last, 2 * 86_400.0)
    assert closed.closed_because == "not_watched"
    found = [look(drift, last, MONDAY + seconds) for seconds in range(302, 453, 10)]
    assert [one for each in found for one in each] == []


def test_an_incident_on_monday_is_an_alarm_of_its_own() -> None:
    """It began on Monday, and goes by Monday's scores."""
    monday = on_monday([*usual(300, 100), *worse(400, 150)])
    drift, last = aggregator([*INCIDENT, *monday], WEEK), Last()
    look(drift, last, 302.0)
    look(drift, last, 2 * 86_400.0)
    (again,) = look(drift, last, MONDAY + 552.0)
    assert again.state == "open"
    assert 390 <= (again.since - at(MONDAY)).total_seconds() <= 440


def test_an_alarm_that_nobody_saw_fall_silent_has_not_recovered() -> None:
    """The exporter was away at the weekend: what was open on Friday is over, and not better."""
    last = Last()
    look(aggregator(INCIDENT, WEEK), last, 302.0)
    monday = aggregator([*INCIDENT, *on_monday(usual(300, 30))], WEEK)
    (closed,) = look(monday, last, MONDAY + 332.0)
    assert (closed.state, closed.closed_because) == ("closed", "not_watched")
    assert closed.recovered is None


def test_what_is_judged_late_is_no_silence() -> None:
    """Reading that waited a night for its money feeds the detector now, with yesterday's slots."""
    late = [
        one.model_copy(update={"judged_at": one.event_time + timedelta(hours=9)})
        for one in INCIDENT
    ]
    drift = aggregator(late, replace(SETTINGS, period_s=604_800))
    assert stale_at(drift, 299 + 10 * 3_600.0) == (True, False)
    assert stale_at(drift, 301 + 10 * 3_600.0) == (True, True)


def test_a_few_scores_a_day_are_no_silence() -> None:
    """Where there is one slot in two hours, silence is longer than a night."""
    spread = [
        one.model_copy(update={"event_time": moment, "judged_at": moment})
        for number, one in enumerate(INCIDENT)
        for moment in [at(7_200.0 * number)]
    ]
    drift = aggregator(spread, replace(SETTINGS, period_s=100 * 86_400))
    last = 7_200.0 * 299
    assert stale_at(drift, last + 39 * 3_600.0) == (True, False)
    assert stale_at(drift, last + 41 * 3_600.0) == (True, True)


def at_threshold(per_week: float) -> DriftSettings:
    """Settings whose A is ``per_week``."""
    return replace(SETTINGS, judged_per_week=per_week)


def test_a_threshold_that_rose_is_no_recovery() -> None:
    """The record goes by the gauge's bit, and says that nothing has become better."""
    last = Last()
    look(aggregator(INCIDENT), last, 302.0)
    strict = aggregator(INCIDENT, at_threshold(1e12))
    (closed,) = look(strict, last, 302.0)
    assert (closed.state, closed.closed_because) == ("closed", "threshold_raised")
    assert closed.answer.startswith("no longer evidence enough for a threshold that rose at ")


def test_alarm_and_record_go_by_the_same_bit() -> None:
    """At every look, through opening, closing and another threshold."""
    last, seen, read = Last(), [], candidates(OVER)
    for threshold in (1_000.0, 50.0, 1_000.0):
        for seconds in range(290, 500, 3):
            drift = detectors(read, at_threshold(threshold))
            look(drift, last, float(seconds))
            (state,) = drift.states(START + seconds)
            record = last.get(KEY)
            assert state.alarm is (record is not None and record.state == "open")
            seen.append(state.alarm)
    assert {True, False} == set(seen)


def test_an_alarm_that_ends_with_the_last_slot_has_recovered() -> None:
    """All evidence is gone then, and there is a detector that is fed."""
    drift, last = aggregator(OVER), Last()
    look(drift, last, 302.0)
    ended = next(
        seconds
        for seconds in range(303, 500)
        if not next(drift.states(START + float(seconds))).alarm
    )
    (state,) = drift.states(START + float(ended))
    assert (state.evidence, state.is_fed) == (None, True)
    (closed,) = look(drift, last, float(ended))
    assert closed.closed_because == "recovered"


def test_a_judge_that_fails_more_is_named() -> None:
    """Every fifth judgement fails since the change, none before."""
    since = [failed(one) if one % 5 == 1 else each for one, each in enumerate(worse(200, 150), 200)]
    (opened,) = look(aggregator([*usual(0, 200), *since]), Last(), 352.0)
    assert opened.judge_failures.verdict == "more"
    assert "(more, 0.0 % before)" in opened.answer


def test_without_slots_before_the_baseline_stands_in() -> None:
    """Worse from the first slot on: before is the baseline's mean, and the mix is not known."""
    (opened,) = look(aggregator(worse(0, 150)), Last(), 152.0)
    assert (opened.change.before, opened.change.mix) == (0.9, None)
    assert opened.judge_failures.verdict in ("unknown", "normal")


def test_traffic_that_is_not_told_apart_has_no_mix() -> None:
    """Nothing has a segment: the sentence does not say that the mix explains nothing of it."""
    plain = [each.model_copy(update={"segment": ""}) for each in INCIDENT]
    (opened,) = look(aggregator(plain), Last(), 302.0)
    assert (opened.change.mix, opened.change.explained_by_mix) == (None, None)
    assert opened.answer.endswith("; judge failures 0.0 % (normal)")


def test_the_worst_are_those_furthest_from_normal() -> None:
    """The latest of equal ones first; a perfect answer is never among them."""
    (opened,) = look(aggregator(INCIDENT), Last(), 302.0)
    assert [one.interaction_id for one in opened.worst] == ["296", "292", "288", "284", "280"]
    short = [*fine(0, 100), *(scored(i, 0.0) for i in range(100, 104))]
    (few,) = look(aggregator(short, at_threshold(50.0)), Last(), 110.0)
    assert [one.interaction_id for one in few.worst] == ["103", "102", "101", "100"]


def test_claims_are_added_from_the_score_records() -> None:
    """Of the same application and judge; bounded in number and length."""
    (opened,) = look(aggregator(INCIDENT), Last(), 302.0)
    many = MOST_CLAIMS + 2
    wrong: dict[str, Any] = {
        "claims": Claims(response=("x" * 1_000,) * many),
        "verdicts": Verdicts(
            response_by_passage=((False,),) * many, response_by_context=(False,) * many
        ),
    }
    found = with_claims(opened, [scored(296, 0.0, **wrong), scored(292, 0.0, judge=SECOND)])
    first, second, *_ = found.worst
    assert len(first.claims) == MOST_CLAIMS
    assert first.claims_left_out == 2
    assert len(first.claims[0].text or "") == 300
    assert second.claims == ()
    assert len(found.to_json()) < 10_000


@costly
@given(
    pools(directed=True) | pools(directed=False),
    st.lists(st.integers(0, 260).map(float), min_size=1, max_size=4).map(sorted),
    st.randoms(use_true_random=False),
)
def test_two_exporters_write_the_same_bytes(
    pool: list[ScoreRecord], clocks: list[float], rng: random.Random
) -> None:
    """The same records in another order and repeated, at the same looks at the clock."""
    other = pool + [one for one in pool if rng.random() < 0.4]
    rng.shuffle(other)
    written = []
    for order in (pool, other):
        drift, last = aggregator([], replace(at_threshold(1.1), period_s=RECORDS_PERIOD)), Last()
        scores = ScoreAggregator(WINDOWS, RECORDS_PERIOD, drift=drift)
        for each in order:
            scores.add(each, each.to_json())
        lines = []
        for clock in clocks:
            scores.advance(START + clock)
            lines += [one.to_json() for one in look(drift, last, clock)]
        written.append(lines)
    assert written[0] == written[1]


def test_another_baseline_is_no_recovery() -> None:
    """What is normal was decided anew: the alarm is over, but nothing has become better."""
    drift, last = aggregator(INCIDENT), Last()
    look(drift, last, 302.0)
    lower = Normal({"faithfulness": Baseline(0.5, 0.0, {})})
    drift.set_normal("bot", FIRST.label, lower)
    (closed,) = look(drift, last, 303.0)
    assert (closed.state, closed.closed_because) == ("closed", "new_baseline")
    assert closed.answer.startswith("held against another baseline at ")


def settling(drift: DriftDetectors, last: Last, seconds: float) -> list[AlarmRecord]:
    """One look that also asks how much was judged since."""
    now = START + seconds
    found = transitions(last, drift.states(now), drift.history, now, "tenant", drift.later)
    last.update({one.key: one for one in found})
    return found


def test_an_alarm_settles_once_from_what_comes_after_it() -> None:
    """As many slots again, 30 at least; the mean of those alone, whatever was before."""
    drift, last = aggregator([*usual(0, 200), *worse(200, 300)]), Last()
    opened = next(
        found for seconds in range(202, 400) for found in settling(drift, last, float(seconds))
    )
    assert opened.settled is None
    change = opened.change
    assert f" → about {change.value:.2f} ({change.lower:.2f}–{change.upper:.2f}," in opened.answer
    assert (change.lower or 1.0) < 0.75 < (change.upper or 0.0)
    until = (opened.evidence_until or opened.since).timestamp() - START
    enough = max(30, opened.change.n)
    (settled,) = (
        found
        for seconds in range(int(opened.opened_at.timestamp() - START), 502)
        for found in settling(drift, last, float(seconds))
    )
    assert settled.settled is not None
    assert enough <= settled.settled.n <= enough + 2
    after = range(int(until) + 1, int(until) + 1 + round(settled.settled.n))
    mean = sum(i % 4 != 0 for i in after) / len(after)
    assert settled.settled.value == pytest.approx(mean)
    assert settled.settled.lower < mean < settled.settled.upper
    assert (settled.state, settled.opened_at, settled.worst) == (
        "open", opened.opened_at, opened.worst,
    )  # fmt: skip
    assert f"n = {settled.settled.n:.0f} since the alarm" in settled.answer


A = 1_300.0


def slots_of(values: Sequence[float], baseline: float) -> list[Counted]:
    """Slots with these values, larger is worse, beside a baseline."""
    drift = aggregator(usual(0, 10))
    history = next(
        found
        for state in drift.states(START + 20.0)
        if (found := drift.history(state.key, START + 20.0))
    )
    first = history.counted[0]
    return [first._replace(value=value, deviation=uniform(value, baseline)) for value in values]


def told_of(values: Sequence[float], since: int, baseline: float = 0.15) -> Estimate:
    """What is told of a change that may be in all of the slots, and seems to be in the last ones.

    The mean is 0.125 usually.
    """
    slots = slots_of(values, baseline)
    story = Story([], slots[since:], slots)
    mean = sum(values[since:]) / len(values[since:])
    found = Estimate(mean, mean - 0.1, mean + 0.1, 40.0, 0.0)
    return at_the_alarm(found, story, Compared(0.125, baseline - 0.125, None, A), 2.0)


BEFORE, SINCE = [0.0, 0.0, 0.0, 0.5] * 20, [0.5, 0.0, 0.5] * 10


def test_a_mean_at_the_alarm_is_told_from_all_that_may_belong_to_it() -> None:
    """As of any start: less than since the estimated one, as far as what is before has its say."""
    found = told_of(BEFORE + SINCE, len(BEFORE))
    told = changed_mean(BEFORE + SINCE, 0.1375, 2.0, A)
    assert (found.value, found.lower, found.upper) == pytest.approx(told)
    assert 0.1375 < (found.lower or 0.0) < (found.value or 0.0) < 1 / 3


def test_slots_without_a_value_say_nothing_of_what_a_mean_rose_to() -> None:
    """They have their step, for judgements fail where scores are bad; a score they are not."""
    slots = slots_of(BEFORE + SINCE, 0.15)
    failed_pick = directed(None, 0.5, 0.05, 0.2, 0.15, 0.15)
    assert (failed_pick.starts, failed_pick.by < 0) == (0.0, True)
    empty = slots[0]._replace(value=None, deviation=failed_pick)
    among = [each for one in slots for each in (one, empty)]
    found = Estimate(1 / 3, 0.2, 0.4, 40.0, 0.0)
    told = [
        at_the_alarm(found, Story([], all_[since:], all_), Compared(0.125, 0.025, None, A), 2.0)
        for all_, since in ((slots, len(BEFORE)), (among, 2 * len(BEFORE)))
    ]
    assert told[0] == told[1]


def test_a_mean_at_the_alarm_keeps_what_the_traffic_changed() -> None:
    """Slots of a segment that is usually worse by 0.25 are no worse than those of the others."""
    plain = told_of(BEFORE + SINCE, len(BEFORE))
    shifted = [x + 0.25 for x in BEFORE + SINCE]
    slots = slots_of(shifted, 0.4)
    story = Story([], slots[len(BEFORE) :], slots)
    found = Estimate(1 / 3 + 0.25, 0.5, 0.7, 40.0, 0.0)
    told = at_the_alarm(found, story, Compared(0.125, 0.025, None, A), 2.0)
    assert told.value == pytest.approx((plain.value or 0.0) + 0.25)
    assert told.lower == pytest.approx((plain.lower or 0.0) + 0.25)


def test_a_mean_at_the_alarm_is_mirrored_where_more_is_better() -> None:
    """And failed judgements widen its interval as any other."""
    plain = told_of(BEFORE + SINCE, len(BEFORE))
    slots = slots_of(BEFORE + SINCE, 0.15)
    story = Story([], slots[len(BEFORE) :], slots)
    found = Estimate(2 / 3, 0.5, 0.8, 40.0, 0.5)
    told = at_the_alarm(found, story, Compared(0.125, 0.025, True, A), 2.0)
    assert told.value == pytest.approx(1.0 - (plain.value or 0.0))
    assert told.lower == pytest.approx(1.0 - (0.5 * (plain.upper or 0.0) + 0.5))
    assert told.upper == pytest.approx(1.0 - 0.5 * (plain.lower or 0.0))


def test_a_mean_at_the_alarm_goes_by_the_threshold() -> None:
    """A lower one tells more of the change, but from 10,000 on all tell the same."""
    drift, now = aggregator(INCIDENT), START + 302.0
    (state,) = (one for one in drift.states(now) if one.alarm)
    history = drift.history(state.key, now)
    assert history is not None
    excerpt = story(history, 10.0**state.threshold)
    assert excerpt is not None
    told = [
        explanation.explained(state._replace(threshold=log10), excerpt, history, now, None)
        for log10 in (6.0, 4.0, 3.5, 3.0)
    ]
    high, enough, low, lower = (one.change.value or 0.0 for one in told)
    assert high == enough > low > lower


def test_a_mean_that_is_no_worse_is_told_as_it_is() -> None:
    """Where the mix hides a change of a segment, and where nothing was scored."""
    found = told_of([0.0, 0.25] * 20, 20)
    assert (found.value, found.lower) == pytest.approx((0.125, 0.025))
    nothing = Estimate(None, None, None, 0.0, None)
    assert at_the_alarm(nothing, Story([], [], []), Compared(0.1, 0.0, None, A), 0.0) == nothing
