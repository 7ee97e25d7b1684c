"""What a score record adds to gauges and evidence, cut down to what they need."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from monitor.exporter.scores.releases import NO_VERSIONS, Versions, versions_of
from monitor.metrics.catalogue import CATALOGUE, Metric, defined_for
from monitor.records import JudgeIdentity, Kind, Outcome, ScoreRecord
from monitor.stats.candidates import Candidate
from monitor.stats.sums import Sums, as_worse, segment_terms, terms

Catalogue = Mapping[str, Metric]
_EMPTY: Final[Mapping[str, tuple[float, float]]] = MappingProxyType({})
#: Traffic decides which metrics stand on a record, but not how many shapes are remembered.
_MOST_SHAPES: Final = 256
_NO_SEGMENTS: Final[Mapping[str, int]] = MappingProxyType({})
#: The position of a record that does not come from Kafka.
NOWHERE: Final = -1
#: The content of a record without question or response.
NO_CONTENT: Final = 0
#: The cluster of a record that says nothing of one: it is one by itself.
NO_CLUSTER: Final = 0
_PARTITION_BITS: Final = 20

# Scores are shares of a few claims, and judges, applications and segments are few: what is equal
# is kept once, and the sums of equal slots are computed once. These caches change no result.
_terms = lru_cache(16_384)(terms)
_segment_terms = lru_cache(16_384)(segment_terms)


class _TermsByValue(dict[float | None, Sums]):
    """Value → what it adds to the sums, for slots that are alike and of which nothing is expected.

    >>> _TermsByValue(1, 0.5, 1.0, False)[0.25] == terms(1, 0.5, 1.0, 0.0, 0.0, 0.25, False)
    True
    """

    def __init__(self, m: int, q: float, u: float, failed: bool) -> None:
        super().__init__()
        self._slot = m, q, u, failed

    def __missing__(self, value: float | None) -> Sums:
        if len(self) >= _MOST_VALUES:
            self.clear()
        m, q, u, failed = self._slot
        found = self[value] = terms(m, q, u, 0.0, 0.0, value, failed)
        return found


_MOST_VALUES: Final = 1_024
_alike = lru_cache(32)(_TermsByValue)


class _WorseByScore(dict[float, float]):
    """Score → the same with larger meaning worse: a third of the time of a cached call.

    >>> _WorseByScore(True)[0.75], _WorseByScore(False)[0.75]
    (0.25, 0.75)
    """

    def __init__(self, higher_is_better: bool) -> None:
        super().__init__()
        self._turned = higher_is_better

    def __missing__(self, score: float) -> float:
        if len(self) >= _MOST_SCORES:
            self.clear()
        found = self[score] = as_worse(score, self._turned)
        return found


_MOST_SCORES: Final = 16_384
_WORSE: Final = {turned: _WorseByScore(turned).__getitem__ for turned in (False, True)}


@lru_cache(16_384)
def _text(text: str) -> str:
    return text


def _trace_place(offset: int, trace_id: str) -> int:
    """A place for each trace of a record, in the order of the records."""
    digest = hashlib.blake2b(trace_id.encode(), digest_size=5).digest()
    return (offset << 40) + int.from_bytes(digest)


@lru_cache(16_384)
def _number(number: float) -> float:
    return number


@lru_cache(1_024)
def _judge(
    name: str, version: str, model: str, prompts: str, pipeline: str
) -> tuple[JudgeIdentity, str]:
    """The judge and its label; by its fields, since models are slow to compare."""
    judge = JudgeIdentity(
        name=name, version=version, model=model, prompts=prompts, pipeline=pipeline
    )
    return judge, judge.label


def position(partition: int, offset: int) -> int:
    """Partition and offset as one number; ``NOWHERE`` for a partition beyond a million."""
    return offset << _PARTITION_BITS | partition if partition >> _PARTITION_BITS == 0 else NOWHERE


def place_of(position: int) -> tuple[int, int] | None:
    """Partition and offset.

    >>> place_of(position(7, 123_456)), place_of(NOWHERE)
    ((7, 123456), None)
    """
    if position == NOWHERE:
        return None
    return position & ((1 << _PARTITION_BITS) - 1), position >> _PARTITION_BITS


class Observation(NamedTuple):
    """A counted record, compact: the sums are computed when it enters or leaves.

    ``metrics`` are those that are defined for it, ``numbers`` their values with larger meaning
    worse (None: unscored or failed); ``segment`` is that of the pick, ``segments`` how many members
    of the slot each has (empty: only that of the pick). ``position`` is where the record stands on
    its topic, as one number to save memory: see ``position``. ``signal`` is the risk signal of
    the pick. ``content`` is a number of its own for each application, judge, question and response;
    ``cluster`` one for each session, or what else it is told apart by. ``judged_at`` is in epoch
    seconds. ``versions`` tell which release of the application it comes from.
    """

    judge: JudgeIdentity
    judge_label: str
    m: int
    q: float
    u: float
    expected: Mapping[str, tuple[float, float]]
    metrics: tuple[str, ...]
    numbers: tuple[float | None, ...]
    failed: bool
    segment: str
    segments: Mapping[str, int]
    position: int = NOWHERE
    signal: float | None = None
    content: int = NO_CONTENT
    cluster: int = NO_CLUSTER
    judged_at: float = math.inf
    versions: Versions = NO_VERSIONS

    @property
    def values(self) -> Iterator[tuple[str, float | None]]:
        """Metric → value, one by one."""
        return zip(self.metrics, self.numbers, strict=True)

    @property
    def is_plain(self) -> bool:
        """Whether the slot adds the same to its segment as to the whole: no directed pick."""
        return self.u == 1.0 and not self.expected

    def terms(self, metric: str, value: float | None) -> Sums:
        """What the slot adds to the sums of a metric."""
        f_mean, f = self.expected.get(metric, (0.0, 0.0))
        return _terms(self.m, self.q, self.u, f_mean, f, value, self.failed)

    def segment_terms(self, value: float | None) -> Sums:
        """What the slot adds to the sums of a metric in the segment of its pick."""
        return _segment_terms(self.m, self.q, self.u, value, self.failed)

    def all_terms(self) -> list[Sums]:
        """What the slot adds to the sums of each metric."""
        m, q, u, failed, expected = self.m, self.q, self.u, self.failed, self.expected
        if not expected:
            return [*map(_alike(m, q, u, failed).__getitem__, self.numbers)]
        return [
            _terms(m, q, u, *expected.get(metric, (0.0, 0.0)), value, failed)
            for metric, value in self.values
        ]

    def all_segment_terms(self) -> list[Sums]:
        """What the slot adds to the sums of each metric in the segment of its pick."""
        if self.is_plain:
            return self.all_terms()
        m, q, u, failed = self.m, self.q, self.u, self.failed
        return [_segment_terms(m, q, u, value, failed) for value in self.numbers]


class Reader:
    """Turns score records into candidates; ``catalogue`` holds the metrics that are known.

    ``cluster_by`` names the attribute by which clusters are told apart.
    """

    def __init__(self, catalogue: Catalogue = CATALOGUE, cluster_by: str | None = None) -> None:
        self._catalogue, self._cluster_by = catalogue, cluster_by
        self._shapes: dict[tuple[Kind, tuple[str, ...]], _Shape] = {}

    def candidate(self, record: ScoreRecord, line: bytes, place: int = NOWHERE) -> Candidate:
        """The record for the selection; its payload is an ``Observation``, None if it never counts.

        ``place`` is its position on the topic.
        """
        sampling, judged_at = record.sampling, record.judged_at.timestamp()
        spans = record.source.spans or 0
        first, last = sampling.first_offset or 0, sampling.last_offset or 0
        if spans:  # many traces stand in one record: each has a place of its own
            first = last = _trace_place(record.source.offset, record.interaction_id)
        # In their order and not by name, which takes twice as long.
        return Candidate(
            _text(record.application),
            record.interaction_id,
            record.event_time.timestamp(),
            judged_at,
            hashlib.sha256(line).digest(),
            not sampling.forced,
            # A failed pick may carry marks for its metrics: they are no values.
            bool(record.scores) and record.outcome is not Outcome.JUDGE_FAILED,
            _text(record.source.topic),
            record.source.partition,
            sampling.kind,
            first,
            last,
            self._slot(record, place, judged_at),
            spans,
        )

    def _slot(self, record: ScoreRecord, place: int, judged_at: float) -> Observation | None:
        sampling = record.sampling
        if sampling.m is None or sampling.q is None or sampling.u is None:
            return None
        if record.outcome is Outcome.OVER_BUDGET:
            return None
        shape = self._shape(record)
        j = record.judge
        judge, judge_label = _judge(j.name, j.version, j.model, j.prompts, j.pipeline)
        members = sampling.segments
        only_its_own = not members or (len(members) == 1 and record.segment in members)
        return Observation(
            judge,
            judge_label,
            sampling.m,
            _number(sampling.q),
            _number(sampling.u),
            sampling.expected or _EMPTY,
            shape.metrics,
            shape.numbers(record),
            record.outcome is Outcome.JUDGE_FAILED,
            _text(record.segment),
            _NO_SEGMENTS if only_its_own else members,
            place,
            None if sampling.signal is None else _number(sampling.signal),
            _content(record, judge_label),
            self._cluster(record),
            judged_at,
            versions_of(record.attributes),
        )

    def _cluster(self, record: ScoreRecord) -> int:
        if self._cluster_by is None or record.attributes.get(self._cluster_by) in (None, ""):
            return NO_CLUSTER
        return _bits(_framed(str(record.attributes[self._cluster_by])))

    def _shape(self, record: ScoreRecord) -> _Shape:
        """Metrics that are defined for the record's kind; a failed pick counts for all of them."""
        key = record.sampling.kind, tuple(record.scores or self._catalogue)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            names, kind = frozenset(key[1]), key[0]
            chosen = [m for m in self._catalogue.values() if m.name in names]
            metrics = [metric for metric in chosen if defined_for(metric, kind)]
            found = self._shapes[key] = _Shape(metrics, key[1])
        return found


