"""Records as a reader gives them, and their digest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.doctor.digest import Digest

NOW_MS = 1_800_000_000_000


@dataclass(frozen=True)
class Read:
    """One record that was read."""

    value: bytes | None
    key: bytes | None = None
    offset: int = 0
    topic: str = "in.v1"
    partition: int = 0
    timestamp: int = NOW_MS
    headers: Sequence[tuple[str, bytes | None]] = ()


def logged(name: str | None, **fields: Any) -> bytes:
    """An interaction as an application logs it."""
    found = {
        "interaction_id": name,
        "user_input": "How long?",
        "response": "Two years.",
        "retrieved_contexts": ["Two years."],
        "timestamp": NOW_MS,
        **fields,
    }
    return json.dumps({key: value for key, value in found.items() if value is not ...}).encode()


def digest(
    records: Iterable[Read],
    sampling_key: str = "interaction_id",
    segment_by: Sequence[str] = (),
    cluster_by: str | None = None,
) -> Digest:
    """All of them taken in."""
    found = Digest(NOW_MS, sampling_key, segment_by=lambda _: segment_by, cluster_by=cluster_by)
    for record in records:
        found.add(record)
    return found
