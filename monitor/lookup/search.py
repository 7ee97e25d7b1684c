"""Finding all that the topics hold of one interaction: scores, the log itself, dead letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from monitor.app.inspection import InputRules, LookupAccess
from monitor.control.commands import ControlAccess, in_force
from monitor.errors import DependencyRefused, MessageRejected
from monitor.ingest import dead_letter_headers
from monitor.ingest.dead_letters.listing import row
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.formats.gathered import TraceRecord, gathered
from monitor.ingest.formats.protocol import LogFormat
from monitor.ingest.reading import place_of
from monitor.kafka.reader import group_offsets
from monitor.kafka.record import KafkaRecord, Partition
from monitor.kafka.replay import TopicScan
from monitor.lookup.findings import LookupFindings, PlacedInput, PlacedScore
from monitor.lookup.reading import scores, spellings
from monitor.metrics.redacted import hides_all, redacted_metrics
from monitor.records import Interaction, Reason, Source
from monitor.sampling.copies import WITHIN_S, digest_of
from monitor.sampling.hashing import unit_hash

#: An id that the log lacks is its place.
_PLACE: Final = re.compile(r"(.+)/([0-9]{1,9})/([0-9]{1,18})", re.DOTALL)
_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


async def scores_of(
    access: LookupAccess, interaction_id: str, application: str | None, since: float = 0.0
) -> list[PlacedScore]:
    """The score records of an id; of any application, unless one is named."""
    suffix, topic = f"/{interaction_id}".encode(), access.scores

    def may_be(record: KafkaRecord) -> bool:
        return record.key is None or record.key.endswith(suffix)

    async with access.scanning(access.output) as scan:
        return [
            each
            async for each in scores(scan, topic, may_be, since)
            if each.record.interaction_id == interaction_id
            and application in (None, each.record.application)
        ]


async def findings(
    access: LookupAccess, interaction_id: str, application: str | None, since: float, now: float
) -> LookupFindings:
    """All that is known of an id; ``since`` and ``now`` are epoch seconds.

    Raises ``DependencyRefused`` when a topic may not be read, or not in time.
    """
    found = await scores_of(access, interaction_id, application, since)
    rules = access.rules()
    inputs = await _Inputs(access, rules, interaction_id, now).found(since)
    dead_letters = await _dead_letters(access, rules.formats, interaction_id, inputs)
    slot = None if found else await _slot_of(access, inputs)
    return LookupFindings(
        interaction_id,
        tuple(found),
        tuple(inputs),
        tuple(dead_letters),
        slot,
        tuple(await _paused(access, inputs, now)),
        (access.scores, *access.interactions, access.dead_letters),
    )


@dataclass
class _Inputs:
    """Looks through the input topics for an id, or for the place that it names."""

    access: LookupAccess
    rules: InputRules
    interaction_id: str
    now: float
    #: When an equal record was written last, in ms.
    _copies: dict[tuple[Partition, bytes], int] = field(default_factory=dict)

    async def found(self, since: float) -> list[PlacedInput]:
        async with self.access.scanning(self.access.inputs) as scan:
            records = await self._records(scan, since)
        committed = await _committed(self.access)
        records.sort(key=lambda record: (record.timestamp, record.offset))
        return [self._placed(record, committed) for record in records]

    async def _records(self, scan: TopicScan, since: float) -> list[KafkaRecord]:
        topics, place = self.access.interactions, self._place()
        if place is not None and place[0] in topics:
            record = await scan.one(*place)
            return [] if record is None or not self._may_be(record, place) else [record]
        asked = spellings(self.interaction_id)
        found = [
            record
            for topic in topics
            async for record in scan.records(topic, start_ms=int(since * 1000))
            if record.value is not None
            and (
                self._has_spans_of_it(record)
                if self.rules.formats.spans_of(topic) is not None
                else any(each in record.value for each in asked)
            )
        ]
        await self.rules.formats.prepare(found)
        found = [each for each in found if self._has_id_of_it(each)]
        whole, _ = gathered(found, self.rules.formats)
        return [each for each in whole if not isinstance(each, TraceRecord) or self._is_it(each)]

    def _has_id_of_it(self, record: KafkaRecord) -> bool:
        """Whether it is of this id, as far as one record can tell."""
        if self.rules.formats.spans_of(record.topic) is not None:
            return True
        return _has_id(self._format(record), record.value or b"", self.interaction_id)

    def _has_spans_of_it(self, record: KafkaRecord) -> bool:
        """Whether a record of spans may hold some of this trace: by its bytes, or by its digits."""
        value = record.value or b""
        if not _TRACE_ID.fullmatch(self.interaction_id):
            return False
        digits = self.interaction_id.encode()
        return digits in value or bytes.fromhex(self.interaction_id) in value

    def _is_it(self, trace: TraceRecord) -> bool:
        return trace.spans[0].trace_id == self.interaction_id

    def _place(self) -> tuple[str, int, int] | None:
        found = _PLACE.fullmatch(self.interaction_id)
        return None if found is None else (found[1], int(found[2]), int(found[3]))

    def _may_be(self, record: KafkaRecord, place: tuple[str, int, int]) -> bool:
        """Whether the record there has no id of its own, or cannot be read."""
        try:
            logged = self._format(record).logged_id(record.value or b"")
        except ValueError:
            return True
        return logged in (None, "/".join(map(str, place)))

    def _format(self, record: KafkaRecord) -> LogFormat:
        return self.rules.formats[record.topic]

    def _placed(self, record: KafkaRecord, committed: dict[Partition, int]) -> PlacedInput:
        origin, is_redriven = place_of(record)
        source = Source(topic=origin.topic, partition=origin.partition, offset=origin.offset)
        partition = Partition(record.topic, record.partition)
        found = PlacedInput(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp / 1000,
            None,
            committed=committed.get(partition),
        )
        try:
            read = self._format(record).decode
            decoded = read(record.value or b"", source, max(0, record.timestamp))
        except MessageRejected as error:
            # What is wrong may quote a name that is to be hidden.
            told = self.rules.redactor.message(error)
            return found._replace(error=str(told), cause=f"{told.stage}/{told.cause}")
        oldest, happened = self.rules.oldest, decoded.interaction.event_time.timestamp()
        found = found._replace(
            was_too_old=not is_redriven and happened < oldest(found.timestamp),
            is_too_old=not is_redriven and happened < oldest(self.now),
        )
        return self._sampled(record, found, decoded.interaction, is_redriven=is_redriven)

    def _sampled(
        self,
        record: KafkaRecord,
        found: PlacedInput,
        interaction: Interaction,
        *,
        is_redriven: bool,
    ) -> PlacedInput:
        sampler = self.rules.sampler(interaction)
        key = sampler.record_key(record.key, record.headers)
        is_trace = isinstance(record, TraceRecord)
        has_no_slot = is_trace or self.rules.sampler.is_split(interaction.application)
        return found._replace(
            interaction=interaction,
            hash_value=unit_hash(interaction.interaction_id.encode() if key is None else key),
            has_key=key is not None or sampler.needs_decoding,
            rate=sampler.rate,
            dropped=self._dropped(record, interaction),
            of_offsets=self.rules.block if has_no_slot else 1,
            has_slot=not has_no_slot and self.rules.block != 1,
            is_trace=is_trace,
            held_back=self.rules.let_through.against(interaction),
            is_copy=not is_trace and not is_redriven and self._is_copy(record),
            is_hidden=hides_all(redacted_metrics(interaction), self.rules.metrics(interaction)),
        )

    def _is_copy(self, record: KafkaRecord) -> bool:
        """Whether a scorer takes it for one, by the times at which they were written."""
        key = Partition(record.topic, record.partition), digest_of(record)
        before = self._copies.get(key)
        self._copies[key] = record.timestamp
        return before is not None and record.timestamp - before < 1000 * WITHIN_S

    def _dropped(self, record: KafkaRecord, interaction: Interaction) -> Reason | None:
        """Why a scorer does not even decode it; None: it does."""
        if isinstance(record, TraceRecord):
            return self.rules.traces.left_out(
                record.key, record.headers, interaction.interaction_id, 1 / (self.rules.block or 1)
            )
        return None if self.rules.prefilter([record]).left else Reason.HASH


def _has_id(log_format: LogFormat, value: bytes, interaction_id: str) -> bool:
    """Whether a logged record is of this id; of one that is no JSON, whether it names it."""
    try:
        return log_format.logged_id(value) == interaction_id
    except ValueError:
        return any(b'"%b"' % each in value for each in spellings(interaction_id))


async def _committed(access: LookupAccess) -> dict[Partition, int]:
    """Where the scorers' group stands; nothing where it may not be asked."""
    try:
        found = await group_offsets(access.inputs, access.group, access.interactions, access.health)
    except Exception:  # noqa: BLE001 - a right that is missing: all else is worth knowing
        return {}
    return {partition: committed for partition, (committed, _) in found.items()}


