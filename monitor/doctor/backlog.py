"""What is unread, and what judging it and a day of traffic costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from monitor.app.backlog import Backlog, backlog
from monitor.config import Settings
from monitor.doctor.report import ReportLine, ok, warn
from monitor.errors import DependencyRefused
from monitor.kafka.connection import Connection
from monitor.runtime.health import Health

#: Seconds to connect.
LIMIT_S: Final = 10.0


async def examine(
    settings: Settings, clock: Callable[[], float], inputs: Connection
) -> list[ReportLine]:
    """Lines of what the group has not read; ``clock`` gives epoch seconds."""
    try:
        found = await backlog(settings, clock, inputs, Health(time.monotonic), LIMIT_S)
    except DependencyRefused as error:
        mend = "grant Read on the topics and Describe on the group, if they are not granted"
        return [warn("backlog", settings.kafka.group_id, f"not told: {error}", mend)]
    return lines(found, settings.ingest.start)


def lines(found: Backlog, start: str) -> list[ReportLine]:
    """What there is to say; ``start`` is ``ingest.start``."""
    shown = found.in_words()
    if found.is_new and found.unread:
        shown += f" (ingest.start: {start})"
    said = [ok("backlog", found.group_id, shown)]
    if cost := found.unbounded():
        mend = "set limits.usd_per_day; rag-monitor plan says what a budget buys"
        said.append(warn("budget", "limits.usd_per_day", f"none: {cost}", mend))
    return said
