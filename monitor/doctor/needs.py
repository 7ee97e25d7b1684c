"""Which topics the monitor needs, and what it must be allowed to do with each. Pure."""

from __future__ import annotations

from typing import NamedTuple

from monitor.config import Settings


class Need(NamedTuple):
    """One topic. Without a right of ``must`` the monitor stops; without one of ``may`` it does not.

    ``setting`` is the last part of its path below ``kafka.topics``.
    """

    topic: str
    setting: str
    must: frozenset[str]
    may: frozenset[str] = frozenset()


def input_needs(settings: Settings) -> list[Need]:
    """The topics of interactions, which are read."""
    names, rights = settings.kafka.topics.interactions, frozenset({"describe", "read"})
    return [Need(name, "interactions", rights) for name in names]


def output_needs(settings: Settings) -> list[Need]:
    """The topics that the monitor writes."""
    topics = settings.kafka.topics
    every = frozenset({"describe", "read", "write"})
    return [
        Need(topics.scores, "scores", every),
        # Read only to list and to redrive them.
        Need(
            topics.dead_letters,
            "dead_letters",
            frozenset({"describe", "write"}),
            frozenset({"read"}),
        ),
        # Read by exporters, and by scorers: pauses, calibrations. Written only to publish and to
        # decide about baselines, to publish calibrations, and to pause.
        Need(
            topics.control,
            "control",
            frozenset({"describe", "read"}),
            frozenset({"write"}),
        ),
        # Without the right to write, alarms have gauges, but are neither explained nor told.
        Need(
            topics.alarms,
            "alarms",
            frozenset({"describe", "read"}),
            frozenset({"write"}),
        ),
    ]