async def _dead_letters(
    access: LookupAccess, formats: TopicFormats, interaction_id: str, inputs: Sequence[PlacedInput]
) -> list[dict[str, Any]]:
    """Its dead letters: of the places where it was logged, or with its id in key or value."""
    topic, key = access.dead_letters, interaction_id.encode()
    places = {(each.topic, each.partition, each.offset) for each in inputs}
    found, place = [], _PLACE.fullmatch(interaction_id)
    if place is not None:
        places.add((place[1], int(place[2]), int(place[3])))
    async with access.scanning(access.output) as scan:
        async for record in scan.records(topic):
            dead_letter = dead_letter_headers.read_dead_letter(record)
            if dead_letter is None:
                continue
            is_its = dead_letter.history.origin[:3] in places or record.key == key
            log_format = formats[dead_letter.history.origin.topic]
            if is_its or _has_id(log_format, record.value or b"", interaction_id):
                found.append(row(record, dead_letter))
    return sorted(found, key=lambda each: (each["attempts"], each["offset"]))


async def _slot_of(access: LookupAccess, inputs: Sequence[PlacedInput]) -> PlacedScore | None:
    """The record of the pick that was judged for the slot that one of these is in."""
    wanted = [each for each in inputs if each.interaction is not None]
    if not wanted:
        return None
    topic, since = access.scores, min(each.timestamp for each in wanted)
    prefixes = tuple(
        f"{each.interaction.application}/".encode() for each in wanted if each.interaction
    )

    def may_be(record: KafkaRecord) -> bool:
        return record.key is None or record.key.startswith(prefixes)

    async with access.scanning(access.output) as scan:
        async for found in scores(scan, topic, may_be, since):
            if any(_is_of_slot(found, each) for each in wanted):
                return found
    return None


def _is_of_slot(found: PlacedScore, one: PlacedInput) -> bool:
    record, sampling = found.record, found.record.sampling
    if one.interaction is None or sampling.first_offset is None or sampling.last_offset is None:
        return False
    return (
        record.application == one.interaction.application
        and sampling.kind == one.interaction.kind
        and (record.source.topic, record.source.partition) == (one.topic, one.partition)
        and sampling.first_offset <= one.offset <= sampling.last_offset
    )


async def _paused(access: LookupAccess, inputs: Sequence[PlacedInput], now: float) -> Sequence[str]:
    """The pauses that hold now for one of these, in words."""
    names = {each.interaction.application for each in inputs if each.interaction is not None}
    control = ControlAccess(access.output, access.control, access.health, access.limit_s)
    try:
        held = await in_force(control, now)
    except DependencyRefused:
        return ()
    return [str(each) for each in held if not each.application or each.application in names]
