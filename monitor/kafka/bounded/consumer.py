"""A consumer that never holds more than it may, and says when its log is not what it was.

aiokafka is given two parts of our own. What was fetched is unpacked here, within bounds
(``batches.py``): a batch that is too large is an ``Unreadable`` among the records. And a position
that the broker does not know any more is looked at before reading goes on at the beginning:
retention has taken what was there, or the log is another one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition, errors
from aiokafka.consumer.fetcher import (
    READ_COMMITTED,
    UNKNOWN_OFFSET,
    Fetcher,
    FetchResult,
    PartitionRecords,
)
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.structs import OffsetAndMetadata, OffsetAndTimestamp

from monitor.kafka.bounded.aborted import AbortedTransactions
from monitor.kafka.bounded.batches import Batch, Left, Unpacked, merged, split
from monitor.kafka.bounded.known_logs import KnownLogs, is_of_another_log
from monitor.kafka.bounded.unpacking import BatchTooLarge
from monitor.kafka.bounds import MAX_RECORD_BYTES
from monitor.kafka.connection import Connection
from monitor.kafka.flexible_requests import GONE, TopicIdsRequest, topic_ids
from monitor.kafka.losses import Losses
from monitor.kafka.record import Partition, Unreadable
from monitor.kafka.start_offsets import NO_RIGHT, StartRule, chosen
from monitor.runtime.logs import logger

#: Partition → what the group has committed of it.
Committed = Mapping[TopicPartition, OffsetAndMetadata]
#: Gives such partitions their place; those left out are asked for again. None: the client does as
#: it would without.
Begin = Callable[[Committed], Awaitable[Mapping[TopicPartition, int] | None]]

#: Of one answer of a broker: all of it is held, packed as it is.
FETCH_BYTES = 50 * 1_048_576
#: So many records left out together take a while: no further batch is begun with them.
MANY = 1_000
#: Seconds between two looks at the topics' ids, and for one.
LOOK_S, LOOK_LIMIT_S = 10.0, 5.0
#: Where they are not told: by one that is too old, or does not answer.
_TOO_OLD = (errors.IncompatibleBrokerVersion, NotImplementedError)
_NO_ANSWER = (errors.KafkaError, OSError, TimeoutError)
_OUT_OF_RANGE = errors.OffsetOutOfRangeError.errno


class Room:
    """The bytes that the partitions of one consumer hold unpacked, ``most`` in all.

    ``most_of_one`` is what one record may be.
    """

    def __init__(self, most: int, most_of_one: int = MAX_RECORD_BYTES) -> None:
        self.most, self.most_of_one = most, most_of_one
        self._held = self._given = 0
        #: Drops what is held of others than the one partition that is asked for now.
        self.drop_others: Callable[[], None] | None = None

    def begin(self) -> None:
        """Records are asked for: what was given before is somebody else's."""
        self._given = 0

    def takes(self, size: int) -> bool:
        """Whether one more batch may be unpacked; one alone always may."""
        if self.drop_others and not self._given and self._held + size > self.most:
            self.drop_others()
        used = max(self._held, self._given)
        return not used or used + size <= self.most

    def hold(self, size: int) -> None:
        """A batch is unpacked."""
        self._held += size
        self._given += size

    def fill(self) -> None:
        """No further batch is unpacked before records are asked for again."""
        self._given = self.most + 1

    def free(self, size: int) -> None:
        """It has been read, or is not wanted any more."""
        self._held -= size


class BoundedRecords:
    """What was fetched of one partition, one record after the other.

    Stands for aiokafka's ``PartitionRecords``. Where there is no room for the next batch the
    records end, as if no more had been fetched: the rest is fetched again.
    """

    def __init__(
        self,
        partition: TopicPartition,
        fetched: bytes,
        position: int,
        room: Room,
        aborted: AbortedTransactions | None = None,
    ) -> None:
        self._reading = _PartitionPosition(Partition(*partition), room, position)
        # Not of ours, which would be a circle: what is dropped half read frees its room at once.
        self._records = self._reading.records(fetched, aborted or AbortedTransactions())

    @property
    def next_fetch_offset(self) -> int:
        """The first offset that was not given."""
        return self._reading.position

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._records)


