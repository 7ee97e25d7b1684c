"""Records that nobody expects: how they are made, and what a mixture of them holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from tests.servers.kafka_topics import Record
from tests.stages import hostile_oracle
from tests.stages.hostile_oracle import Fate
from tests.stages.plain import WARRANTY, encoded, interaction

#: The header that says which kind a record is of.
KIND_HEADER = "x-kind"

Make = Callable[[Random, str], Record]


class Kind(NamedTuple):
    """One kind of record. Without a fate, the oracle says it record by record.

    ``number`` records are made of it; None: an equal share of those that the others leave.
    ``kept`` says whether a dead letter must hold the value.
    """

    name: str
    fate: Fate | None
    make: Make
    number: int | None = None
    kept: bool = True


class Hostile(NamedTuple):
    """A record, its kind, and its fate."""

    record: Record
    kind: Kind
    fate: Fate


def mixture(kinds: Sequence[Kind], count: int, seed: int) -> list[Hostile]:
    """``count`` records of all kinds in random order, with ids of their own."""
    rng = Random(seed)
    shares = [kind for kind in kinds if kind.number is None]
    each, more = divmod(count - sum(kind.number or 0 for kind in kinds), len(shares))
    made: list[Hostile] = []
    for kind in kinds:
        share = each + (kind in shares[:more]) if kind.number is None else kind.number
        made += [one_of(kind, rng, f"h{len(made) + i:05d}") for i in range(share)]
    rng.shuffle(made)
    return made


def one_of(kind: Kind, rng: Random, name: str) -> Hostile:
    """A record of the kind, whose header says so."""
    record = kind.make(rng, name)
    headers = (*record.headers, (KIND_HEADER, kind.name.encode()))
    return Hostile(
        replace(record, headers=headers), kind, kind.fate or hostile_oracle.fate(record.value)
    )


def mixed_with(good: Iterator[Hostile], hostile: Sequence[Hostile], every: int) -> list[Hostile]:
    """The hostile ones with a good one after every ``every`` of them."""
    mixed: list[Hostile] = []
    for i, one in enumerate(hostile, 1):
        mixed.append(one)
        if i % every == 0:
            mixed.append(next(good))
    return mixed


def rich(name: str) -> bytes:
    """An interaction in which every field has a value: there is something to break everywhere."""
    return encoded(
        interaction(
            name,
            timestamp="2026-11-20T12:00:00Z",
            response=f"{WARRANTY} 保修期为 24 个月。",
            retrieved_contexts=[
                WARRANTY,
                {"id": "doc-7#3", "text": "Batteries 电池 last.", "score": 0.83, "relevant": True},
            ],
            attributes={"tenant": "acme", "cost": 0.25, "tags": ["a", None, 3]},
            prompt_version="v12",
        )
    )


def with_fields(**fields: Any) -> Make:
    """A good one but for these fields."""
    return lambda _, name: Record(encoded(interaction(name, **fields)), key=name.encode())


def any_of(field: str, values: Sequence[Any]) -> Make:
    """A good one with one of these values in a field."""
    return lambda rng, name: with_fields(**{field: rng.choice(values)})(rng, name)


def without(field: str) -> Make:
    """A good one without a field."""
    return lambda _, name: Record(
        encoded({key: value for key, value in interaction(name).items() if key != field})
    )


def with_member(*members: str | bytes) -> Make:
    """A good one with one of these members, as it stands, at the end of its object."""

    def make(rng: Random, name: str) -> Record:
        member = rng.choice(members)
        tail = member.encode() if isinstance(member, str) else member
        return Record(encoded(interaction(name))[:-1] + b"," + tail + b"}", key=name.encode())

    return make


def changed(change: Callable[[Random, bytes], bytes | None]) -> Make:
    """A rich one whose bytes are changed."""
    return lambda rng, name: Record(change(rng, rich(name)), key=name.encode())


def fixed(*values: bytes | None) -> Make:
    """One of these values."""
    return changed(lambda rng, _: rng.choice(values))


def framed(value: bytes | None = b"good", **frame: Any) -> Make:
    """Key, headers and timestamp as given, around this value or a good one."""
    return lambda _, name: Record(
        encoded(interaction(name)) if value == b"good" else value,
        **{"key": name.encode(), **frame},
    )


def bit_flipped(rng: Random, value: bytes) -> bytes:
    """One to three bits the other way round."""
    damaged = bytearray(value)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def truncated(rng: Random, value: bytes) -> bytes:
    """Its beginning, at least one byte of it."""
    return value[: rng.randrange(1, len(value))]


def scribble(rng: Random, _: bytes) -> bytes:
    """Bytes of JSON's own alphabet, in any order."""
    return bytes(rng.choices(b'{}[]",:0123456789.eE+-truefalsn\\u \n', k=rng.randrange(1, 60)))


def nested(levels: int) -> Any:
    """A number in so many lists."""
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found
