"""What the monitor makes of single records, and all of them together; decides nothing. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from monitor.errors import MessageRejected
from monitor.exporter.scores.releases import RELEASED_BY, versions_of
from monitor.ingest.event_time import NEWEST, Replaced
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.formats.gathered import NO_TRACES, TraceCounts, gathered
from monitor.ingest.formats.rejection import not_unpacked
from monitor.ingest.redaction.redactor import Redactor
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.metrics.catalogue import CATALOGUE
from monitor.onboarding.file_row import FileRow
from monitor.onboarding.languages import language
from monitor.records import Interaction, Reason, Source
from monitor.sampling.hashing import Sampler
from monitor.sampling.rules import Filter


class TrialRules(NamedTuple):
    """As a scorer would have them. ``redacted`` is where ``redactor`` counts what it replaces.

    ``oldest`` is the first event time that is judged, in epoch seconds. ``of_file``: the records
    are rows of a file, whose times are believed.
    """

    formats: TopicFormats
    sampler: Callable[[Interaction], Sampler]
    let_through: Filter
    oldest: float
    redactor: Redactor
    redacted: Counter[str]
    of_file: bool = False


class Tried(NamedTuple):
    """One record: an interaction as it would be judged, or ``error`` with its ``cause``.

    ``not_sampled`` says why it would not be judged, None where it would. ``redacted`` by kind.
    ``replaced``: why its own time did not count.
    """

    topic: str
    partition: int
    offset: int
    interaction: Interaction | None = None
    error: str | None = None
    cause: str | None = None
    not_sampled: str | None = None
    redacted: Mapping[str, int] = {}
    replaced: Replaced | None = None

    def metrics(self) -> tuple[list[str], list[str]]:
        """Which metrics it can have, and which it cannot for want of a reference or passages."""
        found = self.interaction
        if found is None:
            return [], []
        can: list[str] = []
        cannot: list[str] = []
        for name, metric in CATALOGUE.items():
            lacks_reference = metric.needs_reference and found.kind == "without_reference"
            lacks_passages = metric.needs_contexts and not found.retrieved_contexts
            (cannot if lacks_reference or lacks_passages else can).append(name)
        return can, cannot


def all_tried(
    records: Sequence[KafkaRecord], rules: TrialRules, now_ms: int
) -> tuple[list[Tried], TraceCounts]:
    """Each record by itself; of spans each trace that they are of, and what was counted of them."""
    found, counts = gathered(records, rules.formats)
    return [tried(record, rules, now_ms) for record in found], counts


def tried(record: KafkaRecord, rules: TrialRules, now_ms: int) -> Tried:
    """One record, read as the scorer reads it; ``now_ms`` is the broker's time, epoch ms."""
    here = Tried(record.topic, record.partition, record.offset)
    if isinstance(record, Unreadable):
        unread = not_unpacked(record)
        return here._replace(error=str(unread), cause=unread.cause)
    if isinstance(record, FileRow) and record.fault is not None:
        return here._replace(error=record.fault, cause=Reason.UNREADABLE)
    if record.value is None:
        return here._replace(error="it has no value (a tombstone)", cause="tombstone")
    rules.redacted.clear()
    source = Source(topic=record.topic, partition=record.partition, offset=record.offset)
    newest_ms = now_ms + int(NEWEST.total_seconds() * 1000)
    broker_ms = min(record.timestamp if record.timestamp >= 0 else now_ms, newest_ms)
    read = rules.formats[record.topic].decode
    try:
        decoded = read(record.value, source, broker_ms, of_file=rules.of_file)
        shown = rules.redactor.interaction(decoded.interaction)
    except MessageRejected as error:
        said = rules.redactor.message(error)
        return here._replace(error=str(said), cause=said.cause)
    return here._replace(
        interaction=shown,
        not_sampled=_why_not(record, decoded.interaction, rules),
        redacted=dict(rules.redacted),
        replaced=decoded.timestamp_replaced,
    )