class _PartitionPosition:
    """Where reading of one partition stands."""

    def __init__(self, partition: Partition, room: Room, position: int) -> None:
        self._partition, self._room, self.position = partition, room, position

    def records(self, fetched: bytes, aborted: AbortedTransactions) -> Iterator[Any]:
        """As far as there is room for them; those of ``aborted`` transactions are passed by."""
        for batch in split(fetched):
            if batch.next_offset <= self.position:
                continue
            batch.check()
            if not (aborted.hold(batch) or batch.is_control):
                if not self._room.takes(0):
                    return
                try:
                    found = batch.unpacked(self._room.most)
                except BatchTooLarge:
                    yield self._left_out(batch.left_out(self.position, "BatchTooLarge"))
                    return  # to unpack up to the bound takes a while: others have their turn
                except Exception as error:  # noqa: BLE001 - codecs raise whatever they stumble over
                    yield self._left_out(batch.left_out(self.position, type(error).__name__))
                    return
                if not self._room.takes(found.size):
                    return
                yield from self._of(batch, found)
            self.position = max(self.position, batch.next_offset)

    def _of(self, batch: Batch, found: Unpacked) -> Iterator[Any]:
        self._room.hold(found.size)
        try:
            yield from self._each(found)
        except Exception as error:  # noqa: BLE001 - as above
            if self.position < batch.next_offset:
                yield self._left_out(batch.left_out(self.position, type(error).__name__))
        finally:
            self._room.free(found.size)

    def _each(self, found: Unpacked) -> Iterator[Any]:
        for one in merged(found.records, self._room.most_of_one):
            if type(one) is Left:
                if one.through >= self.position:  # else read before
                    yield self._left_out(one.since(self.position))
            elif one.offset >= self.position:
                self.position = one.offset + 1
                yield _consumed(self._partition, one)

    def _left_out(self, left: Left) -> Unreadable:
        self.position = left.through + 1
        if left.records >= MANY:
            self._room.fill()
        logger().warning(
            "unreadable_record",
            **self._partition._asdict(),
            offset=left.offset,
            through=left.through,
            error=left.error,
        )
        now_ms = int(time.time() * 1000)
        return Unreadable(
            *self._partition,
            left.offset,
            now_ms,
            left.error,
            through=left.through,
            records=left.records,
        )


def _consumed(partition: Partition, record: Any) -> ConsumerRecord:
    key, value = record.key, record.value
    return ConsumerRecord(
        *partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        key,
        value,
        record.checksum,
        -1 if key is None else len(key),
        -1 if value is None else len(value),
        tuple(record.headers),
    )


class _Answers:
    """Passes requests on to aiokafka's client, and keeps the answers to fetches for a moment."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.kept: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def send(self, node_id: int, request: Any) -> Any:
        """The client's own."""
        answer = await self._client.send(node_id, request)
        if isinstance(request, FetchRequest):
            self.kept[id(request)] = answer
        return answer


