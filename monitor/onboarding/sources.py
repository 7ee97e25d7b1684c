"""Records to look at: the newest of a topic, or the first rows of a file. Commits nothing."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from monitor.errors import ConfigurationError, DependencyRefused
from monitor.evaluate.rows import NATIVE_COLUMNS, STDIN, STDIN_NAME, CsvColumns, opened
from monitor.kafka.cluster_state import Unanswered
from monitor.kafka.connection import Connection
from monitor.kafka.inspect import Inspector
from monitor.kafka.record import KafkaRecord
from monitor.onboarding.file_row import FileRow


async def newest(
    connection: Connection, topic: str, most: int, limit_s: float
) -> list[KafkaRecord]:
    """The newest records of a topic, of no consumer group, in the order of their times.

    Raises ``DependencyRefused`` where there is no such topic, or it may not be read.
    """
    inspector: Inspector | None = None
    try:
        inspector = await Inspector.start(connection, limit_s)
        found = (await inspector.topics([topic]))[topic]
        if not found.partitions:
            why = "may not be described" if found.hidden else "does not exist"
            raise DependencyRefused(f"topic {topic} {why}; set --topic")
        records: list[KafkaRecord] = []
        async for batch in inspector.newest(topic, found.partitions, most):
            records += batch
    except Unanswered as error:
        raise DependencyRefused(f"topic {topic} cannot be read: {error}") from error
    finally:
        if inspector is not None:
            await inspector.stop()
    return sorted(records, key=lambda one: (one.timestamp, one.partition, one.offset))[-most:]


def rows(
    file: Path, most: int, now_ms: int, columns: CsvColumns = NATIVE_COLUMNS
) -> list[KafkaRecord]:
    """The first rows of a file, of any kind that ``evaluate`` reads; ``-`` is standard input.

    ``now_ms`` stands for their time, in epoch milliseconds. ``columns`` says what the cells of CSV
    mean. Raises ``ConfigurationError``.
    """
    name = STDIN_NAME if str(file) == STDIN else file.name
    try:
        with opened(file, columns) as found:
            first = list(islice(found, most))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error
    return [FileRow(name, row.number - 1, row.value, now_ms, row.fault) for row in first]
