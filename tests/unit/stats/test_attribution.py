"""The split of a change into mix and within-segment shift."""

from __future__ import annotations

import functools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.attribution import Split, split
from monitor.stats.sums import ZERO, Sums, segment_terms

#: Segment, m, q, u and value (None: unscored) of a slot.
Raw = tuple[str, int, float, float, float | None]
RAW = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.integers(1, 8),
    st.sampled_from([1.0, 0.5, 0.1]),
    st.floats(0.2, 5.0),
    st.none() | st.floats(0.0, 1.0),
)
RAWS = st.lists(RAW, min_size=1, max_size=30)


def summed(slots: list[Raw]) -> dict[str, Sums]:
    """The sums by segment."""
    found: dict[str, Sums] = {}
    for name, m, q, u, value in slots:
        terms = segment_terms(m, q, u, value, failed=False)
        found[name] = found.get(name, ZERO).plus(terms)
    return found


def mean(slots: list[Raw]) -> float | None:
    """ΣWux/ΣWu over all segments, in fractions."""
    weights = [(Fraction(m) / Fraction(q) * Fraction(u), x) for _, m, q, u, x in slots]
    total = sum((w for w, x in weights if x is not None), Fraction(0))
    values = sum((w * Fraction(x) for w, x in weights if x is not None), Fraction(0))
    return float(values / total) if total else None


def even(*values: float) -> Sums:
    """Slots of one interaction each."""
    return functools.reduce(Sums.plus, (segment_terms(1, 1.0, 1.0, x, False) for x in values))


@given(RAWS, RAWS)
def test_mix_and_within_add_up_to_the_change(before: list[Raw], since: list[Raw]) -> None:
    """Exactly, whatever the weights; and the parts of the segments add up to both."""
    found = split(summed(before), summed(since), None)
    was, now = mean(before), mean(since)
    if was is None or now is None:
        assert found is None
        return
    assert found is not None
    assert found.mix is not None
    assert (found.before, found.now) == pytest.approx((was, now), abs=1e-9)
    assert found.mix + found.within == pytest.approx(found.now - found.before, abs=1e-12)
    assert sum(one.within for one in found.segments) == pytest.approx(found.within, abs=1e-12)
    assert sum(one.mix or 0.0 for one in found.segments) == pytest.approx(found.mix, abs=1e-12)


@given(RAWS, RAWS)
def test_against_the_formula(before: list[Raw], since: list[Raw]) -> None:
    """Σ(p'_s − p_s)·b_s and Σp'_s·(m'_s − b_s), in plain floats from shares and means."""
    found = split(summed(before), summed(since), None)
    was = mean(before)
    if found is None or was is None:
        return
    mix = within = 0.0
    for one in found.segments:
        own = [raw for raw in before if raw[0] == one.segment]
        b = mean(own)
        m = mean([raw for raw in since if raw[0] == one.segment])
        b = was if b is None else b
        mix += (share(since, one.segment) - share(before, one.segment)) * b
        within += share(since, one.segment) * ((b if m is None else m) - b)
    assert found.mix == pytest.approx(mix, abs=1e-9)
    assert found.within == pytest.approx(within, abs=1e-9)


def share(slots: list[Raw], name: str) -> float:
    """A segment's part of ΣWu over the scored."""
    weights = [(segment, m / q * u) for segment, m, q, u, x in slots if x is not None]
    return sum(w for segment, w in weights if segment == name) / sum(w for _, w in weights)


def must(found: Split | None) -> Split:
    """The split, which must be there."""
    assert found is not None
    return found


def test_another_mix_alone_is_all_mix() -> None:
    """No segment became worse: the mix explains everything."""
    before = {"good": even(*[0.0] * 9), "bad": even(1.0)}
    since = {"good": even(*[0.0] * 5), "bad": even(*[1.0] * 5)}
    found = must(split(before, since, None))
    assert found.mix == pytest.approx(0.4)
    assert found.within == 0.0
    assert found.explained_by_mix == 1.0


def test_a_new_segment_counts_against_the_mean_of_all() -> None:
    """Nobody knows what it was before: what it does worse than the mean is its own."""
    found = must(split({"a": even(0.0, 0.5)}, {"a": even(0.25, 0.25), "new": even(1.0, 1.0)}, None))
    assert found.segments[0].segment == "new"
    assert found.segments[0].before == 0.25
    assert (found.mix, found.within) == (0.0, 0.375)


def test_a_segment_that_is_gone_explains_by_its_absence() -> None:
    """Its share is now 0 and it has no mean; it is mix shift."""
    found = must(split({"a": even(1.0), "b": even(0.0)}, {"a": even(1.0)}, None))
    gone = found.segments[-1]
    assert (gone.segment, gone.share, gone.now, gone.within) == ("b", 0.0, None, 0.0)
    assert found.explained_by_mix == 1.0


def test_a_few_bad_scores_do_not_stand_before_many() -> None:
    """By the contribution less its error, not by the mean: one answer out of one is no finding."""
    before = {"large": even(*[0.0] * 90, *[1.0] * 10), "tiny": even(*[0.0] * 9, 1.0)}
    since = {"large": even(*[0.0] * 60, *[1.0] * 40), "tiny": even(1.0)}
    assert must(split(before, since, None)).segments[0].segment == "large"


def test_without_traffic_before_the_baseline_stands_in() -> None:
    """Then the mix is not known: all of the change is within segments."""
    found = must(split({}, {"a": even(1.0, 0.0), "b": even(0.0, 0.0)}, lambda _: 0.25))
    assert (found.before, found.now, found.mix, found.within) == (0.25, 0.25, None, 0.0)
    assert found.explained_by_mix is None
    assert [one.share_before for one in found.segments] == [None, None]


def test_nothing_scored_since_gives_no_split() -> None:
    """Only failed and unscored picks since: there is nothing to split."""
    assert split({"a": even(0.5)}, {"a": segment_terms(1, 1.0, 1.0, None, True)}, None) is None


@pytest.mark.parametrize(
    ("mix", "within", "share"),
    [(0.01, 0.03, 0.25), (-0.01, 0.04, -0.25), (0.02, -0.01, 1.0), (-0.01, -0.01, None)],
)
def test_what_the_mix_explains(mix: float, within: float, share: float | None) -> None:
    """A share of the worsening; negative where it hides some; none where nothing is worse."""
    assert Split(0.1, 0.1 + mix + within, mix, within, ()).explained_by_mix == (
        None if share is None else pytest.approx(share)
    )