class BoundedFetcher(Fetcher):
    """aiokafka's fetcher, made of one that has not fetched yet: see ``take_over``."""

    _client: _Answers
    _room: Room
    _losses: Losses
    _out_of_range: dict[TopicPartition, int]
    _begun_again: set[TopicPartition]
    _begin: Begin | None

    @classmethod
    def take_over(
        cls, fetcher: Fetcher, room: Room, losses: Losses, begin: Begin | None = None
    ) -> None:
        """The fetcher holds no more unpacked records than there is room for; it tells of losses.

        ``begin`` says where the partitions of a new assignment are begun; those that it leaves out
        are asked for again.
        """
        fetcher.__class__ = cls
        fetcher._begin = begin
        fetcher._client = _Answers(fetcher._client)
        fetcher._room, fetcher._losses = room, losses
        fetcher._out_of_range, fetcher._begun_again = {}, set()

    async def fetched_records(self, *args: Any, **kwargs: Any) -> Any:
        """What was fetched; what was given before is not held here any more."""
        self._room.begin()
        return await super().fetched_records(*args, **kwargs)

    async def next_record(self, partitions: Any) -> Any:
        """The next one, likewise."""
        self._room.begin()
        return await super().next_record(partitions)

    @contextmanager
    def only(self, partition: TopicPartition) -> Iterator[None]:
        """Whoever asks now wants this one, whatever is held of the others."""

        def drop() -> None:
            self.forget([other for other in self._records if other != partition])

        self._room.drop_others = drop
        try:
            yield
        finally:
            self._room.drop_others = None

    def forget(self, partitions: Any) -> None:
        """Drop what was fetched of these, and hold nothing for them."""
        for partition in partitions:
            self._records.pop(partition, None)

    async def _proc_fetch_request(self, assignment: Any, node_id: int, request: Any) -> bool:
        try:
            woken: bool = await super()._proc_fetch_request(assignment, node_id, request)
        except asyncio.CancelledError:  # else whoever closes it ends so, too, and leaves it open
            return False
        finally:
            answer = self._client.kept.pop(id(request), None)
        if answer is not None and assignment.active:
            asked = {(topic, part[0]): part[1] for topic, parts in request.topics for part in parts}
            for topic, parts in answer.topics:
                for number, code, _, *rest in parts:
                    partition = TopicPartition(topic, number)
                    if code == _OUT_OF_RANGE and assignment.state_value(partition).awaiting_reset:
                        self._out_of_range[partition] = asked[partition]
                    elif not code:
                        self._unpack(partition, rest[-1])
        return woken

    def _unpack(self, partition: TopicPartition, fetched: bytes) -> None:
        """In our way what aiokafka is about to unpack in its own."""
        result = self._records.get(partition)
        if not isinstance(result, FetchResult):
            return
        if isinstance(theirs := result._partition_records, PartitionRecords):
            committed = self._isolation_level == READ_COMMITTED
            aborted = AbortedTransactions(theirs._aborted_transactions if committed else ())
            result._partition_records = BoundedRecords(
                partition, fetched, theirs.next_fetch_offset, self._room, aborted
            )

    async def _update_fetch_positions(self, assignment: Any, node_id: int, tps: Any) -> Any:
        for partition in tps:
            state = assignment.state_value(partition)
            if state is not None and not (state.has_valid_position or state.awaiting_reset):
                # Assigned anew: what was told of it before says nothing of where it begins now.
                self._begun_again.discard(partition)
                self._out_of_range.pop(partition, None)
        try:
            if self._begin is not None and await self._begun(assignment, tps, self._begin):
                return False  # the others are asked for again
        except asyncio.CancelledError:  # as above
            return False
        woken = await super()._update_fetch_positions(assignment, node_id, tps)
        for partition in tps:
            state = assignment.state_value(partition)
            if state is None or not state.has_valid_position:
                continue
            before = self._out_of_range.pop(partition, None)
            if before is not None and assignment.active:
                self._tell(Partition(*partition), before, state.position)
        return woken

    async def _begun(self, assignment: Any, tps: Any, begin: Begin) -> bool:
        """Give partitions that have none their place; whether there are any."""
        committed = {}
        for partition in tps:
            state = assignment.state_value(partition)
            if not (state.has_valid_position or state.awaiting_reset):
                committed[partition] = await state.fetch_committed()
        if not committed:
            return False
        found = await begin(committed)
        if found is None:
            return False
        if not found:
            await asyncio.sleep(self._retry_backoff)
        for partition, offset in found.items():
            state = assignment.state_value(partition)
            if assignment.active and not (state.has_valid_position or state.awaiting_reset):
                state.reset_to(offset)
        return True

    def _tell(self, partition: Partition, before: int, begin: int) -> None:
        if before < begin:
            self._losses.lost(partition, before, begin)
        else:
            self._losses.went_back(partition, before, begin)
            self._begun_again.add(TopicPartition(*partition))

    def leave(self, partition: TopicPartition, position: int) -> int | None:
        """Where reading ended in the old log; None where that was told, and it reads the new one.

        A broker that has refused a position may have moved it to the beginning by now.
        """
        if partition in self._begun_again:
            return None
        return self._out_of_range.pop(partition, position)

    def has_begun_again(self, partition: TopicPartition) -> bool:
        """Whether it is read from the beginning of a log of which no look has told yet."""
        return partition in self._begun_again

    def forget_beginnings(self, topic: str) -> None:
        """The topic's log is known to be what it is now."""
        self._begun_again = {part for part in self._begun_again if part.topic != topic}


