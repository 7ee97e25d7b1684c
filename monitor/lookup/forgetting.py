"""Somebody's texts, or those of one interaction: found, taken away, and what stays elsewhere said.

What is asked for goes to the control topic first, as a fingerprint: whoever keeps texts goes by it
from then on, and a replay brings nothing back. Each step may be repeated.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from monitor.app.inspection import LookupAccess
from monitor.audit.commands import opened
from monitor.audit.store.database import Database
from monitor.audit.store.forgetting import InteractionName, TextForgetting
from monitor.control.forgotten import ForgottenTexts
from monitor.control.scanned import readable_alarms, scan_alarms, scan_control
from monitor.control.state import ControlState
from monitor.errors import DependencyRefused
from monitor.kafka import one_shot
from monitor.kafka.cluster_state import Unanswered
from monitor.kafka.connection import Connection
from monitor.kafka.inspect import Inspector
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import TopicScan
from monitor.lookup.reading import scores, spellings
from monitor.records.alarm import AlarmRecord
from monitor.records.control import FORGOTTEN, ForgottenRecord
from monitor.records.forgetting import ForgettingRequest

#: Seconds for each question about a topic's settings.
_ASK_S: Final = 5.0
_DAY_MS: Final = 86_400_000
#: Seconds in which exporters have read what was written, and written what they had begun.
_EXPORTERS_S: Final = 2.0
_MOST_LOOKS: Final = 5


class ForgettingPlaces(NamedTuple):
    """Where texts are: topics and their cluster, and the database of audits where there is one."""

    access: LookupAccess
    alarms: str
    database: Database | None


class FoundTexts(NamedTuple):
    """What holds texts that are to go.

    ``kept`` are interactions in the database, ``on_topic`` those on the topic of score records,
    and ``alarms`` the alarms that quote their claims, without these quotes. ``unknown`` are other
    interactions that alarms quote, and of which no record says whose they are.
    """

    salt: str
    kept: tuple[InteractionName, ...]
    on_topic: tuple[InteractionName, ...]
    alarms: tuple[AlarmRecord, ...]
    unknown: tuple[InteractionName, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be forgotten."""
        return not (self.kept or self.on_topic or self.alarms)


class CarriedOut(NamedTuple):
    """How many alarms were cleared, and whether no file of the database holds the texts."""

    alarms: int
    is_overwritten: bool


async def look(places: ForgettingPlaces, request: ForgettingRequest) -> FoundTexts:
    """What would be forgotten; nothing changes.

    Raises ``DependencyRefused`` where a topic or the database cannot be read in time.
    """
    access, kept = places.access, []
    if places.database is not None:
        async with opened(places.database) as database:
            kept = await TextForgetting(database).named_by(request)
    async with access.scanning(access.output) as scan:
        salt = await _salt(scan, access.control)
        # Of one that is asked for by its id everybody knows which it is.
        quoted = await _quoted(scan, places.alarms, request) if request.attribute else set()
        on_topic, seen = await _on_topic(scan, access.scores, request, quoted)
        alarms = await _alarms(scan, places.alarms, request, {*kept, *on_topic})
    unknown = quoted.difference(kept, seen)
    if unknown and places.database is not None:
        async with opened(places.database) as database:
            unknown -= await TextForgetting(database).with_texts(unknown)
    return FoundTexts(salt, tuple(kept), tuple(on_topic), tuple(alarms), tuple(sorted(unknown)))


async def forget(
    places: ForgettingPlaces, request: ForgettingRequest, found: FoundTexts, now: datetime
) -> CarriedOut:
    """Carry it out, and say how far.

    A role that is running may be quicker in the database. Alarms are read once more: since they
    were found, somebody has thought about the question, and they may have moved on.

    Raises ``DependencyRefused``: then it may be asked for again.
    """
    access, named = places.access, {*found.kept, *found.on_topic}
    record = ForgottenRecord(
        salt=found.salt,
        fingerprint=request.fingerprint(found.salt),
        attribute=request.attribute,
        application=request.application,
        forgotten_at=now,
    )
    await _publish(access, access.control, [(record.key, record.to_json())])
    is_overwritten = True
    if places.database is not None:
        async with opened(places.database) as database:
            texts = TextForgetting(database)
            named.update(await texts.named_by(request))
            await texts.forget(request)
            is_overwritten = texts.is_overwritten
    return CarriedOut(await _clear_alarms(places, request, named), is_overwritten)


async def _clear_alarms(
    places: ForgettingPlaces, request: ForgettingRequest, named: set[InteractionName]
) -> int:
    """How many quoted them.

    An exporter may be writing an alarm just then that it has read before, quotes and all: so it is
    looked once more, until there is nothing left.
    """
    access, cleared = places.access, set[str]()
    for _ in range(_MOST_LOOKS):
        async with access.scanning(access.output) as scan:
            alarms = await _alarms(scan, places.alarms, request, named)
        if not alarms:
            return len(cleared)
        await _publish(access, places.alarms, [(one.key, one.to_json()) for one in alarms])
        cleared |= {one.key for one in alarms}
        await asyncio.sleep(_EXPORTERS_S)
    raise DependencyRefused(
        f"{places.alarms}: somebody writes quotes that are to be forgotten again and again; is "
        "every exporter of this version? Then say it once more"
    )


