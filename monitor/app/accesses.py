"""Settings → what commands ask for: where they read and write, and for how long."""

from __future__ import annotations

import time

from monitor.app.connections import connection, output_connection
from monitor.app.formats import span_topics
from monitor.config import Settings
from monitor.control.commands import ControlAccess
from monitor.ingest.dead_letters.commands import DeadLetterAccess
from monitor.runtime.health import Health


def control_access(settings: Settings, limit_s: float) -> ControlAccess:
    """For pauses; ``limit_s``: seconds for reading, and for writing."""
    return ControlAccess(
        output_connection(settings, connection(settings)),
        settings.kafka.topics.control,
        Health(time.monotonic),
        limit_s,
    )


def dead_letter_access(settings: Settings, limit_s: float) -> DeadLetterAccess:
    """For dead letters, and for the topics that they go back to."""
    kafka, inputs = settings.kafka, connection(settings)
    return DeadLetterAccess(
        dead_letters=output_connection(settings, inputs),
        topic=kafka.topics.dead_letters,
        inputs=inputs,
        input_topics=kafka.topics.interactions,
        group_id=f"{kafka.group_id}-redrive",
        health=Health(time.monotonic),
        limit_s=limit_s,
        span_topics=span_topics(settings),
    )