class BoundedConsumer(AIOKafkaConsumer):
    """aiokafka's consumer with the bounds of its connection.

    It tells ``losses`` of what it misses; without them those who count for the connection.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        start: StartRule | None = None,
        losses: Losses | None = None,
        **options: Any,
    ) -> None:
        self._start = start
        most = connection.max_read_bytes
        options.setdefault("fetch_max_bytes", min(FETCH_BYTES, most))
        options.setdefault("isolation_level", connection.isolation_level)
        super().__init__(**connection.options(), **options)
        self._room = Room(most, connection.max_record_bytes)
        self._losses = losses or connection.losses
        self.logs = KnownLogs()
        self._looked_at, self._looking = -LOOK_S, asyncio.Lock()
        self._may_look = True

    async def start(self) -> None:
        """Connect."""
        await super().start()
        rule = self._start
        begin = None if rule is None else partial(self._places, rule)
        BoundedFetcher.take_over(self._fetcher, self._room, self._losses, begin)

    async def _places(
        self, rule: StartRule, committed: Committed
    ) -> Mapping[TopicPartition, int] | None:
        """Where the group has committed; where that is of another log, at the beginning of this."""
        new = [part for part, one in committed.items() if one.offset == UNKNOWN_OFFSET]
        ids: Mapping[str, str] | None = None
        with suppress(*_NO_ANSWER):
            ids = await self._ids_now({part.topic for part in committed})
        # Of what is begun now the next look learns what log it is, where nobody has answered.
        self.logs.begun(new, ids or {})
        found: dict[TopicPartition, int] = {}
        is_left_out = False
        for part, one in committed.items():
            if one.offset == UNKNOWN_OFFSET:
                continue
            now = (ids or {}).get(part.topic)
            if one.metadata and (ids is None or now == GONE):
                is_left_out = True
                continue
            if one.metadata:
                self.logs.begun([part], ids or {})
            if now is None or not is_of_another_log(one.metadata or "", now):
                found[part] = one.offset
                continue
            try:
                found[part] = await self._begin_of_another(part, one.offset)
            except _NO_ANSWER as error:
                logger().debug("log_not_begun_again", error=f"{type(error).__name__}: {error}")
                is_left_out = True
        chosen_now = await chosen(self, rule, new) if new else {}
        if chosen_now is None:
            return found if found or is_left_out else None
        return {**found, **chosen_now}

    async def _begin_of_another(self, partition: TopicPartition, before: int) -> int:
        """Its log's beginning, committed at once: it is told once, also where nothing is there."""
        async with asyncio.timeout(LOOK_LIMIT_S):
            begin: int = (await self.beginning_offsets([partition]))[partition]
            with suppress(*NO_RIGHT):  # whoever commits what is read meets it again, and says it
                await self.commit({partition: begin})
        self._losses.went_back(Partition(*partition), before, begin)
        return begin

    async def _ids_now(self, topics: Collection[str]) -> Mapping[str, str]:
        """As ``_ids``, soon or not at all; empty where brokers are too old to tell."""
        with suppress(*_TOO_OLD):
            async with asyncio.timeout(LOOK_LIMIT_S):
                return await self._ids(topics)
        return {}

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit; with each offset goes the id of the log that it is of.

        A commit may be accepted after its topic has been made anew, since the client tries again
        what is refused meanwhile: whoever begins there next would pass by what the new log holds.
        """
        marked = {part: (at, self._mark(part)) for part, at in (offsets or {}).items()}
        await super().commit(marked if offsets is not None else None)

    def _mark(self, partition: TopicPartition) -> str:
        """None where a broker has refused the position: which log it is, the next look learns."""
        return "" if self._fetcher.has_begun_again(partition) else self.logs.mark(partition)

    def revoked(self) -> None:
        """Nothing is known of their logs any more, and nothing is learned before ``assigned``."""
        self.logs.revoked()
        self._may_look = False

    def assigned(self) -> None:
        """The logs of these partitions are looked at at once."""
        self._may_look, self._looked_at = True, -LOOK_S

    async def committed_of(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """What a group has committed; partitions of which it is nothing are left out.

        Every broker is asked, in place of looking for the one that leads the group: to look for it
        makes the topic in which groups commit, where there is none yet.
        """
        asked: dict[str, list[int]] = {}
        for topic, number in partitions:
            asked.setdefault(topic, []).append(number)
        request = OffsetFetchRequest(group_id, list(asked.items()))
        found: dict[TopicPartition, int] = {}
        for broker in self._client.cluster.brokers():
            answer = await self._client.send(broker.nodeId, request)
            for topic, parts in answer.topics:
                for number, offset, _, code in parts:
                    if not code and offset != UNKNOWN_OFFSET:
                        found[TopicPartition(topic, number)] = offset
                    elif code == errors.GroupAuthorizationFailedError.errno:
                        raise errors.GroupAuthorizationFailedError(group_id)
        return found

    async def has_committed(self, topic: str) -> bool:
        """Whether the group has committed an offset of any partition of the topic.

        It had where the topic was made anew meanwhile: its offsets went with it.
        """
        if self.logs.is_made_anew(topic):
            return True
        parts = [TopicPartition(topic, n) for n in self.partitions_for_topic(topic) or ()]
        found = await self._coordinator.fetch_committed_offsets(parts)
        return any(one.offset != UNKNOWN_OFFSET for one in found.values())

    async def since(
        self, partitions: Sequence[TopicPartition], start_ms: int
    ) -> dict[TopicPartition, int]:
        """``since_each`` with one time for all of them."""
        return await self.since_each(dict.fromkeys(partitions, start_ms))

    async def since_each(self, starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The first offset at or after each one's time (epoch ms), where the broker finds one."""
        found = await self._found_each(starts)
        return {partition: one.offset for partition, one in found.items()}

    async def first_times(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The time (epoch ms) of the first record that is kept, where the broker finds one."""
        found = await self._found_each(dict.fromkeys(partitions, 1))
        return {partition: one.timestamp for partition, one in found.items()}

    async def _found_each(
        self, starts: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """The first place at or after each one's time.

        To find it a broker unpacks batches itself, and one that cannot hold them fails: of those
        partitions nothing is known, either.
        """
        asked = {partition: start_ms for partition, start_ms in starts.items() if start_ms > 0}
        if not asked:
            return {}
        try:
            found = await self.offsets_for_times(asked)
        except errors.UnknownError:
            if len(asked) == 1:
                logger().warning("time_not_found", **next(iter(asked))._asdict())
                return {}
            each = [await self._found_each({one: start_ms}) for one, start_ms in asked.items()]
            return {partition: place for one in each for partition, place in one.items()}
        return {partition: one for partition, one in found.items() if one is not None}

    async def look_at_logs(self, *, at_once: bool = False) -> bool:
        """Go to the beginning of every topic that was made anew under its name.

        Its new log may be longer than the old one: then no offset tells. Brokers before Kafka 2.8
        do not tell, either; one that does not answer is asked again. Asks every ``LOOK_S`` seconds
        at most; ``at_once``: now. False where nobody has answered; True also where a log is known
        to be another one, and its beginning is still to be found: ``logs.is_old`` says so.
        """
        now = time.monotonic()
        if (now - self._looked_at < LOOK_S and not at_once) or not self._may_look:
            return True
        self._looked_at = now
        is_known = False
        try:
            async with asyncio.timeout(LOOK_LIMIT_S), self._looking:
                asked = {part.topic for part in self.assignment()}
                ids = await self._ids(asked.union(self.subscription() or ()))
                is_known = True
                if self._may_look:  # else they were revoked meanwhile
                    await self._go_by(ids)
        except _TOO_OLD as error:
            logger().debug("topic_ids_unknown", error=f"{type(error).__name__}: {error}")
            return True
        except _NO_ANSWER as error:
            what = "log_not_begun_again" if is_known else "topic_ids_unknown"
            logger().debug(what, error=f"{type(error).__name__}: {error}")
            return is_known
        return True

    async def _go_by(self, ids: Mapping[str, str]) -> None:
        for topic, old in self.logs.looked(self.assignment(), ids).items():
            if old:
                await self._begin_again(topic, old)
            self._fetcher.forget_beginnings(topic)

    async def _ids(self, topics: Collection[str]) -> dict[str, str]:
        if not topics:
            return {}
        if (node := self._client.get_random_node()) is None:
            raise errors.KafkaConnectionError("no broker is known")
        return topic_ids(await self._client.send(node, TopicIdsRequest(sorted(topics))))

    async def _begin_again(self, topic: str, read: Collection[TopicPartition]) -> None:
        there = self.partitions_for_topic(topic) or ()  # a new log may have fewer partitions
        parts = [part for part in read if part in self.assignment() and part.partition in there]
        begins = await self.beginning_offsets(parts)
        for part in parts:
            # Meanwhile the broker may refuse the position of the old log: it is told once.
            before = self._fetcher.leave(part, await self.position(part))
            if before is not None:
                self._losses.went_back(Partition(*part), before, begins[part])
                self.seek(part, begins[part])
            # At once: whoever is cut off before the next one does not begin this one twice.
            self.logs.begun_again([part])

    def end_offset(self, partition: TopicPartition) -> int | None:
        """Where what may be read ended at the last fetch; None before the first.

        What an open transaction has written may not be read yet, where ``read_committed`` holds.
        Raises ``IllegalStateError`` for a partition that is not assigned.
        """
        ends = [self.highwater(partition)]
        if self._isolation_level == "read_committed":
            ends.append(self.last_stable_offset(partition))
        return min((end for end in ends if end is not None and end >= 0), default=None)

    def position_now(self, partition: TopicPartition) -> int | None:
        """The offset that is read next, as far as is known without asking anybody."""
        assignment = self._subscription.subscription and self._subscription.subscription.assignment
        state = assignment and assignment.state_value(partition)
        return state.position if state and state.has_valid_position else None

    def forbidden_topics(self) -> set[str]:
        """The subscribed topics that the broker does not let us see; the client reads none then."""
        return set(self._client.cluster.unauthorized_topics) & set(self.subscription() or ())

    async def getmany_of(self, partition: TopicPartition, timeout_ms: int, most: int) -> Any:
        """``getmany`` of one partition, which never waits for the others to be read.

        Where they hold what it needs, theirs is dropped, and fetched again.
        """
        with self._fetcher.only(partition):
            return await self.getmany(partition, timeout_ms=timeout_ms, max_records=most)

    def forget(self, *partitions: TopicPartition) -> None:
        """Drop what was fetched ahead of these partitions; it is fetched again."""
        self._fetcher.forget(partitions)
