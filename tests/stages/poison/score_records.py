"""Hostile score records, for whoever reads the topic of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from tests.servers.kafka_topics import Record
from tests.stages.poison.batches import Long, one_record
from tests.stages.poison.records import BIDI, BOMB_BYTES, HEADERS, MB, Poison

APPLICATIONS, JUDGES = 5_000, 2_000
GOOD = "bot"
_offsets = count()


def score(name: str, **fields: Any) -> dict[str, Any]:
    """A record of a faithful answer half a minute ago, but for ``fields``; each its own slot."""
    offset, now = next(_offsets), datetime.now(UTC)
    sampling = {"first_offset": offset, "last_offset": offset, "kind": "without_reference"}
    return {
        "schema": "rag.score/1",
        "application": GOOD,
        "interaction_id": name,
        "event_time": (now - timedelta(seconds=30)).isoformat(),
        "judged_at": (now - timedelta(seconds=29)).isoformat(),
        "source": {"topic": "rag.interactions.v1", "partition": 0, "offset": offset},
        "judge": judge("1"),
        "sampling": {**sampling, "m": 1, "q": 1.0, "u": 1.0},
        "scores": {"faithfulness": 1.0},
        "outcome": "scored",
        **fields,
    }


def judge(version: str) -> dict[str, str]:
    """A judge of this version."""
    return {"name": "j", "version": version, "model": "m", "prompts": "-", "pipeline": "joint"}


def written(found: dict[str, Any]) -> Record:
    """Its record."""
    return Record(json.dumps(found).encode(), key=str(found["interaction_id"])[:99].encode())


def _with(**fields: Any) -> Callable[[str], list[Record | bytes]]:
    """Records of another application that has one of these values in a field."""

    def make(name: str) -> list[Record | bytes]:
        return [written(score(name, **{"application": "hostile", **fields}))]

    return make


def _many(number: int, fields: Callable[[int], dict[str, Any]]) -> Callable[[str], Any]:
    def make(name: str) -> list[Record | bytes]:
        return [written(score(f"{name}-{i}", **fields(i))) for i in range(number)]

    return make


def _sampled(**fields: Any) -> Callable[[str], list[Record | bytes]]:
    def make(name: str) -> list[Record | bytes]:
        found = score(name, application="hostile")
        return [written({**found, "sampling": {**found["sampling"], **fields}})]

    return make


def _raw(*values: bytes | None) -> Callable[[str], list[Record | bytes]]:
    return lambda name: [Record(value, key=name.encode()) for value in values]


def _members(*members: str) -> Callable[[str], list[Record | bytes]]:
    """Records that end in one of these members, as it stands."""

    def make(name: str) -> list[Record | bytes]:
        value = json.dumps(score(name, application="hostile"))[:-1]
        return [Record(f"{value},{member}}}".encode()) for member in members]

    return make


def _bomb(codec: str) -> Callable[[str], list[Record | bytes]]:
    def make(name: str) -> list[Record | bytes]:
        value = Long(b'{"schema":"rag.score/1","x":"', b"a", b'"}', BOMB_BYTES)
        return [one_record(name.encode(), value, codec=codec)]

    return make


def _headers(name: str) -> list[Record | bytes]:
    value = json.dumps(score(name, application="hostile")).encode()
    return [one_record(name.encode(), Long(value, b" ", b"", 0), [(b"a", b"")] * HEADERS)]


def _usages() -> Iterator[str]:
    for usd in ("1e308", "-1e308", "NaN", "1e400", f"1{'0' * 4_000}"):
        yield f'"usage": {{"calls": 1, "usd": {usd}}}'


def poisons() -> Iterator[Poison]:
    """All of them; what becomes of each is the exporter's choice."""
    makes: dict[str, Callable[[str], list[Record | bytes]]] = {
        "bomb_zstd": _bomb("zstd"),
        "bomb_gzip": _bomb("gzip"),
        "headers_1e6": _headers,
        "newer_major": _with(schema="rag.score/2"),
        "newer_minor": _with(schema="rag.score/1.7", more={"x": 1}),
        "strange_schema": _with(schema="rag.score/" + "9" * 900_000),
        "unknown_field": _with(more=[1]),
        "usages": _members(*_usages()),
        "weights": _sampled(q=5e-324, u=1e300, m=10**30),
        "heaviest": _sampled(q=1e-300, u=2.0**60, m=2**62),
        "applications_5000": _many(APPLICATIONS, lambda i: {"application": f"session-{i}"}),
        "judges_2000": _many(JUDGES, lambda i: {"application": "x", "judge": judge(str(i))}),
        "segments_20000": _sampled(segments={f"tenant-{i}": 1 for i in range(20_000)}),
        "years": _many(3, lambda i: {"event_time": f"{(1, 9999, 5195)[i]:04}-01-01T00:00:00Z"}),
        "metrics_30000": _with(scores={f"m{i}": 1.0 for i in range(30_000)}),
        "claims_20000": _with(claims={"response": [f"Claim {i}." for i in range(20_000)]}),
        "controls": _with(application=f"app{BIDI}", segment=BIDI, interaction_id=BIDI),
        "id_1mb": _with(interaction_id="x" * MB),
        "deep_nesting": _members(f'"x": {"[" * 400_000}{"]" * 400_000}'),
        "no_records": _raw(None, b"", b"null", b"[]", b"\xff\x00", b'{"schema": "\\ud800"}'),
    }
    for name, make in makes.items():
        yield Poison(name, (), make)
