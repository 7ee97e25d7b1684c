"""What is dropped before decoding is what no sampler would have taken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.sampling.hashing import MultiPrefilter, Sampler

RATES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
KEYS = st.sampled_from(["interaction_id", "record_key", "header:a", "header:b"])
SAMPLERS = st.lists(st.builds(Sampler, RATES, KEYS), min_size=1, max_size=4)
HEADERS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.none() | st.binary(max_size=4)))


@given(samplers=SAMPLERS, key=st.none() | st.binary(max_size=4), headers=HEADERS)
def test_nothing_is_dropped_that_a_sampler_takes(
    samplers: list[Sampler], key: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    """Dropped exactly when each sampler says no by a key that is there, or takes nothing."""
    found = [(sampler, sampler.record_key(key, headers)) for sampler in samplers]
    possible = any(
        sampler.rate > 0 and (name is None or sampler.takes(name)) for sampler, name in found
    )
    assert MultiPrefilter(samplers).may_take(key, headers) == possible


def test_one_key_is_hashed_once() -> None:
    """The largest rate stands for all, since the hashes are nested."""
    prefilter = MultiPrefilter(
        [Sampler(0.1, "record_key"), Sampler(0.5, "record_key"), Sampler(0.0)]
    )
    assert prefilter.samplers == (Sampler(0.5, "record_key"),)
