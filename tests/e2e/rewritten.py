"""One interaction in many spellings: each says the same, and must be scored the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

from tests.stages.plain import interaction

Fields = dict[str, Any]
Spelling = Callable[[Fields, Random], bytes]

WRONG = "The moon is made of green cheese, says Acme."
_FACTS = (
    (
        "The warranty lasts 24 months.",
        "The battery has 3,000 mAh.",
        "Returns are free for 30 days.",
    ),
    ("保修期为 24 个月。", "电池容量为 3000 毫安时。", "30 天内可以免费退货。"),
    ("Die Garantie läuft 24 Monate.", "Der Akku hat 3000 mAh.", "Rückgabe 30 Tage lang gratis."),
)


def honest(number: int, noon: datetime) -> Fields:
    """An interaction with right and wrong claims, some of them from a passage; at ``noon``."""
    rng = Random(number)
    facts = rng.sample(_FACTS[number % len(_FACTS)], 3)
    told = [*facts[: rng.choice([1, 2])], WRONG]
    fields = interaction(
        f"honest-{number}",
        timestamp=(noon + timedelta(milliseconds=number)).isoformat(timespec="milliseconds"),
        response=" ".join(told),
        retrieved_contexts=[facts[1], f'{WRONG} 😀 / \\ "'],
        reference=" ".join(facts[:2]),
        attributes={"tenant": "acme", "empty": None},
    )
    return fields if number % 4 else fields | {"reference": None}


def plain(fields: Fields, _: Random | None = None) -> bytes:
    """As Python writes it."""
    return json.dumps(fields).encode()


def _with(change: Callable[[Fields, Random], Fields]) -> Spelling:
    return lambda fields, rng: plain(change(fields, rng))


def _shuffled(fields: Fields, rng: Random) -> Fields:
    return dict(rng.sample(list(fields.items()), len(fields)))


def _escaped(fields: Fields, _: Random) -> bytes:
    """Every character of every string and name as an escape, hex digits in both cases."""

    def escape(text: str) -> str:
        units = text.encode("utf-16-be")
        pairs = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
        return '"' + "".join(f"\\u{x.upper() if i % 2 else x}" for i, x in enumerate(pairs)) + '"'

    def write(found: Any) -> str:
        if isinstance(found, dict):
            return "{" + ",".join(f"{escape(k)}:{write(v)}" for k, v in found.items()) + "}"
        if isinstance(found, list):
            return "[" + ",".join(map(write, found)) + "]"
        return escape(found) if isinstance(found, str) else json.dumps(found)

    return write(fields).encode()


def _time(fields: Fields) -> datetime:
    return datetime.fromisoformat(fields["timestamp"])


def _timed(form: Callable[[datetime], object]) -> Spelling:
    return _with(lambda fields, _: fields | {"timestamp": form(_time(fields))})


def _objects(fields: Fields, rng: Random) -> Fields:
    """Passages as objects, with what else a retriever knows of them."""
    known: list[Fields] = [
        {"text": text, "id": f"doc-{i}", "score": rng.random(), "rank": i, "relevant": None}
        for i, text in enumerate(fields["retrieved_contexts"])
    ]
    return fields | {"retrieved_contexts": known}


def _bare_objects(fields: Fields, _: Random) -> Fields:
    return fields | {"retrieved_contexts": [{"text": x} for x in fields["retrieved_contexts"]]}


def _without_nulls(fields: Fields, _: Random) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}


def _unknown(fields: Fields, rng: Random) -> Fields:
    more: Fields = {"trace": {"spans": [1, 2.5, None, {"a": "😀"}]}, "model_config": 1, "": "empty"}
    return _shuffled({**fields, **more, **{f"f{i}": i for i in range(200)}}, rng)


def _repeated(fields: Fields, _: Random) -> bytes:
    """A name twice: the last one counts."""
    return b'{"response": "An earlier draft.", "reference": [], ' + plain(fields)[1:]


SPELLINGS: dict[str, Spelling] = {
    "raw_utf_8": lambda fields, _: json.dumps(fields, ensure_ascii=False).encode(),
    "compact": lambda fields, _: json.dumps(fields, separators=(",", ":")).encode(),
    "indented": lambda fields, _: json.dumps(fields, indent="\t").replace("\n", "\r\n").encode(),
    "surrounded": lambda fields, _: b"\n \t\r" + plain(fields) + b"\r\n\r\n",
    "escaped": _escaped,
    "slashes": lambda fields, _: plain(fields).replace(b" / ", b" \\/ "),
    "shuffled": _with(_shuffled),
    "sorted": lambda fields, _: json.dumps(fields, sort_keys=True).encode(),
    "repeated": _repeated,
    "unknown_fields": _with(_unknown),
    "without_nulls": _with(_without_nulls),
    "null_fields": _with(lambda fields, _: {"trace_id": None, **fields, "segment": None}),
    "passages_as_objects": _with(_objects),
    "passages_as_bare_objects": _with(_bare_objects),
    "time_z": _timed(lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"),
    "time_lower": _timed(lambda t: t.isoformat().replace("T", "t").replace("+00:00", "z")),
    "time_microseconds": _timed(lambda t: t.isoformat(timespec="microseconds")),
    "time_nanoseconds": _timed(lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"),
    "time_zone": _timed(
        lambda t: t.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat()
    ),
    "time_milliseconds": _timed(lambda t: round(t.timestamp() * 1000)),
    "time_float": _timed(lambda t: float(round(t.timestamp() * 1000))),
    "time_space": _timed(lambda t: t.isoformat(" ")),
}


def all_spellings(count: int, now: datetime) -> Iterator[tuple[str, str, bytes]]:
    """(interaction, spelling, value) of ``count`` interactions an hour before ``now``."""
    noon = (now - timedelta(hours=1)).astimezone(UTC).replace(microsecond=0)
    rng = Random(count)
    for number in range(count):
        fields = honest(number, noon)
        yield fields["interaction_id"], "plain", plain(fields)
        for name, spelling in SPELLINGS.items():
            yield fields["interaction_id"], name, spelling(fields, rng)
