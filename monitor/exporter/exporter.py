"""The exporter: replays scores, control and alarms, follows them, serves gauges, opens alarms.

Its only state is what stands on the topics; two exporters at one clock serve identical series.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar, Final, NamedTuple

from monitor.control.bursts import BurstAllowance
from monitor.control.controls import Controls
from monitor.control.corrections import Corrections
from monitor.control.follower import FollowedTopic, StateFollower
from monitor.control.forgotten import ForgottenTexts
from monitor.control.publisher import Outbox
from monitor.control.state import ControlState, WrittenAt
from monitor.errors import DependencyRefused, RecordSkipped
from monitor.exporter.alarms.burst_requests import BurstRequester
from monitor.exporter.alarms.evidence import ScoreRecords
from monitor.exporter.alarms.publisher import WRITER, AlarmPublisher
from monitor.exporter.alarms.transitions import was_open
from monitor.exporter.baselines.bad_times import AlarmSpan, alarm_spans
from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.holding import Holding
from monitor.exporter.baselines.schedule import LearningSchedule
from monitor.exporter.period import asked_for
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftKey
from monitor.exporter.scores.folding_log import FoldingLog
from monitor.exporter.scores.observation import position
from monitor.exporter.scores.steps import one_turn
from monitor.exporter.timekeeping import Timekeeper
from monitor.kafka.clock import in_words, steady_seconds
from monitor.kafka.connection import Connection
from monitor.kafka.metadata import wait_for_topics
from monitor.kafka.reader import GroupWatch, TopicReader
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import TopicScan
from monitor.kafka.skipped import warn_skipped
from monitor.kafka.topics import check_retention
from monitor.records import read_score_record
from monitor.records.alarm import AlarmRecord
from monitor.records.control import (
    BASELINE,
    CORRECTION,
    DAY,
    FORGOTTEN,
    ControlRecord,
    Removed,
)
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.runtime.supervision import meanwhile
from monitor.stats.period import DAY_S, HorizonSpan
from monitor.telemetry import ExporterTelemetry

#: Windows are in event time, the broker finds offsets by its own: this much before the horizon.
REPLAY_SLACK_S = 3600
WATCH_EVERY_S = 5.0
#: Reading stands still meanwhile.
PERIOD_LIMIT_S: Final = 20.0
#: Others have their turn after so many seconds of taking records in, so that no replay delays a
#: scrape. Not less than 5 ms, the interpreter's own turn, or the threads that make pages starve.
TURN_S: Final = 0.01


class Followed(NamedTuple):
    """The topics that are read; ``keep_s``: a span → for how long score records must be kept."""

    scores: str
    keep_s: Callable[[HorizonSpan], int]
    control: str
    alarms: str


def _held_days(span: HorizonSpan) -> int:
    return span.most_held_s() // DAY_S


def _show(aggregator: ScoreAggregator, telemetry: ExporterTelemetry) -> None:
    """What does not count, since another slot has its offsets; and what has no name of its own."""
    telemetry.slots_dropped.set_function(lambda: aggregator.dropped().slots)
    telemetry.offsets_dropped.set_function(lambda: aggregator.dropped().offsets)
    telemetry.applications_folded.set_function(lambda: aggregator.folded.applications)
    telemetry.drift_period.set_function(lambda: aggregator.period_s)
    telemetry.judges_folded.set_function(lambda: aggregator.folded.judges)


class Exporter:
    """Follows all three topics, and publishes baselines, alarms and, where ``allowed``, bursts.

    ``clock`` gives epoch seconds, ``steady`` seconds that nobody sets. ``segment_of`` gives the
    attribute that the segments of an application are values of. ``writer`` is a name that no other
    process has. Without ``publishes`` it writes nothing, and shows what the others have
    published. ``controls`` are kept up with the control topic; ``report`` is told the result of
    each of its records.
    """

    #: Who writes its records.
    outbox: ClassVar[type[Outbox]] = Outbox

    def __init__(
        self,
        connection: Connection,
        topics: Followed,
        aggregator: ScoreAggregator,
        baselines: Baselines,
        telemetry: ExporterTelemetry,
        health: Health,
        clock: Callable[[], float],
        *,
        segment_of: Callable[[str], str | None] = lambda _application: None,
        writer: str,
        controls: Controls,
        report: Callable[[str], None] = lambda _result: None,
        allowed: BurstAllowance | None = None,
        steady: Callable[[], float] = steady_seconds,
        publishes: bool = True,
    ) -> None:
        self._report, self._controls, self._publishes = report, controls, publishes
        #: What audits say of judges, as the control topic has it.
        self.corrections = Corrections()
        self._forgotten = ForgottenTexts()
        self._connection, self._topics, self._aggregator = connection, topics, aggregator
        self._telemetry, self._health, self._baselines = telemetry, health, baselines
        #: The time that gauges and alarms go by.
        self.clock = clock = Timekeeper(clock, steady, connection.clock.broker_time_for(clock))
        _show(aggregator, telemetry)
        self._folding_log = FoldingLog(lambda: aggregator.folded)
        #: Whether all was replayed, and for which day the period was looked at.
        self._replayed, self._day, self._scored_by_day = False, 0, dict[int, int]()
        #: Held while the aggregates change, or while somebody reads it in steps.
        self.still = asyncio.Lock()
        self._schedule = LearningSchedule(
            aggregator, baselines, telemetry, clock, self._was_open, self._alarms_of
        )
        self._baselines_out = self.outbox(connection, topics.control, health, what="baseline")
        self._bursts_out = self.outbox(connection, topics.control, health, what="burst")
        self._burst_requests = None
        if allowed is not None:
            self._burst_requests = BurstRequester(
                baselines.drift, self._bursts_out, controls.bursts, allowed, health, clock
            )
        self._holding = Holding(baselines, clock, self._schedule.show)
        self._control = self._control_follower()
        wrote = [(WRITER, writer.encode())]
        self._alarms_out = self.outbox(
            connection, topics.alarms, health, what="alarm", headers=wrote
        )
        self._publisher = self._alarm_publisher(baselines, segment_of, writer)
        self._alarms = self._alarms_follower()

    def _alarm_publisher(
        self, baselines: Baselines, segment_of: Callable[[str], str | None], writer: str
    ) -> AlarmPublisher:
        return AlarmPublisher(
            baselines.drift,
            self._alarms_out,
            segment_of,
            ScoreRecords(self._connection, self._topics.scores),
            self._health,
            self.clock,
            writer,
            self._forgotten.cleared,
            self._aggregator.releases_of,
        )

    def _alarms_follower(self) -> StateFollower:
        return StateFollower(
            self._connection,
            FollowedTopic(
                self._topics.alarms, "alarms", "alarms would be forgotten and reported again"
            ),
            self._publisher.apply,
            lambda result: self._telemetry.alarm_records.labels(result).inc(),
            self._health,
        )

    def _control_follower(self) -> StateFollower:
        def hold(found: ControlRecord | Removed, _: WrittenAt) -> None:
            self._holding.apply(found, at_once=not self.is_ready)

        def hold_day(found: ControlRecord | Removed, _: WrittenAt) -> None:
            self._baselines.hold(found)

        own = {BASELINE: hold, DAY: hold_day}
        asked = {CORRECTION: self.corrections.apply, FORGOTTEN: self._forgotten.apply}
        readers = {**own, **asked, **self._controls.readers}
        state = ControlState(readers, reports_others=True)

        def take(record: KafkaRecord) -> RecordSkipped | None:
            for outbox in (self._baselines_out, self._bursts_out):
                outbox.came_back(record.key)
            return state.apply_record(record)

        def count(result: str) -> None:
            self._telemetry.control_records.labels(result).inc()
            self._report(result)

        def changed() -> None:
            self._schedule.show()
            self._controls.are_known.set()

        lost = "baselines would be forgotten and learned anew"
        return StateFollower(
            self._connection,
            FollowedTopic(self._topics.control, "control", lost),
            take,
            count,
            self._health,
            changed,
        )

    @property
    def is_ready(self) -> bool:
        """Whether all three topics were replayed: half of any of them gives wrong gauges.

        And whether the clock has not gone back since: what it had passed was forgotten.
        """
        self.clock()
        may_report = self._replayed and not self.clock.has_gone_back
        return may_report and self._control.is_ready and self._alarms.is_ready

    def _was_open(self, key: DriftKey, since: float) -> bool:
        """Whether an alarm was open after this event time."""
        return was_open(self.alarms, key, since)

    def _alarms_of(self, metric: str, application: str) -> Iterable[AlarmSpan]:
        """All that are known, of any judge."""
        return alarm_spans(self.alarms, metric, application)

    @property
    def alarms(self) -> Mapping[str, AlarmRecord]:
        """The latest record of each alarm, open or closed, by its key on the topic."""
        return self._publisher.alarms

    @property
    def alarms_are_read(self) -> bool:
        """Whether their topic was replayed: before that nobody knows that there is none."""
        return self._alarms.is_ready

    async def run(self) -> None:
        """Replay and follow until cancelled."""
        self._health.waits("exporter", f"replay of {self._topics.scores}")
        async with meanwhile(*self._works()):
            await asyncio.Event().wait()

    def _works(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        yield "reading control records", self._control.run()
        yield "holding slots against baselines", self._holding.run()
        yield "reading alarms", self._alarms.run()
        yield "reading score records", self._follow_scores()
        if not self._publishes:
            return
        yield "writing baselines", self._baselines_out.run()
        yield "writing bursts", self._bursts_out.run()
        yield "writing alarms", self._alarms_out.run()
        yield "publishing alarms", self._publisher.run(lambda: self.is_ready)
        if self._burst_requests is not None:
            yield "asking for bursts", self._burst_requests.run(lambda: self.is_ready)

    async def _follow_scores(self) -> None:
        """For ever: where it has to, all of it begins anew, as with a restart."""
        topic, span = self._topics.scores, await self._span()
        self._aggregator.begin_anew(span)
        while True:
            another = await self._replay_and_follow()
            self._replayed = False
            if another is None:
                short, what = "the clock was ahead", "the time between was forgotten"
                self.clock.begin_anew()
            else:
                days = another.period_s // DAY_S
                held = f"records of {_held_days(another)} days are held"
                short = f"evidence is now that of {days} days, and {held}"
                what = "the number of judged interactions a day asks for it"
            self._health.waits("exporter", f"replay of {topic}: {short}")
            logger().warning("replay_begins_anew", topic=topic, what=f"{short}: {what}")
            gc.unfreeze()
            async with self.still:
                self._aggregator.begin_anew(another)

    async def _span(self) -> HorizonSpan:
        """For how long slots count; where it goes by the records, as these ask for."""
        aggregator, topic = self._aggregator, self._topics.scores
        if not aggregator.auto_period:
            return aggregator.span
        await wait_for_topics(self._connection, [topic], self._health, "reader")
        scan = await TopicScan.start(self._connection, self._health)
        try:
            return await asked_for(scan, topic, self.clock(), self._scored_by_day)
        finally:
            await scan.stop()

    async def _another_span(self, day: int) -> HorizonSpan | None:
        """A span that is not the present one, when this is another day.

        Where nobody answers in time the present one holds for another day.
        """
        if not self._aggregator.auto_period or day == self._day:
            return None
        self._day = day
        try:
            async with asyncio.timeout(PERIOD_LIMIT_S):
                found = await self._span()
        except (DependencyRefused, TimeoutError) as error:
            logger().warning("period_unknown", topic=self._topics.scores, error=str(error))
            return None
        return None if found == self._aggregator.span else found

    async def _replay_and_follow(self) -> HorizonSpan | None:
        """Until the clock has gone back, or another span is asked for, which is given back."""
        topic, now = self._topics.scores, self.clock()
        self._day = int(now) // DAY_S
        start = self._aggregator.horizon_start(now) - REPLAY_SLACK_S
        keep_s = self._topics.keep_s(self._aggregator.span)
        await check_retention(self._connection, topic, keep_s, self._health)
        reader = await TopicReader.start(
            self._connection, topic, self._health, start_ms=max(0, start) * 1000
        )
        try:
            async for records in reader.batches():
                self._health.beat("exporter")
                now = self._time(records)
                if self.clock.has_gone_back:
                    return None
                if self._replayed and (another := await self._another_span(int(now) // DAY_S)):
                    return another
                async with self.still:
                    # First, so that records count as they come, and not all at once at the end.
                    self._aggregator.advance(now)
                await self._apply(records)
                self._folding_log.look()
                if not self._replayed:
                    await self._look_whether_replayed(reader)
                elif self._learns():  # else what comes is learned again
                    found = await self._schedule.look(reader)
                    # What has come meanwhile and does not hold yet was not looked at.
                    for baseline in found if self._holding.is_done else ():
                        self._baselines_out.offer(baseline)
        finally:
            self._health.finished("exporter")
            await reader.stop()
        return None

    def _learns(self) -> bool:
        return self._publishes and self.is_ready and self._holding.is_done

    def _time(self, records: list[KafkaRecord]) -> float:
        """The time, and whether it can be believed, going by what has been read just now."""
        if records:
            self.clock.seen(max(record.timestamp for record in records) / 1000)
        now = self.clock()
        if self.clock.is_doubted:
            ahead_s = self.clock.ahead_s
            off = f"{in_words(abs(ahead_s))} {'ahead' if ahead_s > 0 else 'behind'}"
            self._health.waits("exporter_clock", f"this clock is {off}; set it right")
        else:
            self._health.ready("exporter_clock")
        return now

    async def _apply(self, records: list[KafkaRecord]) -> None:
        left = iter(records)
        while True:
            async with self.still:
                results = Counter(map(self._apply_one, one_turn(left, TURN_S)))
            if not results:
                return
            for result, number in results.items():
                self._telemetry.records.labels(result).inc(number)
            await asyncio.sleep(0)

    def _apply_one(self, record: KafkaRecord) -> str:
        """Add a score record; how it is counted."""
        if record.value is None:
            return "tombstone"
        try:
            place = position(record.partition, record.offset)
            if not self._aggregator.add(read_score_record(record.value), record.value, place):
                most = self._aggregator.most_ahead
                raise RecordSkipped(
                    f"more than {most} records are dated ahead of the clock: the furthest one is "
                    "left out",
                    cause="malformed",
                )
        except RecordSkipped as skipped:
            warn_skipped("score_record_skipped", record, skipped)
            return skipped.cause
        return "read"

    async def _look_whether_replayed(self, reader: TopicReader) -> None:
        try:
            left = await reader.left_to_replay()
        except TimeoutError:  # the broker is away: not ready yet
            return
        self._telemetry.replay_left.set(left)
        # What a replay takes in stays: looking through it for garbage again and again is in vain.
        gc.freeze()
        if left == 0:
            await self._warm_up()
            self._replayed = True
            self._health.ready("exporter")
            logger().info("scores_replayed", topic=self._topics.scores)

    async def _warm_up(self) -> None:
        """Compute the evidence of the replay step by step, and not all in the first scrape."""
        now = self.clock()
        self._aggregator.advance(now)
        for _ in self._aggregator.drift.states(now) if self._aggregator.drift is not None else ():
            await asyncio.sleep(0)


async def watch_group(
    connection: Connection,
    group_id: str,
    topics: Sequence[str],
    telemetry: ExporterTelemetry,
    health: Health,
) -> None:
    """Export the lag of the scorer's group for ever, so that a dead scorer is seen.

    Without the right to look at the group there are no such gauges, and the log says so.
    """
    async with AsyncExitStack() as stack:
        watches = []
        for topic in topics:
            try:
                watch = await GroupWatch.start(connection, group_id, topic, health)
            except DependencyRefused as error:
                logger().error("group_watch_refused", topic=topic, error=str(error))
                health.ready("group_watch")
                continue
            stack.push_async_callback(watch.stop)
            watches.append(watch)
        while watches:
            await _look(watches, telemetry)
            await asyncio.sleep(WATCH_EVERY_S)


async def _look(watches: Sequence[GroupWatch], telemetry: ExporterTelemetry) -> None:
    try:
        looks = [await watch.look() for watch in watches]
    except Exception as error:  # noqa: BLE001 - the gauges stay absent; reading goes on
        # Its end that stands still would look like a topic that nothing comes in on.
        telemetry.group_lag.clear()
        telemetry.input_end.clear()
        logger().warning("group_watch_failed", error=str(error))
        return
    for partition, (committed, end) in (item for found in looks for item in found.items()):
        labels = (partition.topic, str(partition.partition))
        telemetry.input_end.labels(*labels).set(end)
        telemetry.group_lag.labels(*labels).set(max(0, end - committed))
