"""What settings mean for a plan; and how it is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.config import Settings, load
from monitor.plan.first_evidence import FirstEvidence, first_evidence
from monitor.plan.plan import Assumed, Takes, bought, made, members, quality, text, watch
from monitor.plan.spend import Judged, judged
from monitor.sampling.pace import JudgementCost, PaceBounds
from monitor.stats.threshold import threshold

ASSUMED = Assumed(per_minute=12_000.0, mean=0.08, correlation=0.38)
FOUND = Judged(per_minute=40.0, bound_by="usd_per_day", usd_per_day=20.0)
#: Twenty a day.
LITTLE = Judged(per_minute=20 / 1_440, bound_by="traffic", usd_per_day=0.0)
#: ``drift.learn_wait``: so old are the scores that a baseline is learned from.
WAIT_S = 600
COST = JudgementCost(3, 2_000, 0.01, 0.0)


def settings(**flags: Any) -> Settings:
    """Settings with these ones; ``__`` is a dot."""
    return load({}, flags={name.replace("__", "."): str(value) for name, value in flags.items()})


def test_segments_are_unlike_and_have_the_mean_together() -> None:
    """Without a segment there is one quality."""
    assert quality(settings(), ASSUMED).means == (0.08,)
    found = quality(settings(export__segment="tenant"), ASSUMED)
    assert len(set(found.means)) == 3
    assert found.mean == pytest.approx(0.08)


def test_what_cannot_come_is_not_promised() -> None:
    """Twenty a day have evidence after a week, of four weeks; two a month have none, ever."""
    found = first_evidence(settings(), LITTLE.per_day)
    assert found == FirstEvidence(7 * 86_400 + WAIT_S, 140, 28 * 86_400, least_per_day=2)
    watched = watch(settings(), LITTLE, 1)
    assert (watched.in_period, watched.most_waited) == (28 * 20, 28 * 20)
    assert first_evidence(settings(), 2 / 30) == FirstEvidence(None, 0, 28 * 86_400)
    day = settings(drift__period="1d")
    assert first_evidence(day, LITTLE.per_day).after_s is None


DAY_S = 86_400


@pytest.mark.parametrize(
    ("flags", "per_day", "found"),
    [
        # A thousand take 1,000 s, and are ten minutes old by then.
        ({}, 86_400, FirstEvidence(DAY_S + WAIT_S, 10_000, DAY_S, 1_600, False, 502)),
        ({}, 500, FirstEvidence(2 * DAY_S + WAIT_S, 1_000, 4 * DAY_S, least_per_day=8)),
        ({"drift__learn_for": "0s"}, 86_400, FirstEvidence(1_600, 1_000, DAY_S, least_per_day=502)),
        # Two days never lie within two periods of a day, of which the second has just begun.
        ({"drift__learn_for": "2d"}, 86_400, FirstEvidence(1_600, 1_000, DAY_S, 1_600, True, 502)),
        ({"drift__learn_for": "7d"}, 86_400, FirstEvidence(1_600, 1_000, DAY_S, 1_600, True, 502)),
        # A day and a half that begins at noon is dropped at midnight, and begins anew.
        (
            {"drift__learn_for": "36h"},
            86_400,
            FirstEvidence(2 * DAY_S + WAIT_S, 10_000, DAY_S, 1_600, False, 502),
        ),
        # What a window needs is held, whatever the period is.
        (
            {"drift__learn_for": "2d", "export__windows": "5m,7d"},
            86_400,
            FirstEvidence(2 * DAY_S + WAIT_S, 10_000, DAY_S, 1_600, False, 143),
        ),
        ({"drift__period": "1d"}, 400, FirstEvidence(None, 0, DAY_S)),
    ],
)
def test_evidence_begins_with_what_is_held_together(
    flags: dict[str, str], per_day: float, found: FirstEvidence
) -> None:
    """Against a provisional baseline where there is one, which stays where no whole one comes."""
    assert first_evidence(settings(**flags), per_day) == found
    one = Judged(per_day / 1_440, "traffic", 0.0)
    provisional_s = watch(settings(**flags), one, 1).provisional_s
    assert (provisional_s is not None) == found.stays_provisional


def test_it_is_said_that_a_baseline_stays_provisional() -> None:
    """And never that there is no evidence, where there is."""
    stays = FirstEvidence(1_600, 1_000, DAY_S, 1_600, True).in_words()
    assert stays.startswith("after 26.7 min, when a provisional baseline is learned from 1,000")
    assert "drift.learn_for" in stays


def test_it_is_said_what_an_application_needs_beside_others() -> None:
    """However few that are: of many small applications none may have it."""
    few = "an application with fewer than {} a day gets one late or never"
    for of_all, least in ((86_400, 502), (1_600, 8), (300, 5), (20, 2)):
        assert few.format(least) in first_evidence(settings(), of_all).in_words()


@pytest.mark.parametrize("of_all", [20, 300, 500, 1_000, 3_000, 10_000, 19_000, 86_400])
@pytest.mark.parametrize("flags", [{}, {"drift__period": "28d"}, {"export__windows": "5m,7d"}])
def test_the_least_is_what_one_gets_a_baseline_with(flags: dict[str, str], of_all: int) -> None:
    """Beside others, whose pace the period goes by: with one less it never comes by itself."""
    chosen = settings(**flags)
    least = first_evidence(chosen, of_all).least_per_day
    assert first_evidence(chosen, least, of_all).after_s is not None
    assert first_evidence(chosen, least - 1 or 0.9, of_all).after_s is None


def test_a_screen_helps_only_who_lets_it_choose() -> None:
    """``sampling.directed`` off: all members are alike."""
    assert quality(settings(), ASSUMED).correlation == 0.38
    assert quality(settings(sampling__directed="false"), ASSUMED).correlation == 0.0


def test_baselines_that_are_given_need_no_learning() -> None:
    """Those that are learned take a day of ``drift.learn_slots`` at least, or a week."""
    soon = settings(drift__learn_slots=300, drift__learn_for="0s")
    assert watch(soon, FOUND, 1).learn_slots == 300
    assert watch(settings(), FOUND, 1).learn_slots == 10_000
    assert watch(settings(), LITTLE, 1).learn_slots == 140
    given = '[{"application": "bot", "metrics": {"faithfulness": 0.9}}]'
    one = {"drift__baselines": given, "drift__metrics": "faithfulness"}
    assert watch(settings(**one), FOUND, 1).learn_slots == 0
    # The other metrics are learned; where they never can be, nothing is said to come at once.
    assert watch(settings(drift__baselines=given), FOUND, 1).learn_slots == 10_000
    assert first_evidence(settings(drift__baselines=given), 2 / 30).after_s is None


@pytest.mark.parametrize(
    ("flags", "per_minute", "expected"),
    [
        ({}, 12_000.0, 1),
        # What the hash leaves out is in no slot.
        ({"sampling__rate": 0.1}, 1_200.0, 1),
        ({"sampling__rate": 1e-5}, 0.12, 1),
        ({"sampling__block": 32}, 375.0, 32),
        ({"sampling__block": 32, "sampling__rate": 0.5}, 375.0, 16),
        # Limits make blocks longer.
        ({"sampling__block": "auto"}, 600.0, 20),
        ({"sampling__block": "auto", "sampling__rate": 0.1}, 600.0, 2),
    ],
)
def test_a_slot_has_the_members_that_the_hash_takes(
    flags: dict[str, Any], per_minute: float, expected: int
) -> None:
    """Of one block, of 12,000 a minute."""
    found = Judged(per_minute, "sampling.rate", 0.0)
    assert members(settings(**flags), ASSUMED, found) == expected


def test_false_alarms_are_promised_by_the_week() -> None:
    """Of what is judged in one: as it is set, else as it is planned."""
    planned, told = settings(), settings(drift__judged_per_week=1_000)
    metrics, promised = len(planned.drift.metrics), planned.drift.false_alarms_per_week
    week = 40.0 * 60 * 24 * 7
    assert watch(planned, FOUND, 1).threshold == threshold(week * metrics, promised)
    assert watch(told, FOUND, 1).threshold == threshold(1_000 * metrics, promised)


def test_the_rate_bounds_what_is_judged() -> None:
    """Half of the traffic, and what that costs; a judge without a price is bounded by no money."""
    half = judged(6, 0.5, COST, PaceBounds(8), None)
    assert (half.per_minute, half.bound_by) == (3.0, "sampling.rate")
    assert half.usd_per_day == pytest.approx(3 * 1_440 * 0.01)
    free = judged(6, 1.0, COST._replace(usd=0.0), PaceBounds(8), 1.0)
    assert free == (6.0, "traffic", 0.0)


@pytest.mark.parametrize(
    ("block", "per_minute", "bound_by"),
    [
        ("auto", 6_000.0, "sampling.rate"),
        (1, 6_000.0, "sampling.rate"),
        (32, 375, "sampling.block"),
    ],
)
def test_blocks_of_a_fixed_length_bound_what_is_judged(
    block: int | str, per_minute: float, bound_by: str
) -> None:
    """One of each; those of ``auto`` are as short as limits allow."""
    chosen = settings(sampling__block=block, sampling__rate=0.5)
    found = bought(chosen, ASSUMED, Takes(0.0, 0.0, 0.0, 0.0, "nothing"))
    assert found.per_minute == pytest.approx(per_minute)
    assert found.bound_by == bound_by


@pytest.mark.parametrize(
    ("delay_s", "told"),
    [
        (0.0005, "less than 1 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7_199, "120 min"),
        (7_200, "2 h"),
        (172_800, "2 d"),
    ],
)
def test_a_delay_is_told_in_units_that_people_use(delay_s: float, told: str) -> None:
    """And what is hardly ever seen is said to be so."""
    plan = {
        "traffic_per_minute": 12_000.0,
        "sampling_probability": 0.05,
        "judged_per_minute": 600.0,
        "bound_by": "usd_per_day",
        "usd_per_day": 20.0,
        "judgement": {
            "calls": 3.0,
            "prompt_tokens": 2_147.0,
            "completion_tokens": 206.0,
            "usd": 0.003,
            "source": "usual",
            "too_large": 0.004,
        },
        "interval_width": {"5m": 0.21},
        "mean": 0.08,
        "watched": 5,
        "delay_s": {"1.5": None, "2": delay_s, "3": 60},
        "delay_p90_s": {"1.5": None, "2": None, "3": 90},
        "delay_judged": {"1.5": None, "2": 78, "3": 1_000},
        "delay_p90_judged": {"1.5": None, "2": None, "3": 1_500},
        "alarms_too_often": False,
        "in_false_alarm": 0.01,
        "cluster": None,
        "settle_s": 60,
        "first_evidence_s": 86_400,
        "learned_from": 10_000,
        "period_s": 86_400,
        "provisional_s": None,
        "stays_provisional": False,
        "least_per_day": 9,
        "series": 4_662,
        "base_rate": None,
    }
    assert (
        text(plan)[2] == "too large       0.4% of the interactions are not judged: judge.max_calls"
    )
    assert "after 24 h" in text(plan)[4]
    assert text({**plan, "watched": 0})[5:7] == [
        "delay           no metric is watched: drift.metrics",
        "series          at most 4,662",
    ]
    (often,) = [one for one in text({**plan, "alarms_too_often": True}) if one.startswith("delay")]
    assert "false alarms come so often" in often
    of_others = text({**plan, "base_rate": 0.5})[2]
    assert of_others.startswith("rates           all traffic is reckoned at sampling.rate 0.5. ")
    assert "its traffic. Such a plan holds where it is alone on its installation. " in of_others
    heading = text({**plan, "in_false_alarm": 0.25})[5]
    assert heading.endswith("after another 60 s. One is open 25% of the time without a cause")
    in_sessions = text({**plan, "cluster": "session_id"})
    assert in_sessions[9].startswith("sessions        answers are taken for independent")
    assert "one session_id are alike, delays are V times as long" in in_sessions[9]
    heading, *delays = text(plan)[5:9]
    assert "of one metric that becomes worse, of 5 watched: the median" in heading
    assert [one.split(maxsplit=1) for one in delays] == [
        ["×1.5", "hardly ever seen"],
        ["×2", f"after 78 judged, {told}; one in ten hardly ever"],
        ["×3", "after 1,000 judged, 60 s; nine of ten within 1,500, 90 s"],
    ]


FREE = Takes(0.0, 0.0, 0.0, 0.0, "nothing")
#: One a day: there is never any evidence, and no delay to be reckoned.
NEVER_ENOUGH = Assumed(per_minute=1 / 1_440, mean=0.08, correlation=0.0)


def test_rates_of_applications_are_told() -> None:
    """Nobody knows how much of the traffic has which: the plan says what it takes for all."""
    assert made(settings(), NEVER_ENOUGH, FREE)["base_rate"] is None
    some = json.dumps([{"application": "bot", "sampling": {"rate": 0.01}}])
    assert made(settings(applications=some), NEVER_ENOUGH, FREE)["base_rate"] == 1.0
    same = json.dumps([{"application": "bot", "sampling": {"rate": 1.0}}])
    assert made(settings(applications=same), NEVER_ENOUGH, FREE)["base_rate"] is None


def test_a_delay_is_never_nothing() -> None:
    """However much is judged: the plan has its digits, and people read of less than a second."""
    found = made(settings(), Assumed(6e7, 0.08, 0.0), FREE)
    assert 0.0 < found["delay_for_doubling_s"] < 0.001
    assert found["interval_width"]["24h"] > 0.0
    assert sum("less than 1 s; nine of ten" in one for one in text(found)) >= 2


def test_false_alarms_that_come_all_the_time_are_said() -> None:
    """A hundred a week of seven hundred judged: no change is hardly ever seen, all are told."""
    often = settings(drift__false_alarms_per_week=100)
    found = made(often, Assumed(100 / 1_440, 0.08, 0.0), FREE)
    assert found["alarms_too_often"]
    assert not any("hardly ever" in one for one in text(found))
