"""Offsets that are not there any more: told, and counted by topic."""

from __future__ import annotations

from collections.abc import Callable

from monitor.kafka.record import Partition
from monitor.runtime.logs import logger

Count = Callable[[str, int], None]


class _LossTally:
    """Numbers by topic, for whoever counts them from now on."""

    def __init__(self) -> None:
        self._counters: list[Count] = []
        self._topics: dict[str, int] = {}

    def counted_by(self, count: Count) -> None:
        self._counters.append(count)
        for topic, number in self._topics.items():
            count(topic, number)

    def add(self, topic: str, number: int) -> None:
        self._topics[topic] = self._topics.get(topic, 0) + number
        for count in self._counters:
            count(topic, number)


class Losses:
    """What the readers of one cluster have missed. The readers tell, ``counted_by`` counts."""

    def __init__(self) -> None:
        self._lost, self._went_back = _LossTally(), _LossTally()
        self._followed = set[str]()

    def counted_by(self, lost: Count, went_back: Count) -> None:
        """Both are given every topic that is read, with 0.

        ``lost`` is given the offsets that it loses, ``went_back`` the partitions of it that are
        read from their beginning again.
        """
        self._lost.counted_by(lost)
        self._went_back.counted_by(went_back)

    def follows(self, topic: str) -> None:
        """Somebody reads this topic, and wants all of it."""
        if topic not in self._followed:
            self._followed.add(topic)
            self._lost.add(topic, 0)
            self._went_back.add(topic, 0)

    def lost(self, partition: Partition, begin: int, end: int) -> None:
        """The offsets from ``begin`` up to, but without, ``end`` were deleted before being read."""
        logger().error(
            "offsets_lost",
            **partition._asdict(),
            **{"from": begin, "to": end - 1},
            records=end - begin,
            hint="they were deleted before they were read: raise the topic's retention, or read "
            "faster",
        )
        self._lost.add(partition.topic, end - begin)

    def went_back(self, partition: Partition, position: int, begin: int) -> None:
        """The log ends before our position, or is another one: it is read from its beginning."""
        logger().warning(
            "offsets_went_back",
            **partition._asdict(),
            **{"from": position, "to": begin},
            hint="the topic was made anew, or its log was cut: it is read from its beginning",
        )
        self._went_back.add(partition.topic, 1)


class Unheard(Losses):
    """Of who only looks at a topic, once: what is gone by then is missed by nobody."""

    def lost(self, partition: Partition, begin: int, end: int) -> None:
        """The offsets from ``begin`` up to, but without, ``end`` were deleted meanwhile."""
        gone = {"from": begin, "to": end - 1}
        logger().debug("offsets_gone", **partition._asdict(), **gone)

    def went_back(self, partition: Partition, position: int, begin: int) -> None:
        """The log is another one meanwhile."""
        gone = {"from": position, "to": begin}
        logger().debug("offsets_gone", **partition._asdict(), **gone)
