"""What a cluster tells of topics and groups, and what is wrong with a topic's settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Unanswered(Exception):
    """The cluster does not tell; ``forbidden`` when it says that we may not ask."""

    def __init__(self, why: str, *, forbidden: bool = False) -> None:
        super().__init__(why)
        self.forbidden = forbidden


class TopicFound(NamedTuple):
    """A topic that was asked for.

    ``missing`` and ``hidden`` (no right to describe it) have no partitions; ``leaderless`` ones
    can be neither read nor written; ``least_in_sync`` is the smallest number of replicas in sync
    of any partition; ``rights`` None: not told.
    """

    missing: bool
    hidden: bool
    partitions: tuple[int, ...]
    leaderless: tuple[int, ...]
    least_in_sync: int
    rights: frozenset[str] | None


class GroupFound(NamedTuple):
    """A consumer group; ``members`` None: no broker knows it yet; ``rights`` None: not told."""

    hidden: bool
    members: int | None
    rights: frozenset[str] | None


def retention_complaint(configs: Mapping[str, str], keep_s: int) -> str | None:
    """What is wrong with a topic that must keep records for ``keep_s`` seconds, and the mend.

    >>> retention_complaint({"cleanup.policy": "delete", "retention.ms": "3600000"}, 86_400)
    'retention.ms is 3600000, gauges would lack records after a restart: set it to 86400000 or more'
    >>> retention_complaint({"cleanup.policy": "delete", "retention.ms": "-1"}, 86_400)
    """
    if "compact" in configs.get("cleanup.policy", ""):
        return "cleanup.policy compacts, records would be lost: set it to delete"
    kept = int(configs.get("retention.ms", "-1"))
    if 0 <= kept < keep_s * 1000:
        return (
            f"retention.ms is {kept}, gauges would lack records after a restart: "
            f"set it to {keep_s * 1000} or more"
        )
    return None
