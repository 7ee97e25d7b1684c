"""Sampling by a consistent hash: nested, close to its rate, the same everywhere."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.sampling.hashing import Sampler, is_sampled, unit_hash
from tests.unit.sampling.blake2b import blake2b

IDS = [f"interaction-{i}".encode() for i in range(20_000)]


def test_the_reference_hash_is_that_of_the_rfc() -> None:
    """The digest of "abc" in RFC 7693, appendix A."""
    assert blake2b(b"abc").hex().startswith("ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b7")


@settings(max_examples=30)
@given(st.binary(max_size=300), st.floats(0, 1))
def test_screening_is_the_first_eight_bytes_of_blake2b(key: bytes, q: float) -> None:
    """Of the 64-byte digest, as a big-endian fraction of 2^64, compared exactly with q."""
    h = Fraction(int.from_bytes(blake2b(key)[:8], "big"), 2**64)
    assert unit_hash(key) == float(h)
    assert is_sampled(key, q) == (h < Fraction(q))


@given(st.binary(), st.floats(0, 1), st.floats(0, 1))
def test_sampling_is_nested(key: bytes, p: float, q: float) -> None:
    """Who is taken at a rate is taken at every larger one."""
    assert is_sampled(key, max(p, q)) >= is_sampled(key, min(p, q))


@pytest.mark.parametrize("q", [0.01, 0.1, 0.5, 0.9])
def test_the_share_is_close_to_the_rate(q: float) -> None:
    """Consecutive ids are taken as if drawn by lot: within four standard deviations."""
    taken = sum(is_sampled(key, q) for key in IDS)
    assert abs(taken - q * len(IDS)) < 4 * math.sqrt(len(IDS) * q * (1 - q))


@given(st.binary())
def test_a_rate_of_one_takes_all_and_of_zero_none(key: bytes) -> None:
    """Also the very last hash, which rounds up to 1.0."""
    assert is_sampled(key, 1.0)
    assert not is_sampled(key, 0.0)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("interaction_id", None),
        ("record_key", b"k"),
        ("header:session", b"s"),
        ("header:empty", None),
        ("header:null", None),
        ("header:Session", None),
        ("header:missing", None),
    ],
)
def test_which_key_is_hashed(setting: str, expected: bytes | None) -> None:
    """The record's key or a header; None means that the interaction id has to be decoded."""
    headers = [("empty", b""), ("null", None), ("session", b"s"), ("session", b"second")]
    assert Sampler(0.5, setting).record_key(b"k", headers) == expected


@pytest.mark.parametrize("key", [None, b""])
def test_an_empty_record_key_is_none(key: bytes | None) -> None:
    """A constant key would take all or nothing, so the id is hashed instead."""
    assert Sampler(0.5, "record_key").record_key(key, []) is None


def test_only_the_interaction_id_needs_decoding() -> None:
    """Key and headers are known before the record is decoded."""
    needing = [key for key in ("interaction_id", "record_key", "header:x") if _needs(key)]
    assert needing == ["interaction_id"]


def _needs(key: str) -> bool:
    return Sampler(1.0, key).needs_decoding


@given(st.binary(), st.floats(0, 1))
def test_a_sampler_takes_what_is_screened_at_its_rate(key: bytes, rate: float) -> None:
    """The sampler adds nothing to the hash: replicas agree."""
    assert Sampler(rate).takes(key) == is_sampled(key, rate)
