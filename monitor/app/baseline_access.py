"""Settings → what commands about baselines ask for."""

from __future__ import annotations

import time

from monitor.app.connections import connection, output_connection
from monitor.app.scores import aggregators
from monitor.config import Settings
from monitor.exporter.baselines.commands import BaselineAccess
from monitor.runtime.health import Health


def baseline_access(settings: Settings, limit_s: float) -> BaselineAccess:
    """The topics, with empty aggregators; ``limit_s``: seconds for reading, and for writing."""
    return BaselineAccess(
        output_connection(settings, connection(settings)),
        settings.kafka.topics.scores,
        settings.kafka.topics.control,
        Health(time.monotonic),
        limit_s,
        *aggregators(settings),
    )
