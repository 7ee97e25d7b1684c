"""The decoder against an oracle that was written apart from it, over the hostile kinds."""

from __future__ import annotations

from random import Random

import pytest

from monitor.errors import MessageRejected
from monitor.ingest.formats.native import decode, logged_id
from monitor.records import Source
from tests.stages import hostile_oracle
from tests.stages.hostile import Kind, bit_flipped, mixture, one_of, rich
from tests.stages.hostile_kinds import GOOD, KINDS
from tests.stages.hostile_oracle import Fate

SOURCE = Source(topic="rag.interactions.v1", partition=3, offset=42)
NOON_MS = 1_795_176_000_000
#: What only the judge can say of an interaction that could be read.
READ = {"scored", "unscorable", "judge_failed"}


def decoded(value: bytes) -> Fate:
    """What the decoder says: a reason, or that there is something to score."""
    try:
        decode(value, SOURCE, NOON_MS)
    except MessageRejected as error:
        return Fate("dead_lettered", error.cause)
    return hostile_oracle.SCORED


@pytest.mark.parametrize("kind", [*KINDS, GOOD], ids=lambda kind: str(kind.name))
def test_table_oracle_and_decoder_agree(kind: Kind) -> None:
    """Every kind has one stated fate, which two readers of the bytes come to independently."""
    rng = Random(kind.name)
    for i in range(min(kind.number or 20, 50)):
        made = one_of(kind, rng, f"n{i}")
        if made.record.value is None:
            assert made.fate == hostile_oracle.TOMBSTONE
            continue
        read = hostile_oracle.SCORED if made.fate.outcome in READ else made.fate
        assert hostile_oracle.fate(made.record.value) == read
        assert decoded(made.record.value) == read


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits_are_read_as_the_oracle_reads_them(seed: int) -> None:
    """Thousands of records with one to three wrong bits: the same ones are read, and why not."""
    rng, fates = Random(seed), set()
    for i in range(2_500):
        value = bit_flipped(rng, rich(f"n{i}"))
        fate = hostile_oracle.fate(value)
        assert decoded(value) == fate, value
        fates.add(fate.reason)
    assert fates == {"", "invalid_json", "missing_field", "wrong_value"}


def looked_up(value: bytes) -> str | Fate:
    """What a look at the id alone says; without one it is the place."""
    try:
        return logged_id(value) or "rag.interactions.v1/3/42"
    except ValueError:
        return Fate("dead_lettered")


def agrees(value: bytes) -> bool:
    """Whether a look at the id alone comes to what the decoder says, as far as the look goes."""
    looked = looked_up(value)
    try:
        return looked == decode(value, SOURCE, NOON_MS).interaction.interaction_id
    except MessageRejected as error:
        return isinstance(looked, Fate) or error.stage == "validate"


def test_the_look_at_the_id_alone_agrees_with_the_decoder() -> None:
    """The same id, which decides on sampling; what is no JSON or has no id is refused by both."""
    rng = Random(7)
    values = [one_of(kind, rng, f"n{i}").record.value for kind in KINDS for i in range(5)]
    values += [bit_flipped(rng, rich(f"n{i}")) for i in range(5_000)]
    values += [
        rich("first")[:-1] + b', "interaction_id": ' + again + b"}"
        for again in (b'"last"', b"null", b'""', b"5", b'"\\u006c"', b'"\\ud800"')
    ]
    assert [value for value in values if value is not None and not agrees(value)] == []
    assert {type(looked_up(value)) for value in values if value} == {str, Fate}


def test_a_mixture_is_whole_and_the_same_for_a_seed() -> None:
    """As many records as asked for, of every kind, and all kinds have names of their own."""
    kinds = [kind for kind in KINDS if (kind.number or 0) != 3]
    small = [kind._replace(number=min(kind.number, 5) if kind.number else None) for kind in kinds]
    made = mixture(small, 1_000, seed=1)
    assert len(made) == 1_000
    assert {each.kind.name for each in made} == {kind.name for kind in kinds}
    assert len({kind.name for kind in kinds}) == len(kinds)
    again = mixture(small, 1_000, seed=1)
    assert [each.record for each in again] == [each.record for each in made]
