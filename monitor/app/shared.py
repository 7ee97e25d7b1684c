"""What the roles of a process share: its settings, clusters, health, registry and threads."""

from __future__ import annotations

import time
from collections.abc import Callable

from monitor.app.connections import connection, output_connection
from monitor.config import Settings
from monitor.control.controls import Controls
from monitor.ingest.offload import LONGEST_S
from monitor.runtime.health import Health
from monitor.runtime.threads import Threads
from monitor.telemetry import new_registry


class Shared:
    """Made once for a process. ``clock`` gives epoch seconds."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        self.settings, self.clock = settings, clock
        self.registry = new_registry()
        self.health = Health(time.monotonic)
        self.connection = connection(settings)
        #: Of the topics that the monitor writes; the same one unless ``kafka_output`` is set.
        self.output = output_connection(settings, self.connection)
        self.clusters = list({id(each): each for each in (self.connection, self.output)}.values())
        self.controls = Controls()
        longest_s = min(LONGEST_S, settings.ingest.stuck_after_s)
        self.threads = Threads("redaction", limit_s=longest_s)