def _why_not(record: KafkaRecord, found: Interaction, rules: TrialRules) -> str | None:
    """As the scorer's intake asks, in its order; pauses and copies are left to it."""
    sampler = rules.sampler(found)
    digest, lacks_key = sampler.draw(record.key, record.headers, found.interaction_id)
    if not sampler.lies_below(digest):
        of = "interaction_id" if lacks_key else sampler.key
        return f"hash: its {of} is not in the share of {sampler.rate:g} (sampling.rate)"
    if found.event_time.timestamp() < rules.oldest and not rules.of_file:
        return f"too_old: of {found.event_time:%Y-%m-%d %H:%M} UTC, and no gauge could count it"
    held_back = rules.let_through.against(found)
    return None if held_back is None else f"filtered: by {held_back}"


@dataclass
class TrialSummary:
    """Counts over all records."""

    traces: TraceCounts = NO_TRACES
    records: int = 0
    readable: int = 0
    with_passages: int = 0
    with_reference: int = 0
    sampled: int = 0
    ids: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    #: Characters by field; of passages all of an interaction.
    sizes: dict[str, list[int]] = field(default_factory=dict)

    def add(self, one: Tried) -> None:
        """One more."""
        self.records += 1
        found = one.interaction
        if found is None:
            self.errors[str(one.error)] += 1
            return
        self.readable += 1
        self.with_passages += bool(found.retrieved_contexts)
        self.with_reference += found.kind == "with_reference"
        self.sampled += one.not_sampled is None
        self.ids[found.interaction_id] += 1
        self.redacted.update(one.redacted)
        if one.replaced:
            self.replaced[one.replaced] += 1
        self.languages[language(f"{found.user_input}\n{found.response}")] += 1
        passages = sum(len(each.text) for each in found.retrieved_contexts)
        texts = {"user_input": len(found.user_input), "response": len(found.response)}
        for name, size in (texts | {"retrieved_contexts": passages}).items():
            self.sizes.setdefault(name, []).append(size)

    @property
    def sharing_ids(self) -> int:
        """How many have the id of another one."""
        return sum(count for count in self.ids.values() if count > 1)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        counts = self.traces
        traces = counts._asdict() | {"overlooked": dict(counts.overlooked)}
        return {
            "records": self.records,
            "traces": traces if counts.traces else None,
            "readable": self.readable,
            "with_passages": self.with_passages,
            "with_reference": self.with_reference,
            "would_be_sampled": self.sampled,
            "sharing_ids": self.sharing_ids,
            "errors": dict(self.errors.most_common()),
            "redacted": dict(self.redacted),
            "timestamp_replaced": dict(self.replaced),
            "languages": dict(self.languages.most_common()),
            "characters": {
                name: {"median": median(sizes), "most": max(sizes)}
                for name, sizes in self.sizes.items()
            },
        }


def as_json(one: Tried) -> dict[str, Any]:
    """One record for programs."""
    found = one.interaction
    can, cannot = one.metrics()
    made: dict[str, Any] = {
        "topic": one.topic,
        "partition": one.partition,
        "offset": one.offset,
        "interaction": None if found is None else found.model_dump(mode="json"),
    }
    if found is None:
        return made | {"error": one.error, "cause": one.cause}
    return made | {
        "would_be_sampled": one.not_sampled is None,
        "not_sampled": one.not_sampled,
        "redacted": dict(one.redacted),
        "timestamp_replaced": one.replaced,
        "metrics": can,
        "metrics_without_value": cannot,
    }


def trace_lines(counts: TraceCounts) -> list[str]:
    """What spans there were, and what kept traces from being whole."""
    if not counts.traces:
        return []
    found = [f"spans of {counts.traces} traces in {counts.records} records"]
    if counts.other_work:
        found.append(f"{counts.other_work} × not sampled (filtered): no model has a part in it")
    if counts.without_root:
        found.append(f"{counts.without_root} × no root among these records (-n reads more of them)")
    if counts.linked:
        found.append(
            f"{counts.linked} × a link to another trace, which is not followed: passages of "
            "that trace are missing here"
        )
    for step, number in Counter(counts.overlooked).most_common(3):
        found.append(
            f"{number} × an output of {step} may hold passages, and is not read as any: they are "
            "read of a list of documents or texts, where openinference.span.kind is RETRIEVER"
        )
    if counts.split:
        found.append(
            f"{counts.split} × spans on several partitions: set partition_traces_by_id in the "
            "collector's Kafka exporter"
        )
    return found


