"""What the benchmarks of whole processes share: topics, a backlog, and what became of it."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from confluent_kafka import Producer

from monitor.records import ScoreRecord, read_score_record
from tests.servers.kafka_topics import create_topic, read_all
from tests.stages.process import MonitorProcess, outcomes, until

Settings = dict[str, Any]


async def new_topics(bootstrap: str, partitions: int) -> Settings:
    """Settings of a monitor with topics and a group of its own."""
    run = uuid.uuid4().hex[:8]
    keys = ("interactions", "scores", "dead_letters", "control", "alarms")
    names = {key: f"{key}-{run}" for key in keys}
    for name in names.values():
        # The time of a score record is then when the broker took it.
        appended = {"message.timestamp.type": "LogAppendTime"} if "scores" in name else {}
        await create_topic(bootstrap, name, partitions, appended)
    settings = {f"kafka__topics__{key}": name for key, name in names.items()}
    return {**settings, "kafka__group_id": f"group-{run}"}


def interactions(count: int, size: int, seed: int = 1) -> Iterable[tuple[str, bytes]]:
    """(id, value) of interactions of about ``size`` bytes, made of words that do not repeat soon.

    One sentence of the response stands in a passage. Values differ by their ids and in parts.
    """
    rng = Random(seed)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(5_000)]
    templates = [_template(rng, words, size) for _ in range(200)]
    for i in range(count):
        name = f"i{i:07d}"
        yield name, templates[i % len(templates)].replace(b"NUMBER", name.encode())


def _template(rng: Random, words: list[str], size: int) -> bytes:
    def text(characters: int) -> str:
        return " ".join(rng.choices(words, k=max(1, characters // 8))).capitalize() + "."

    told = text(60)
    fields = {
        "interaction_id": "NUMBER",
        "application": "bench",
        "user_input": f"What of NUMBER {text(40)}?",
        "response": f"{told} {text(60)}",
        "retrieved_contexts": [f"{told} {text((size - 500) // 2)}", text((size - 500) // 2)],
        "reference": told,
    }
    return json.dumps(fields).encode()


def write_backlog(bootstrap: str, topic: str, records: Iterable[tuple[str, bytes]]) -> None:
    """Write quickly; back when all of it is acknowledged. Blocks: call it in a thread."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 50, "compression.type": "zstd", "acks": "all"}
    )
    for name, value in records:
        while True:
            try:
                producer.produce(topic, value, name)
                break
            except BufferError:
                producer.poll(0.1)
    if left := producer.flush(120):
        raise RuntimeError(f"{left} records were not written")


async def all_ended(scorers: Sequence[MonitorProcess], count: int, patience_s: float) -> None:
    """Wait until the scorers together have ended ``count`` interactions that none of them reads
    again.
    """

    async def ended() -> bool:
        pages = [outcomes(await scorer.metrics()) for scorer in scorers]
        return sum(n for page in pages for key, n in page.items() if key != "handed_over") >= count

    await until(ended, f"{count} outcomes", patience_s, every_s=0.5)


async def score_records(bootstrap: str, topic: str) -> list[tuple[ScoreRecord, float]]:
    """All of a topic, and when each was written there, in epoch seconds."""
    return [
        (read_score_record(record.value or b""), (record.timestamp_ms or 0) / 1000)
        for record in await read_all(bootstrap, topic)
    ]


def memory_mb(pid: int, field: str) -> float:
    """``VmRSS`` (now) or ``VmHWM`` (the most so far) of a process, in 10⁶ bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        found = re.search(rf"^{field}:\s+(\d+) kB", status.read(), re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def quantile(values: Iterable[float], share: float) -> float:
    """The value that ``share`` of them do not exceed.

    >>> quantile([3, 1, 2], 0.5)
    2
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
