"""What a handful of records shows of a topic: counted as they come, nothing of them kept. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from pydantic import JsonValue

from monitor.errors import MessageRejected
from monitor.ingest.event_time import NEWEST
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.kafka.record import KafkaRecord
from monitor.records import Interaction, Source
from monitor.sampling.hashing import Sampler
from monitor.sampling.rules import EVERYTHING, Filter

#: Attributes whose values are those of a session, as logs and tracers call them: in small letters,
#: and with _ for what stands between words.
SESSIONS: Final = frozenset(
    name + end
    for name in ("session", "conversation", "dialogue", "gen_ai_conversation", "thread", "chat")
    for end in ("_id", "id")
) | {"session", "conversation"}


@dataclass(slots=True)
class Keys:
    """One kind of key over the records: how many have none, and how the others repeat."""

    missing: int = 0
    empty: int = 0
    seen: Counter[bytes] = field(default_factory=Counter)

    def add(self, key: bytes | None) -> None:
        """One more record."""
        if key is None:
            self.missing += 1
        elif not key:
            self.empty += 1
        else:
            # Hashed: a key may be a person's name, and may be long.
            self.seen[blake2b(key, digest_size=8).digest()] += 1

    @property
    def usable(self) -> int:
        """Records with a key that can be hashed."""
        return self.seen.total()

    @property
    def records(self) -> int:
        """All records."""
        return self.usable + self.missing + self.empty

    @property
    def top(self) -> int:
        """Records of the most frequent key."""
        return max(self.seen.values(), default=0)


@dataclass(slots=True)
class AttributeCount:
    """One attribute: the records that should have it, those that do, its values."""

    asked: int = 0
    there: int = 0
    values: set[bytes] = field(default_factory=set)

    def add(self, value: JsonValue) -> None:
        """One more record; None: it lacks the attribute."""
        self.asked += 1
        if value is not None:
            self.there += 1
            self.values.add(blake2b(str(value).encode(), digest_size=8).digest())


@dataclass(slots=True)
class Digest:
    """Counts over the records of one topic; ``newest_ms`` is the broker's time of the newest.

    ``sampling_key`` is the setting ``sampling.key``, ``let_through`` what ``ingest`` filters;
    ``is_too_large`` says what no judge would be asked about, ``segment_by`` gives the attributes
    of an interaction's segment; ``now_ms`` is epoch milliseconds. ``cluster_by`` is the setting
    ``export.cluster``.
    ``examples`` is what was said of the first record of each error, as ``redacted`` leaves it.
    """

    now_ms: int
    sampling_key: str = "interaction_id"
    let_through: Filter = EVERYTHING
    is_too_large: Callable[[Interaction], bool] = lambda _: False
    segment_by: Callable[[Interaction], Sequence[str]] = lambda _: ()
    redacted: Callable[[MessageRejected], MessageRejected] = lambda error: error
    formats: TopicFormats = field(default_factory=TopicFormats)
    cluster_by: str | None = None
    records: int = 0
    tombstones: int = 0
    decoded: int = 0
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    keys: Keys = field(default_factory=Keys)
    headers: Keys = field(default_factory=Keys)
    key_is_id: int = 0
    without_id: int = 0
    repeated: int = 0
    held_back: Counter[str] = field(default_factory=Counter)
    too_large: int = 0
    #: By attribute of ``export.segment``: in how many records it should be and is, and its values.
    segments: dict[str, AttributeCount] = field(default_factory=dict)
    #: The same of ``export.cluster``; without it of attributes that tell sessions.
    sessions: dict[str, AttributeCount] = field(default_factory=dict)
    with_contexts: int = 0
    with_reference: int = 0
    replaced: Counter[str] = field(default_factory=Counter)
    newest_ms: int = -1
    _ids: set[bytes] = field(default_factory=set)

    def add(self, record: KafkaRecord) -> None:
        """Take in one record."""
        self.records += 1
        self.newest_ms = max(self.newest_ms, record.timestamp)
        self.keys.add(record.key)
        if self.sampling_key.startswith("header:"):
            sampler = Sampler(1.0, self.sampling_key)
            self.headers.add(sampler.record_key(record.key, record.headers))
        if record.value is None:
            self.tombstones += 1
            return
        source = Source(topic=record.topic, partition=record.partition, offset=record.offset)
        newest_ms = self.now_ms + int(NEWEST.total_seconds() * 1000)
        try:
            read = self.formats[record.topic].decode
            found = read(record.value, source, min(record.timestamp, newest_ms))
        except MessageRejected as error:
            self._note_error(error)
            return
        self.decoded += 1
        if found.timestamp_replaced:
            self.replaced[found.timestamp_replaced] += 1
        self._note(found.interaction, record)

    def _note_error(self, error: MessageRejected) -> None:
        kind = _field(error), error.cause
        self.errors[kind] += 1
        if kind not in self.examples:
            self.examples[kind] = str(self.redacted(error)).partition(": ")[2]

    def _note(self, interaction: Interaction, record: KafkaRecord) -> None:
        self.with_contexts += bool(interaction.retrieved_contexts)
        self.with_reference += interaction.kind == "with_reference"
        if rule := self.let_through.against(interaction):
            self.held_back[rule] += 1
        elif self.is_too_large(interaction):
            self.too_large += 1
        for attribute in self.segment_by(interaction):
            counted = self.segments.setdefault(attribute, AttributeCount())
            counted.add(interaction.attributes.get(attribute))
        self._note_sessions(interaction)
        name = interaction.interaction_id
        # Without an id in the log its place is its id, which never repeats.
        if name == f"{record.topic}/{record.partition}/{record.offset}":
            self.without_id += 1
            return
        self.key_is_id += record.key == name.encode()
        whole = f"{interaction.application}/{name}".encode()
        hashed = blake2b(whole, digest_size=8).digest()
        self.repeated += hashed in self._ids
        self._ids.add(hashed)

    def _note_sessions(self, interaction: Interaction) -> None:
        if self.cluster_by is not None:
            names = [self.cluster_by]
        else:
            names = [name for name in interaction.attributes if _plain(name) in SESSIONS]
        for name in names:
            counted = self.sessions.setdefault(name, AttributeCount())
            counted.add(interaction.attributes.get(name))


def _plain(name: str) -> str:
    """A name as ``SESSIONS`` has it.

    >>> _plain("Session-ID"), _plain("gen_ai.conversation.id")
    ('session_id', 'gen_ai_conversation_id')
    """
    return name.lower().replace("-", "_").replace(".", "_")


def _field(error: MessageRejected) -> str:
    """The path that the message begins with; numbers of list items all count as one."""
    path = str(error).partition(": ")[0]
    return ".".join("*" if part.isdigit() else part for part in path.split("."))
