"""Settings → the topics that the monitor needs, and for how long their records are kept."""

from __future__ import annotations

from monitor.config import Settings, seconds
from monitor.kafka.topics import TopicSpec
from monitor.stats.period import DAY_S, LENGTHS, HorizonSpan


def keep_seconds(settings: Settings, span: HorizonSpan) -> int:
    """How long score records must be kept: two periods, or what else is held, and a day."""
    return span.most_held_s(map(seconds, settings.export.windows)) + DAY_S


def topic_specs(settings: Settings) -> list[TopicSpec]:
    """What ``kafka.create_topics`` creates; the score records outlive every window."""
    topics = settings.kafka.topics
    # As long as the longest period asks for, where it goes by how many are judged.
    longest_s = settings.drift.period_s or LENGTHS[-1] * DAY_S
    keep_ms = keep_seconds(settings, HorizonSpan(longest_s)) * 1000
    compacted = {"cleanup.policy": "compact"}
    return [
        *(TopicSpec(name) for name in topics.interactions),
        TopicSpec(
            topics.scores, configs={"cleanup.policy": "delete", "retention.ms": str(keep_ms)}
        ),
        TopicSpec(topics.dead_letters),
        TopicSpec(topics.control, 1, compacted),
        TopicSpec(topics.alarms, 1, compacted),
    ]
