"""Which log each partition is read in, by the ids of topics: one made anew has another id."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aiokafka import TopicPartition

from monitor.kafka.flexible_requests import GONE


def is_of_another_log(mark: str, found: str) -> bool:
    """Whether what was committed with this mark says nothing of the log that was found.

    What was brought from another cluster, as MirrorMaker brings it, was put right on the way; and
    of what stands there without a mark, or with another tool's, nothing is known.

    >>> is_of_another_log("c/1", "c/2"), is_of_another_log("c/1", "c/1")
    (True, False)
    >>> is_of_another_log("other/1", "c/2"), is_of_another_log("", "c/2")
    (False, False)
    """
    cluster, _, _ = found.rpartition("/")
    return mark != found and mark.startswith(f"{cluster}/")


class KnownLogs:
    """What is known of the partitions of one assignment, and of topics since the start.

    ``ids`` is topic → its id, ``GONE`` where there is no such topic; what is not told is left out.

    >>> one, other = TopicPartition("t", 0), TopicPartition("t", 1)
    >>> known = KnownLogs()
    >>> known.looked([one], {"t": "c/1"})
    {'t': []}
    >>> known.begun([other], {"t": "c/2"})
    >>> known.looked([one, other], {"t": "c/2"}), known.is_old(one), known.is_old(other)
    ({'t': [TopicPartition(topic='t', partition=0)]}, True, False)
    >>> known.begun_again([one])
    >>> known.looked([one, other], {"t": "c/2"})
    {'t': []}
    """

    def __init__(self) -> None:
        self._ids: dict[TopicPartition, str] = {}
        self._old: set[TopicPartition] = set()
        #: Their topic was not there at the last look.
        self._gone: set[TopicPartition] = set()
        self._latest: dict[str, str] = {}
        self._made_anew: set[str] = set()

    def begun(self, partitions: Collection[TopicPartition], ids: Mapping[str, str]) -> None:
        """Nothing was read of these before; without an id the next look learns it."""
        for partition in partitions:
            self._ids.pop(partition, None)
            if found := ids.get(partition.topic):
                self._ids[partition] = found
        self._old.difference_update(partitions)
        self._gone.difference_update(partitions)
        self._see(ids)

    def looked(
        self, assigned: Collection[TopicPartition], ids: Mapping[str, str]
    ) -> dict[str, list[TopicPartition]]:
        """Topic that is there → its partitions that are read in a log that is no more."""
        for partition in assigned:
            found = ids.get(partition.topic)
            if found == GONE:
                self._gone.add(partition)
            elif found is not None:
                if self._known(partition, found) != found:
                    self._old.add(partition)
                self._gone.discard(partition)
                self._ids[partition] = found
        self._see(ids)
        there = [topic for topic, found in ids.items() if found != GONE]
        return {topic: sorted(p for p in self._old if p.topic == topic) for topic in there}

    def _known(self, partition: TopicPartition, found: str) -> str:
        """Its log; of one that was gone, and never looked at, that of its topic before it went."""
        before = self._latest.get(partition.topic, found) if partition in self._gone else found
        return self._ids.get(partition, before)

    def _see(self, ids: Mapping[str, str]) -> None:
        for topic, found in ids.items():
            if found != GONE:
                if self._latest.get(topic, found) != found:
                    self._made_anew.add(topic)
                self._latest[topic] = found

    def mark(self, partition: TopicPartition) -> str:
        """What is committed beside an offset: the id of the log that it is of, if it is known."""
        return self._ids.get(partition, "")

    def begun_again(self, partitions: Collection[TopicPartition]) -> None:
        """They are read from the beginning of their new log now."""
        self._old.difference_update(partitions)

    def is_old(self, partition: TopicPartition) -> bool:
        """Whether its position says nothing of the log that there is now, or will be."""
        return partition in self._old or partition in self._gone

    def is_made_anew(self, topic: str) -> bool:
        """Whether it had another id before, since the start."""
        return topic in self._made_anew

    def revoked(self) -> None:
        """Whoever has the partitions next may read other logs before they come back."""
        self._ids.clear()
        self._old.clear()
        self._gone.clear()
