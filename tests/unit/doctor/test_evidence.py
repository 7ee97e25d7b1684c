"""What so many judged a day mean: when there is evidence, of what, and what is better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from monitor.config import Settings, load
from monitor.doctor.applications import SeenApplication, SeenApplications
from monitor.doctor.evidence import (
    Delays,
    better_start,
    delays,
    evidence_of,
    examine,
    line,
    told_of,
)
from monitor.doctor.judging import JudgedPace
from monitor.doctor.report import CheckStatus, ReportLine
from monitor.plan.first_evidence import first_evidence
from monitor.plan.plan import Takes, made
from monitor.stats.period import DAY_S, HorizonSpan

ONE_METRIC = {"drift__metrics": "faithfulness"}
GIVEN = {"drift__baselines": '[{"application": "*", "metrics": {"faithfulness": 0.92}}]'}
KNOWN = {
    "export__windows": "1h,7d",
    "objectives": '[{"metric": "faithfulness", "window": "7d", "bound": 0.9}]',
}
#: Seconds until a change by so many times is seen.
SEEN: Delays = {2.0: 5.0 * DAY_S, 3.0: 90_000.0}
UNSEEN: Delays = dict.fromkeys((2.0, 3.0))


def settings(**flags: Any) -> Settings:
    """Settings with these ones; ``__`` is a dot."""
    return load({}, flags={name.replace("__", "."): value for name, value in flags.items()})


def said(
    per_day: float,
    chosen: Settings,
    seen: Delays | None = SEEN,
    *,
    expected: bool = False,
    judged_days: float | None = 2.5,
    has_baseline: bool = False,
) -> ReportLine:
    """The line of so many judged a day, of one application."""
    scored_s = None if judged_days is None else judged_days * DAY_S
    one = SeenApplication("bot", "a@1", per_day, scored_s, has_baseline=has_baseline)
    known = SeenApplications([] if expected else [one], 56.0 * DAY_S)
    return line(chosen, "scores.v1", JudgedPace(per_day, expected, per_day, known), seen)


def several(*per_day: float, **known: Any) -> JudgedPace:
    """Applications with so many judged a day."""
    found = [
        SeenApplication(f"app{number}", "a@1", each, **{"scored_s": None, **known})
        for number, each in enumerate(per_day)
    ]
    return JudgedPace(sum(per_day), False, sum(per_day), SeenApplications(found, 8.0 * DAY_S))


def test_it_says_when_by_what_and_of_what() -> None:
    """The period, what the baseline is learned from, and how long that is from now."""
    found = said(40, settings(**ONE_METRIC))
    assert (found.check, found.target, found.status) == ("evidence", "scores.v1", CheckStatus.OK)
    assert found.found == (
        "about 40 judged a day: first evidence in about 4.5 d, after 7 d, when a baseline is "
        "learned from 280 judged; P is 28 d: evidence of 28 d to 56 d counts; an application with "
        "fewer than 2 a day gets one late or never; a mean that rises from 0.08 is seen: to 0.16 "
        "after 5 d, to 0.24 after 25 h"
    )


@pytest.mark.parametrize(
    ("judged_days", "has_baseline", "begins"),
    [
        (2.5, False, "in about 4.5 d, after 7 d"),
        (6.2, False, "in about 19.4 h, after 7 d"),
        (7.5, False, "is due (rag-monitor baseline show), after 7 d"),
        (7.5, True, "by now (rag-monitor baseline show), after 7 d"),
        (2.5, True, "by now (rag-monitor baseline show), after 7 d"),
        (None, False, "after 7 d"),
    ],
)
def test_it_is_there_by_now_where_a_baseline_is(
    judged_days: float, has_baseline: bool, begins: str
) -> None:
    """After a week of judging it is due, and nothing else: somebody has to learn it."""
    found = said(20, settings(), judged_days=judged_days, has_baseline=has_baseline)
    assert f"first evidence {begins}, when" in found.found


def test_what_takes_longer_than_a_week_is_not_there_after_one() -> None:
    """Five a day take twelve days."""
    found = said(5, settings(), judged_days=7.5).found
    assert "first evidence in about 4.5 d, after 12 d, when" in found


def test_what_is_fixed_for_another_application_is_not_given() -> None:
    """An entry is for those that match its name."""
    other = GIVEN["drift__baselines"].replace("*", "shop-*")
    chosen = settings(**ONE_METRIC, drift__baselines=other)
    found = several(20.0)
    (one,) = found.seen.found
    seen = delays(chosen, found, one)
    shown = line(chosen, "t", found, seen).found
    assert "first evidence after 7 d, when a baseline is learned from 140 judged" in shown
    given = one._replace(is_given=True, has_baseline=True)
    held = found._replace(seen=found.seen._replace(found=[given]))
    at_once = line(chosen, "t", held, delays(chosen, held, given)).found
    assert "first evidence at once, against drift.baselines" in at_once
    assert at_once.split("; a mean")[1] != shown.split("; a mean")[1]


def test_a_baseline_that_was_set_is_there_where_none_can_be_learned() -> None:
    """One a day."""
    found = said(1, settings(**ONE_METRIC), {}, has_baseline=True)
    assert "first evidence by now (rag-monitor baseline show); P is 28 d" in found.found


def test_where_applications_are_not_known_it_says_what_it_supposes() -> None:
    """And promises nothing as of now."""
    found = line(settings(), "t", JudgedPace(500.0, False, 500.0), {}).found
    assert "first evidence after 2 d, when" in found
    assert found.endswith(
        "All are taken for one application: which they are of is not known, nor how many of them "
        "are scored"
    )
    ended = JudgedPace(500.0, False, 500.0, SeenApplications((), 7.0 * DAY_S))
    found = line(settings(), "t", ended, {}).found
    assert found.endswith("All are taken for one application: none of them is scored any more")


def test_what_is_not_scored_is_told_beside() -> None:
    """Where it is much; and a day of which only a part could be read is said to be so."""
    found = several(4.0)._replace(others_per_day=96.0)
    shown = line(settings(**ONE_METRIC), "t", found, {}).found
    assert shown.startswith(
        "about 4 judged a day (96 more are no evidence: over budget, forced, failed, unscorable, "
        "or without a value of drift.metrics): first evidence after 15 d"
    )
    assert "no evidence" not in line(settings(), "t", found._replace(others_per_day=0.1), {}).found
    part = found.seen._replace(looked_back_s=DAY_S, share_read=0.2)
    told = "by 20 % of the records of the last day: small applications may be missing"
    for one in (found, several(90_000.0, 20.0)):
        assert told in line(settings(), "t", one._replace(seen=part), {}).found
    friday = part._replace(looked_back_s=4.0 * DAY_S)
    told = "by 20 % of the records of the last 4 d: "
    assert told in line(settings(), "t", found._replace(seen=friday), {}).found
    short = found.seen._replace(looked_back_s=3_600.0)
    assert "; by the last 60 min)" in line(settings(), "t", found._replace(seen=short), {}).found


async def test_where_nothing_is_scored_nothing_is_promised() -> None:
    """Forced ones, or what a spent budget leaves, teach nothing."""
    none = JudgedPace(0.0, False, 9.0, SeenApplications((), DAY_S, 0.5), 99.0)
    (found,) = await examine(settings(), "t", none)
    assert (found.status, found.found) == (
        "WARN",
        "none of about 99 score records a day is evidence, as far as 50 % of them tell: over "
        "budget, forced, failed, unscorable, or without a value of drift.metrics",
    )


def test_the_period_is_that_of_an_exporter() -> None:
    """It goes by the records that it finds, whatever is scored of them."""
    found = several(300.0)
    assert "P is 7 d" in line(settings(), "t", found, {}).found
    taken = found._replace(span=HorizonSpan(DAY_S, 8 * DAY_S))
    assert "P is 24 h: evidence of 24 h to 2 d" in line(settings(), "t", taken, {}).found
    one = taken.seen.found[0]
    assert evidence_of(settings(), taken, one).period_s == DAY_S
    # Against a baseline that is given: to learn one in each monitor takes three times as long.
    chosen, given = settings(**ONE_METRIC, **GIVEN), one._replace(is_given=True)
    of_a_day, of_a_week = (
        delays(chosen, each._replace(seen=each.seen._replace(found=[given])), given)
        for each in (taken, found)
    )
    assert of_a_day != of_a_week


def test_of_a_new_application_nothing_is_foretold() -> None:
    """Ten minutes of it say nothing of its day: it is neither late nor none of many."""
    old, *new = several(1_000.0, 5.0, 5.0, 5.0).seen.found
    seen = SeenApplications([old, *(one._replace(scored_s=600.0) for one in new)], 7.0 * DAY_S)
    found = line(settings(), "t", JudgedPace(1_015.0, False, 1_015.0, seen), {})
    assert (found.status, "late or never" in found.found) == ("OK", False)
    assert ", 3 too new to tell" in found.found


def test_each_application_needs_enough_for_itself() -> None:
    """Evidence is by application and judge: what all have together says nothing of one."""
    found = several(*[5.0] * 57, 3.0, 2.0, 1.0)
    assert found.per_day == 291
    shown = line(settings(**ONE_METRIC), "scores.v1", found, {})
    assert shown.found == (
        "about 291 judged a day of 60 applications and judges: 0 of 60 have a baseline by now "
        "(rag-monitor baseline show), 57 learn one, which takes up to 17 d, 3 late or never, "
        "with fewer than 5 a day: app57 (3), app58 (2) and 1 more; P is 7 d: evidence of "
        "7 d to 14 d counts"
    )
    due = several(5.0, 290.0, scored_s=16.0 * DAY_S)
    assert (
        "2 learn one, the last one due in about 24.2 h; P" in line(settings(), "t", due, {}).found
    )
    over = several(5.0, 290.0, scored_s=18.0 * DAY_S)
    assert "2 learn one, due by now; P" in line(settings(), "t", over, {}).found
    assert (
        "2 of 2 have a baseline by now"
        in line(settings(), "t", several(5.0, 290.0, has_baseline=True), {}).found
    )


@pytest.mark.parametrize(("small", "warned"), [(31, True), (29, False)])
def test_where_most_get_no_baseline_it_warns(small: int, warned: bool) -> None:
    """And says what helps. A few small ones beside others are told, and no more."""
    found = several(*[300.0] * (60 - small), *[5.0] * small)
    shown = line(settings(), "scores.v1", found, {})
    assert f"{small} late or never, with fewer than 8 a day: app" in shown.found
    assert (shown.status is CheckStatus.WARN) == warned
    assert ("set a longer drift.period (28d)" in shown.mend) == warned


def test_a_small_one_beside_large_ones_is_said_to_see_little() -> None:
    """The period and the threshold are those of all together."""
    found, chosen = several(10_000.0, 20.0), settings(**ONE_METRIC)
    one = told_of(chosen, found)
    assert one is not None
    assert one.application == "app1"
    seen = delays(chosen, found, one)
    assert seen is not None
    assert seen[2.0] is None
    shown = line(chosen, "scores.v1", found, seen).found
    assert "to 0.16 hardly ever" in shown or "not even a mean that rises" in shown
    assert shown.endswith("(app1, the smallest that gets one, with 20 a day)")
    alone = delays(chosen, several(20.0), several(20.0).seen.found[0])
    assert alone is not None
    assert alone[2.0] is not None
    assert told_of(chosen, several(10_000.0, 200.0)) is None
    assert told_of(chosen, several(50.0, 20.0)) == several(50.0, 20.0).seen.found[0]


def test_what_is_expected_is_counted_from_its_begin() -> None:
    """Nothing is judged yet."""
    found = said(40, settings(), expected=True, judged_days=0).found
    assert found.startswith(
        "about 40 a day would be judged of the traffic so far: first evidence after 7 d, when"
    )


@pytest.mark.parametrize(("per_day", "warned"), [(99, True), (100, False)])
def test_below_a_hundred_a_day_one_metric_is_watched(per_day: float, warned: bool) -> None:
    """The reason is said: the threshold is shared. Who watches one is left alone."""
    found = said(per_day, settings(), SEEN if warned else {})
    assert (found.status is CheckStatus.WARN) == warned
    assert ("drift.metrics: [faithfulness]: the threshold A is shared" in found.mend) == warned
    assert said(per_day, settings(**ONE_METRIC)).status is CheckStatus.OK


def test_the_metric_is_one_of_those_that_are_watched() -> None:
    """Without ``faithfulness`` the first of them, in its own direction."""
    chosen = settings(drift__metrics="noise_sensitivity_relevant,answered")
    found = said(10, chosen).mend
    assert "drift.metrics: [noise_sensitivity_relevant]" in found
    assert "{noise_sensitivity_relevant: 0.08}" in found


@pytest.mark.parametrize(
    ("per_day", "seen", "promised"),
    [(1, {}, "first evidence never: two periods of 28 d hold"), (5, UNSEEN, "not even a mean")],
)
def test_what_cannot_come_is_not_promised(per_day: float, seen: Delays, promised: str) -> None:
    """No baseline within two periods; or one by which nothing is seen within them."""
    found = said(per_day, settings(**ONE_METRIC), seen)
    assert promised in found.found
    assert "what you know is the better start" in found.mend


def test_a_baseline_that_stays_provisional_is_warned_of() -> None:
    """There is evidence against it, and what is asked for never comes."""
    found = said(86_400, settings(drift__learn_for="7d"), {})
    assert found.status is CheckStatus.WARN
    assert "when a provisional baseline is learned from 1,000 judged" in found.found
    assert "drift.learn_for (7d) takes less than two periods: shorten it" in found.mend
    assert said(86_400, settings(), {}).status is CheckStatus.OK


def test_sessions_are_said_not_to_be_reckoned_with() -> None:
    """What they cost, and where to read how much they are alike."""
    in_sessions = said(40, settings(**ONE_METRIC, export__cluster="session_id")).found
    assert "Where those of one session_id are alike, delays are V times as long" in in_sessions
    assert "rag-monitor baseline show --json has V" in in_sessions
    assert "V times" not in said(40, settings(**ONE_METRIC)).found


def test_false_alarms_that_come_all_the_time_are_said() -> None:
    """No change is said not to be seen: all are, with or without one."""
    often = settings(**ONE_METRIC, drift__false_alarms_per_week=100)
    assert delays(often, several(20.0), several(20.0).seen.found[0]) is None
    found = said(20, often, None)
    assert "false alarms come so often that most of the time one is open" in found.found
    assert "not even" not in found.found
    assert found.mend == "lower drift.false_alarms_per_week"


def test_a_change_that_is_hardly_ever_seen_is_said_to_be_so() -> None:
    """Beside one that is."""
    assert (
        "to 0.16 hardly ever, to 0.24 after 25 h" in said(20, settings(), {**SEEN, 2.0: None}).found
    )


@pytest.mark.parametrize(
    ("flags", "there", "not_there"),
    [
        ({}, ("metrics: [faithfulness]", "baselines:", "window: 7d", "24h, 7d]"), ()),
        (GIVEN, ("objectives:",), ("baselines:",)),
        (ONE_METRIC | KNOWN, ("baselines:",), ("metrics: [", "objectives:", "windows:")),
        ({"export__metrics": "answered"}, ("baselines:",), ("objectives:",)),
        ({"export__windows": "1h,168h"}, ("window: 7d",), ("windows:",)),
    ],
)
def test_the_yaml_can_be_taken_over(
    flags: dict[str, str], there: tuple[str, ...], not_there: tuple[str, ...], tmp_path: Path
) -> None:
    """It has what is not set yet, and beside the settings it is valid."""
    heading, *yaml = better_start(settings(**flags), 12)
    assert heading.endswith(":")
    text = "\n".join(yaml)
    assert all(part in text for part in there), text
    assert not any(part in text for part in not_there), text
    file = tmp_path / "monitor.yaml"
    file.write_text(text, "utf-8")
    beside = {name.replace("__", "."): value for name, value in flags.items()}
    found = load({}, file, {} if "export__metrics" in flags else beside)
    assert found.drift.baselines or found.objectives


def test_where_all_is_set_more_has_to_be_judged() -> None:
    """There is no more to print; and at one a day a window has too few for an objective."""
    chosen = settings(**GIVEN, **KNOWN, **ONE_METRIC)
    assert better_start(chosen, 12) == []
    assert said(12, chosen, UNSEEN).mend == "judge more: sampling.rate, limits.usd_per_day"
    assert said(12, chosen, SEEN).status is CheckStatus.OK
    assert "objectives:" not in said(1, settings(), {}).mend


async def test_it_is_what_plan_says() -> None:
    """The same baseline, period and delays."""
    chosen, found = settings(**ONE_METRIC), several(24.0)
    plan = made(chosen, found.assumed(), Takes(0.0, 0.0, 0.0, 0.0, "nothing"))
    begins = first_evidence(chosen, 24.0)
    names = (
        *("first_evidence_s", "learned_from", "period_s"),
        *("provisional_s", "stays_provisional", "least_per_day"),
    )
    assert [plan[name] for name in names] == [*begins]
    for factor, delay in (delays(chosen, found, found.seen.found[0]) or {}).items():
        assert plan["delay_s"][f"{factor:g}"] == (delay and pytest.approx(delay, abs=0.1))


async def test_where_nothing_is_watched_there_is_no_evidence() -> None:
    """And no line."""
    assert await examine(settings(drift__metrics="[]"), "t", JudgedPace(9.0, False, 9.0)) == []
