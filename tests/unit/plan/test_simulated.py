"""What a made-up monitor goes by, beside what an exporter makes of the same."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from monitor.exporter.baselines.days import with_rhythm
from monitor.plan.simulated import Known, Pool, Quality, refined
from monitor.records.control import MetricBaseline
from monitor.sampling.picks import MOST_EXPECTED, weights
from monitor.stats.baseline import Baseline, Tolerance
from monitor.stats.days import Rhythm, rhythm, summed
from monitor.stats.drift import directed

QUALITY = Quality((0.06, 0.1))
TOLERANCE = Tolerance(share=0.1)


@pytest.mark.parametrize("per_day", [20.0, 5_000.0])
def test_a_week_refines_a_baseline_as_an_exporter_does(per_day: float) -> None:
    """Mean, error, segments, hours and the spread of days."""
    random = Random(1)
    pool = Pool(QUALITY, random)
    before = Known.learned(pool, 140, random, directs=False).baseline
    found = rhythm(pool.week(per_day, random))
    assert found is not None
    ours = refined(before, found)
    record = MetricBaseline(mean=before.mean, se=before.se, segments=dict(before.segments))
    theirs = with_rhythm("noise_sensitivity_irrelevant", record, found, datetime.now(UTC))
    assert (ours.mean, ours.se) == pytest.approx((theirs.mean, theirs.se))
    assert ours.segments == pytest.approx(theirs.segments)
    assert (ours.day_spread, ours.hours) == (theirs.day_spread, theirs.hours)


@pytest.mark.parametrize("per_day", [20.0, 5_000.0])
def test_a_week_has_the_answers_of_the_pool(per_day: float) -> None:
    """So many on average, of its mean: also where an hour is drawn as a whole."""
    random = Random(2)
    pool = Pool(QUALITY, random)
    total = summed(
        hour for _ in range(20) for day in pool.week(per_day, random) for hour in day if hour.n
    )
    assert total.n == pytest.approx(140 * per_day, rel=0.1)
    assert total.mean == pytest.approx(pool.mean + pool.off, rel=0.1)
    spread = pool.variance / total.n
    assert total.noise(total.mean) == pytest.approx(spread, rel=0.1)


def test_a_monitor_goes_by_that_by_which_it_sees_a_change_later() -> None:
    """Of little traffic what chance makes of seven days, of much what was learned at first."""
    random = Random(3)
    pool = Pool(QUALITY, random)

    def margins(slots: int, per_day: float) -> float:
        """How much more the mean monitor goes by than by its first baseline."""
        more = 0.0
        for _ in range(50):
            first = Known.learned(pool, slots, random, directs=False)
            later = first.in_the_long_run(pool, per_day, random, TOLERANCE)
            more += later.baseline.overall(TOLERANCE) - first.baseline.overall(TOLERANCE)
            assert later.baseline.overall(TOLERANCE) >= first.baseline.overall(TOLERANCE)
        return more / 50

    assert margins(140, 20.0) > 0.01
    assert margins(10_000, 86_400.0) < 0.002


def test_a_week_takes_from_v_what_an_exporter_takes() -> None:
    """The swing that it knows then; the error of the mean becomes smaller with it."""
    week = Rhythm(0.2, 0.01, 0.0, (0.0,) * 24, 7, dependence=1.0, swing=9.0)
    found = refined(Baseline(0.2, 0.02, {}, dependence=4.0), week)
    assert (found.dependence, found.se) == (1.0, 0.01)
    kept = refined(Baseline(0.2, 0.02, {}, dependence=4.0), week._replace(dependence=None))
    assert (kept.dependence, kept.se) == (4.0, 0.02)


def test_a_slot_is_weighed_and_picked_as_sampling_does_it() -> None:
    """Deviations are those of its own weights, moved by one amount, of the very same members."""
    random, slots, members = Random(4), 200, 5
    pool = Pool(Quality((0.06, 0.1), 0.6), random)
    known = Known.learned(pool, 500, random, directs=True)
    found, state, plain = known.calibration, random.getstate(), []
    assert found is not None
    (expected,) = found.expected.values()
    which, different = known.slots(slots, pool, members, random, TOLERANCE, pool.mean)
    random.setstate(state)
    random.choices(range(24), k=slots)
    for _ in range(slots):
        slot = random.choices(pool.answers, k=members)
        bins = [found.bin(one.signal) for one in slot]
        w = weights([found.spreads[k] for k in bins])
        f = [min(expected[k], MOST_EXPECTED * one) for k, one in zip(bins, w, strict=True)]
        (at,) = random.choices(range(members), weights=w)
        own = [known.baseline.of(one.segment, TOLERANCE) for one in slot]
        by = slot[at].value, 1 / w[at], sum(f) / members, f[at], own[at], sum(own) / members
        plain.append(directed(*by).by)
    moved = [different[one].by - by for one, by in zip(which, plain, strict=True)]
    assert moved == pytest.approx([moved[0]] * slots)
    assert len(set(plain)) > slots / 2