def _content(record: ScoreRecord, judge_label: str) -> int:
    """64 bits of what was asked and answered, and where."""
    question, response = map(record.interaction.get, ("user_input", "response"))
    if not isinstance(question, str) or not isinstance(response, str):
        return NO_CONTENT
    where, asked = _where(record.application, judge_label), question.encode()
    answered = response.encode()
    return _bits(b"%b%d:%b%d:%b" % (where, len(asked), asked, len(answered), answered))


def _bits(text: bytes) -> int:
    """64 bits of a text."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _framed(*parts: str) -> bytes:
    """Some texts as one, so that others give another."""
    return b"".join([b"%d:%b" % (len(part), part) for part in map(str.encode, parts)])


_where = lru_cache(1_024)(_framed)


class _Shape:
    """Which metrics a record has, and which of them are better when they are higher."""

    def __init__(self, metrics: list[Metric], names: tuple[str, ...]) -> None:
        self.metrics = tuple(metric.name for metric in metrics)
        self._worse = [_WORSE[bool(metric.higher_is_better)] for metric in metrics]
        #: Usually the record has these metrics in this order, and nothing has to be looked up.
        self._as_listed = self.metrics == names

    def numbers(self, record: ScoreRecord) -> tuple[float | None, ...]:
        """The values with larger meaning worse."""
        found = record.scores
        scores = found.values() if self._as_listed and found else map(found.get, self.metrics)
        return tuple(
            [
                worse(score) if isinstance(score, float) else None
                for score, worse in zip(scores, self._worse, strict=True)
            ]
        )