async def _publish(
    access: LookupAccess, topic: str, records: Sequence[tuple[str, bytes | None]]
) -> None:
    await one_shot.publish(access.output, access.health, access.limit_s, topic, records)


async def _salt(scan: TopicScan, topic: str) -> str:
    """The one that is in use: with each further one a record would cost one hash more."""
    texts = ForgottenTexts()
    await scan_control(scan, topic, ControlState({FORGOTTEN: texts.apply}))
    return texts.salt or secrets.token_hex(16)


async def _on_topic(
    scan: TopicScan, topic: str, request: ForgettingRequest, quoted: set[InteractionName]
) -> tuple[list[InteractionName], set[InteractionName]]:
    """Those that are asked for; and which of the ``quoted`` are there, whosever they are."""
    written, keys = spellings(request.value), {"/".join(name).encode() for name in quoted}

    def may_be(record: KafkaRecord) -> bool:
        is_quoted = record.key in keys
        return is_quoted or any(each in (record.value or b"") for each in written)

    found, seen = dict[InteractionName, None](), set[InteractionName]()
    async for each in scores(scan, topic, may_be):
        name = each.record.application, each.record.interaction_id
        seen.add(name)
        if request.names(each.record):
            found[name] = None
    return list(found), seen


async def _quoted(scan: TopicScan, topic: str, request: ForgettingRequest) -> set[InteractionName]:
    """The interactions whose claims stand in alarms, of the applications that are asked for."""
    found = dict[bytes | None, set[InteractionName]]()

    def hold(key: bytes | None, record: AlarmRecord | None) -> None:
        found.pop(key, None)
        if record is not None and request.application in ("", record.application):
            names = {(record.application, it.interaction_id) for it in record.worst if it.claims}
            if names:
                found[key] = names

    await scan_alarms(scan, topic, readable_alarms(hold))
    return set().union(*found.values())


async def _alarms(
    scan: TopicScan, topic: str, request: ForgettingRequest, named: set[InteractionName]
) -> list[AlarmRecord]:
    quoting = dict[bytes | None, AlarmRecord]()

    def hold(key: bytes | None, found: AlarmRecord | None) -> None:
        quoting.pop(key, None)
        if found is not None and (bare := without_claims(found, request, named)) != found:
            quoting[key] = bare

    # All keys, and not so many as a process holds: one that is left out would keep its quotes.
    await scan_alarms(scan, topic, readable_alarms(hold))
    return list(quoting.values())


def without_claims(
    record: AlarmRecord, request: ForgettingRequest, named: set[InteractionName]
) -> AlarmRecord:
    """The alarm without what it quotes of these interactions, or of the one that is asked for.

    That one may be too old to be found elsewhere.
    """
    is_asked_for = not request.attribute and request.application in ("", record.application)
    worst = tuple(
        one.model_copy(update={"claims": (), "claims_left_out": 0})
        if (is_asked_for and one.interaction_id == request.value)
        or (record.application, one.interaction_id) in named
        else one
        for one in record.worst
    )
    return record.model_copy(update={"worst": worst})


async def left_elsewhere(places: ForgettingPlaces, now: datetime) -> list[str]:
    """Where texts may still be, and until when, a line each."""
    access = places.access
    deleted = (access.scores, access.dead_letters)
    lines = await _of_topics(access.inputs, access.interactions, now)
    lines += await _of_topics(access.output, deleted, now)
    lines.append(f"{places.alarms}: the replaced record until the broker has compacted the topic")
    return lines


async def _of_topics(connection: Connection, topics: Sequence[str], now: datetime) -> list[str]:
    try:
        inspector = await Inspector.start(connection, _ASK_S)
        try:
            found = await inspector.settings(topics)
        finally:
            await inspector.stop()
    except Unanswered as error:
        return [f"{topic}: until its retention ends ({error})" for topic in topics]
    return [f"{topic}: {until_in_words(found[topic], now)}" for topic in topics if topic in found]


def until_in_words(configs: Mapping[str, str] | Unanswered, now: datetime) -> str:
    """Until when a topic holds what is on it by now.

    >>> until_in_words({"retention.ms": "86400000"}, datetime(2026, 11, 22, tzinfo=UTC))
    'until 2026-11-23 00:00 UTC or up to one segment later (retention.ms is 1 day)'
    >>> until_in_words({"retention.ms": "-1"}, datetime(2026, 11, 22, tzinfo=UTC))
    'for ever (retention.ms is -1)'
    """
    if isinstance(configs, Unanswered):
        return f"until its retention ends ({configs})"
    kept_ms = int(configs.get("retention.ms", "-1"))
    if "compact" in configs.get("cleanup.policy", "") or kept_ms < 0:
        return f"for ever (retention.ms is {kept_ms})"
    until = (now + timedelta(milliseconds=kept_ms)).astimezone(UTC)
    days = kept_ms / _DAY_MS
    length = f"{days:.3g} day" if days == 1 else f"{days:.3g} days"
    return f"until {until:%Y-%m-%d %H:%M} UTC or up to one segment later (retention.ms is {length})"
