"""Which log each partition is read in, by the ids of topics: one made anew has another id."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aiokafka import TopicPartition


class KnownLogs:
    """What is known in one assignment.

    >>> one, other = TopicPartition("t", 0), TopicPartition("t", 1)
    >>> known = KnownLogs()
    >>> known.looked([one], {"t": b"1"})
    {'t': []}
    >>> known.begun([other], {"t": b"2"})
    >>> known.looked([one, other], {"t": b"2"}), known.is_old(one), known.is_old(other)
    ({'t': [TopicPartition(topic='t', partition=0)]}, True, False)
    >>> known.begun_again([one])
    >>> known.looked([one, other], {"t": b"2"})
    {'t': []}
    """

    def __init__(self) -> None:
        self._ids: dict[TopicPartition, bytes] = {}
        self._old: set[TopicPartition] = set()
        #: Of this assignment, and those before it.
        self.topics_read: set[str] = set()

    def begun(self, partitions: Collection[TopicPartition], ids: Mapping[str, bytes]) -> None:
        """Nothing was read of these before; without an id the next look learns it."""
        for partition in partitions:
            self._ids.pop(partition, None)
            if partition.topic in ids:
                self._ids[partition] = ids[partition.topic]
        self._old.difference_update(partitions)

    def looked(
        self, assigned: Collection[TopicPartition], ids: Mapping[str, bytes]
    ) -> dict[str, list[TopicPartition]]:
        """Topic → its partitions that are read in a log that is no more, of all that have an id."""
        for partition in assigned:
            if (found := ids.get(partition.topic)) is not None:
                if self._ids.get(partition, found) != found:
                    self._old.add(partition)
                self._ids[partition] = found
        self.topics_read |= ids.keys()
        return {topic: sorted(p for p in self._old if p.topic == topic) for topic in ids}

    def begun_again(self, partitions: Collection[TopicPartition]) -> None:
        """They are read from the beginning of their new log now."""
        self._old.difference_update(partitions)

    def is_old(self, partition: TopicPartition) -> bool:
        """Whether its position says nothing of the log that there is now."""
        return partition in self._old

    def revoked(self) -> None:
        """Whoever has the partitions next may read other logs before they come back."""
        self._ids.clear()
        self._old.clear()