_SHOWN = 70


def lines(number: int, one: Tried) -> list[str]:
    """One record for people; ``number`` counts from 1."""
    place = f"{one.topic}/{one.partition}/{one.offset}"
    found = one.interaction
    if found is None:
        return [f"{number}. {place}  NOT READ ({one.cause})", f"   {one.error}"]
    name = "no id of its own" if found.interaction_id == place else f"id {found.interaction_id}"
    time = f"{found.event_time:%Y-%m-%d %H:%M:%S} UTC"
    time += f" (not its own, which is {one.replaced})" if one.replaced else ""
    rows = [
        ("question", quoted(found.user_input)),
        ("answer", quoted(found.response)),
        ("passages", _passages(found)),
        ("reference", "none" if found.reference is None else quoted(found.reference)),
    ]
    if found.attributes:
        rows.append(("attributes", ", ".join(sorted(found.attributes))))
    versions = zip(RELEASED_BY, versions_of(found.attributes), strict=True)
    if named := ", ".join(f"{name} {value}" for name, value in versions if value):
        rows.append(("release", named))
    if one.redacted:
        kinds = (f"{n} {kind}" for kind, n in sorted(one.redacted.items()))
        rows.append(("redacted", ", ".join(kinds)))
    rows.append(("judged", "yes" if one.not_sampled is None else f"no, {one.not_sampled}"))
    rows.append(("metrics", _metrics(*one.metrics())))
    first = f"{number}. {place}  {name}, application {found.application}, {time}"
    return [first, *(f"   {label:<11}{text}" for label, text in rows)]


def quoted(text: str, most: int = _SHOWN) -> str:
    """The beginning of a text in one line, and its length where that is not all.

    >>> quoted("a b", 5), quoted("a long text", 6)
    ('"a b"', '"a long…" (11 characters)')
    """
    line = " ".join(text[: most + 1].split())
    return f'"{line}"' if len(text) <= most else f'"{line[:most]}…" ({len(text):,} characters)'


def _passages(found: Interaction) -> str:
    texts = [each.text for each in found.retrieved_contexts]
    if not texts:
        return "none"
    number = f"{len(texts)}, " if len(texts) > 1 else ""
    return f"{number}{'first ' if number else ''}{quoted(texts[0])}"


def _metrics(can: Sequence[str], cannot: Sequence[str]) -> str:
    if not cannot:
        return "all"
    few = can if len(can) <= len(cannot) else cannot
    return ("only " if few is can else "all but ") + ", ".join(few)


def summary_lines(summary: TrialSummary) -> list[str]:
    """All records for people."""
    n, read = summary.records, summary.readable
    what = "traces" if summary.traces.traces else "records"
    found = [
        *trace_lines(summary.traces),
        f"{read} of {n} {what} are interactions, {summary.with_passages} of them with passages, "
        f"{summary.with_reference} with a reference; {summary.sampled} would be judged",
    ]
    if summary.sharing_ids:
        found.append(
            f"{summary.sharing_ids} × the id is that of another one, too: sampling by it takes all "
            "of an id or none; map one that tells interactions apart"
        )
    if summary.languages:
        parts = (f"{name} {count}" for name, count in summary.languages.most_common())
        found.append(f"languages: {', '.join(parts)}")
        sizes = (
            f"{name} {median(each):,.0f} (most {max(each):,})"
            for name, each in summary.sizes.items()
        )
        found.append(f"characters, median: {', '.join(sizes)}")
    if summary.redacted:
        parts = (f"{count} {kind}" for kind, count in summary.redacted.most_common())
        found.append(f"redacted: {', '.join(parts)}")
    for reason, count in summary.replaced.items():
        found.append(f"{count} × the broker's time replaces their own, which is {reason}")
    found += [f"{count} × {error}" for error, count in summary.errors.most_common(10)]
    return found
