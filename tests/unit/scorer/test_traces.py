"""Traces through the scorer as a worker of the loop: whole ones are judged, all are counted."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.formats.otlp import Span, json_spans
from monitor.ingest.formats.otlp_format import SPAN_FORMATS
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.records import Judgement
from monitor.records.score import UnscoredMark
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.scorer import traces
from monitor.scorer.intake import ALONE, Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages import otlp_spans
from tests.stages.loop import A, B, Record
from tests.stages.otlp_spans import Json, made, rag_trace
from tests.stages.process import until
from tests.stages.producers import Memory
from tests.stages.scorer_bench import Hanging
from tests.stages.slots_in_loop import Stage, staged

SPANS = TopicFormats(SPAN_FORMATS["otlp_json"])
QUIET_S, WAIT_S = 5.0, 300.0


def now_ns() -> int:
    """Spans of just now."""
    return time.time_ns() - 10**9


def record(offset: int, *spans: Json, partition: int = 0, **more: Any) -> Record:
    """A record of made spans."""
    value = otlp_spans.as_json(made(*spans))
    return Record(offset, partition, timestamp=int(time.time() * 1000), value=value, **more)


async def quiet(stage: Stage, seconds: float = QUIET_S) -> None:
    """Let time pass, and the loop come round."""
    stage.waited[0] += seconds
    polls = stage.consumer.polls
    await until(lambda: stage.consumer.polls > polls + 2, "the loop", every_s=0.002)


async def test_a_trace_over_three_records_is_one_interaction() -> None:
    """Judged when it is quiet; until then none of its records is committed."""
    async with staged(plain=True, formats=SPANS) as stage:
        one, two = rag_trace(1, 1, now_ns()), rag_trace(2, 2, now_ns())
        await stage.read(record(0, one[0], two[0]), record(1, two[1], one[1], one[2]))
        await quiet(stage)
        await until(lambda: len(stage.scores) == 1, "the first", every_s=0.002)
        # The other one has no root yet, and holds both records.
        assert stage.consumer.committed(A) in (None, 0)
        assert stage.is_balanced()
        await stage.read(record(2, two[2]))
        await quiet(stage, QUIET_S - 1)
        assert len(stage.scores) == 1
        await quiet(stage, 1)
        await stage.committed(3)
        first, second = sorted(stage.scores, key=lambda found: found.interaction_id)
        assert (first.source.trace_id, first.source.spans) == (f"{1:032x}", 3)
        assert (first.source.offset, second.source.offset) == (1, 2)
        assert first.interaction["user_input"] == otlp_spans.question(1)
        assert len(second.interaction["retrieved_contexts"]) == 2  # type: ignore[arg-type]
        assert stage.ended("scored") == 2
        assert stage.is_balanced()


async def test_what_comes_twice_counts_once_and_what_comes_late_not_at_all() -> None:
    """The same span again, in the trace and after it."""
    async with staged(plain=True, formats=SPANS) as stage:
        one = rag_trace(1, 1, now_ns())
        await stage.read(record(0, *one), record(1, *one))
        await quiet(stage)
        await stage.committed(2)
        await stage.read(record(2, *one))
        await quiet(stage, WAIT_S)
        await stage.committed(3)
        assert [found.source.spans for found in stage.scores] == [3]
        late = stage.registry.get_sample_value("rag_monitor_trace_spans_late_total")
        assert (stage.ended("scored"), late) == (1, 3)
        assert stage.is_balanced()


def counted(stage: Stage, name: str) -> float | None:
    """The value of a counter."""
    return stage.registry.get_sample_value(name)


class Awaited(OfflineJudge):
    """Begins when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.may_begin = asyncio.Event()

    async def judge(self, *asked: Any, **more: Any) -> Judgement:
        await self.may_begin.wait()
        return await super().judge(*asked, **more)


async def test_what_comes_while_its_trace_is_judged_is_late_and_counted_once() -> None:
    """When that has ended; what is judged is not late, and nothing counts again afterwards."""
    judge = Awaited()
    async with staged(plain=True, formats=SPANS, judge=judge, partitions=[A, B]) as stage:
        retriever, model, root = rag_trace(1, 1, now_ns())
        await stage.read(record(0, model, root))
        await quiet(stage)
        await stage.read(record(1, retriever, root), record(2, retriever))
        await stage.read(record(0, retriever, partition=1))
        await quiet(stage)
        assert counted(stage, "rag_monitor_trace_spans_late_total") == 0
        judge.may_begin.set()
        await stage.committed(3)
        assert counted(stage, "rag_monitor_trace_spans_late_total") == 1
        await stage.read(record(3, retriever))
        await stage.committed(4)
        assert counted(stage, "rag_monitor_trace_spans_late_total") == 1
        assert counted(stage, "rag_monitor_traces_split_total") == 1
        assert [found.source.spans for found in stage.scores] == [2]
        assert stage.is_balanced()


async def test_what_comes_while_a_trace_is_judged_that_is_left_is_not_late() -> None:
    """The next owner reads all of its records again, and has them in time."""
    async with staged(plain=True, formats=SPANS, judge=Awaited()) as stage:
        retriever, *others = rag_trace(1, 1, now_ns())
        await stage.read(record(0, *others))
        await quiet(stage)
        await stage.read(record(1, retriever))
        await stage.loop.revoked([A])
        assert stage.ended("handed_over", "revoked") == 1
        assert counted(stage, "rag_monitor_trace_spans_late_total") == 0


def test_late_spans_that_are_remembered_are_bounded() -> None:
    """What has been forgotten counts again, and what is remembered does not."""
    one = Assembling(900_000, traces.TraceBounds(late=2))
    one.assembler.end(one.trace)
    spans = json_spans(otlp_spans.as_json(made(*rag_trace(1, 1))))
    for span, late in ((0, 1), (1, 2), (1, 2), (2, 3), (0, 4), (2, 4)):
        assert one.assembler.has_ended(one.trace.key, Record(9), [spans[span]])
        assert one.late == late


def test_late_spans_of_one_trace_are_bounded() -> None:
    """While it is judged no more are held than one may have; what it has already is none."""
    one = Assembling(900_000, traces.TraceBounds(spans=1))
    one.trace.has_begun = True
    spans = json_spans(otlp_spans.as_json(made(*rag_trace(1, 1))))
    one.assembler.add(one.trace, Record(9), spans)
    assert len(spans) > 1
    assert len(one.trace.late) == 1


async def test_without_a_root_it_ends_with_that_reason() -> None:
    """After the longest wait, and not before; its record is done then."""
    async with staged(plain=True, formats=SPANS) as stage:
        await stage.read(record(0, *rag_trace(1, 1, now_ns())[:2]))
        await quiet(stage, WAIT_S - 1)
        assert stage.ended("unscorable", "no_root") == 0
        await quiet(stage, 1)
        await stage.committed(1)
        assert stage.ended("unscorable", "no_root") == 1
        assert stage.is_balanced()


async def test_a_root_in_another_process_is_waited_for_and_then_done_without() -> None:
    """Its parent is said to be remote: what this service says stands for the trace."""
    async with staged(plain=True, formats=SPANS) as stage:
        retriever, model, root = rag_trace(1, 1, now_ns())
        entry = {**root, "parentSpanId": f"{99:016x}", "flags": 0x301}
        await stage.read(record(0, retriever, model, entry))
        await quiet(stage, WAIT_S - 1)
        assert not stage.scores
        await quiet(stage, 1)
        await stage.committed(1)
        assert stage.ended("scored") == 1


async def test_traces_of_other_work_are_filtered() -> None:
    """Health checks and jobs stand in every collector: no model has a part in them."""
    async with staged(plain=True, formats=SPANS) as stage:
        plain = otlp_spans.span(1, 1, None, {"http.route": "/healthz"}, begin_ns=now_ns())
        indexing = otlp_spans.span(
            2, 1, None, {"openinference.span.kind": "EMBEDDING"}, begin_ns=now_ns()
        )
        await stage.read(record(0, plain, indexing))
        await quiet(stage)
        await stage.committed(1)
        assert stage.ended("not_sampled", "filtered") == 2
        assert stage.is_balanced()


async def test_one_that_cannot_be_read_is_a_dead_letter_of_its_own_spans() -> None:
    """Not of the record, which holds others, too; and it names what was looked for."""
    async with staged(plain=True, formats=SPANS) as stage:
        good, bad = rag_trace(1, 1, now_ns()), rag_trace(2, 2, now_ns())
        bad[0]["attributes"] = [each for each in bad[0]["attributes"] if "input" not in each["key"]]
        bad[2]["attributes"] = [each for each in bad[2]["attributes"] if "input" not in each["key"]]
        await stage.read(record(0, good[0], bad[0], bad[1]), record(1, *good[1:], bad[2]))
        await quiet(stage)
        await stage.committed(2)
        assert stage.ended("dead_lettered", "missing_field") == stage.ended("scored") == 1
        (letter,) = (value for topic, value in stage.written.values if topic == "dead")
        assert {span.trace_id for span in json_spans(letter or b"")} == {f"{2:032x}"}
        assert len(json_spans(letter or b"")) == 3
        assert stage.is_balanced()


async def test_a_redriven_trace_is_judged_though_it_had_ended() -> None:
    """Somebody wants it judged; what else comes of an ended one is late."""
    async with staged(plain=True, formats=SPANS) as stage:
        spans = rag_trace(1, 1, now_ns())
        await stage.read(record(0, *spans))
        await quiet(stage)
        await stage.committed(1)
        carried = {
            "topic": "t",
            "partition": "0",
            "offset": "0",
            "timestamp": "1",
            "attempts": "1",
            "first_failed_at": "2026-11-20T00:00:00+00:00",
        }
        headers = [(f"x-redrive.{key}", value.encode()) for key, value in carried.items()]
        await stage.read(record(1, *spans, headers=headers))
        await quiet(stage)
        await stage.committed(2)
        assert stage.ended("scored") == 2


async def test_one_of_too_many_spans_is_counted_and_holds_nothing() -> None:
    """Its other spans are late; the others of its record go on."""
    bounds = traces.TraceBounds(spans=5)
    async with staged(plain=True, formats=SPANS, trace_bounds=bounds) as stage:
        begin_ns = now_ns()
        large = [otlp_spans.span(7, n, 1, {}, begin_ns=begin_ns) for n in range(2, 9)]
        await stage.read(record(0, *large, *rag_trace(1, 1, begin_ns)))
        await quiet(stage)
        await stage.committed(1)
        assert stage.ended("unscorable", "trace_too_large") == stage.ended("scored") == 1
        assert stage.is_balanced()


async def test_nothing_more_is_read_while_too_much_is_open() -> None:
    """And goes on when some have ended."""
    bounds = traces.TraceBounds(open=2)
    async with staged(plain=True, formats=SPANS, trace_bounds=bounds) as stage:
        begin_ns = now_ns()
        many = [record(n, *rag_trace(n + 1, 1, begin_ns)) for n in range(4)]
        await stage.read(*many)
        assert stage.registry.get_sample_value("rag_monitor_traces_open") == 2
        assert stage.consumer.paused == {A}
        await quiet(stage)
        await until(lambda: stage.ended("scored") == 2, "two", every_s=0.002)
        await quiet(stage)
        await stage.committed(4)
        assert stage.ended("scored") == 4
        assert stage.is_balanced()


async def test_a_sample_takes_whole_traces_and_counts_each_once() -> None:
    """By their ids, whatever records their spans come in."""
    async with staged(plain=True, formats=SPANS, rate=0.3) as stage:
        begin_ns = now_ns()
        all_of_them = [rag_trace(n, n, begin_ns) for n in range(1, 41)]
        await stage.read(*(record(n, *(each[n] for each in all_of_them)) for n in range(3)))
        await quiet(stage)
        await stage.committed(3)
        scored, left_out = stage.ended("scored"), stage.ended("not_sampled", "hash")
        assert scored + left_out == 40
        assert 4 <= scored <= 22
        assert {found.source.spans for found in stage.scores} == {3}
        assert {found.sampling.q for found in stage.scores} == {0.3}
        assert stage.is_balanced()


async def test_in_blocks_a_trace_is_taken_by_its_hash_at_the_blocks_rate() -> None:
    """It joins no slot; its record says with which probability it was taken."""
    async with staged(length=8, formats=SPANS) as stage:
        begin_ns = now_ns()
        await stage.read(
            *(record(n, *rag_trace(n + 1, 1, begin_ns + 10**6 * n)) for n in range(64))
        )
        await quiet(stage)
        await stage.committed(64)
        assert 1 <= stage.ended("scored") <= 20
        assert {found.sampling.q for found in stage.scores} == {1 / 8}
        assert stage.is_balanced()


async def test_a_partition_that_is_revoked_leaves_its_traces_to_the_next_owner() -> None:
    """Open ones and those under way: handed over once each, and nothing is committed."""
    async with staged(plain=True, formats=SPANS, judge=Hanging()) as stage:
        begin_ns = now_ns()
        whole, part = rag_trace(1, 1, begin_ns), rag_trace(2, 2, begin_ns)
        await stage.read(record(0, *whole, part[0]), record(1, part[1]))
        await quiet(stage)
        await asyncio.sleep(0.02)
        await stage.loop.revoked([A])
        assert stage.ended("handed_over", "revoked") == 2
        assert stage.registry.get_sample_value("rag_monitor_traces_open") == 0
        assert stage.consumer.committed(A) in (None, 0)
        assert stage.is_balanced()


async def test_one_replica_assembles_over_partitions_and_says_that_they_are_split() -> None:
    """A group of replicas could not: the metric asks for partition_traces_by_id."""
    async with staged(plain=True, formats=SPANS, partitions=[A, B]) as stage:
        spans = rag_trace(1, 1, now_ns())
        await stage.read(record(0, *spans[:2]))
        await stage.read(record(0, spans[2], partition=1))
        await quiet(stage)
        await stage.committed(1)
        assert [found.source.spans for found in stage.scores] == [3]
        assert stage.registry.get_sample_value("rag_monitor_traces_split_total") == 1
        assert stage.ended("scored") == 1


async def test_a_link_to_another_trace_is_counted_and_not_followed() -> None:
    """What was retrieved there may be with another scorer: the interaction has no passages."""
    async with staged(plain=True, formats=SPANS) as stage:
        begin_ns = now_ns()
        search, model, chain = rag_trace(1, 1, begin_ns)
        elsewhere = {**search, "traceId": f"{2:032x}"}
        elsewhere.pop("parentSpanId")
        chain["links"] = [{"traceId": elsewhere["traceId"], "spanId": elsewhere["spanId"]}]
        await stage.read(record(0, elsewhere, model, chain), record(1, *rag_trace(3, 1, begin_ns)))
        await quiet(stage)
        await stage.committed(2)
        linked, own = sorted(stage.scores, key=lambda one: one.interaction_id)
        assert linked.scores["faithfulness"] == UnscoredMark(unscored="NO_CONTEXTS")
        assert not isinstance(own.scores["faithfulness"], UnscoredMark)
        assert stage.registry.get_sample_value("rag_monitor_traces_linked_total") == 1
        assert stage.ended("not_sampled", "filtered") == 1  # the search is no RAG of its own
        assert stage.is_balanced()


async def test_a_record_that_holds_no_spans_is_a_dead_letter() -> None:
    """One, whatever it may have held; and a record without any span is done at once."""
    async with staged(plain=True, formats=SPANS) as stage:
        await stage.read(
            Record(0, value=b"{"), Record(1, value=b'{"resourceSpans": []}'), Record(2, value=None)
        )
        await stage.committed(3)
        assert stage.ended("dead_lettered", "invalid_json") == 1
        assert stage.ended("unscorable", "tombstone") == 1
        assert stage.is_balanced()


class Assembling:
    """An assembler at 1,000 s that holds a whole trace, and is behind by 99 s; it may read on."""

    def __init__(self, written_ms: int, bounds: traces.TraceBounds = traces.DEFAULT_BOUNDS) -> None:
        self.now, self.registry = 100.0, CollectorRegistry()
        telemetry = ScorerTelemetry(self.registry)
        self.assembler = traces.TraceAssembler(
            5.0, 300.0, lambda: self.now, lambda: 1_000.0, telemetry, bounds
        )
        self.assembler.lag_s = 99.0  # all of up to 901 s has been read
        self.trace = self.read(1, written_ms, rag_trace(1, 1))

    @property
    def late(self) -> float | None:
        """Spans that are counted as late."""
        return self.registry.get_sample_value("rag_monitor_trace_spans_late_total")

    def read(self, number: int, written_ms: int, spans: list[Json]) -> traces.OpenTrace:
        """More of a trace comes."""
        key, log_format = traces.TraceKey("t", f"{number:032x}"), SPAN_FORMATS["otlp_json"]
        value = otlp_spans.as_json(made(*spans))
        written = Record(number, timestamp=written_ms, value=value)
        found = self.assembler.get(key)
        found = found or self.assembler.open(key, ALONE, log_format, written)
        self.assembler.add(found, written, json_spans(value))
        return found


def test_who_is_behind_waits_by_the_times_of_the_records() -> None:
    """What came a second later on the topic may be read minutes later."""
    one = Assembling(900_000)
    one.now += 20
    one.read(2, 901_000, rag_trace(2, 2)[:1])
    assert one.assembler.due() == []
    one.assembler.lag_s = 94.0
    one.now += 1
    assert [whole.trace for whole in one.assembler.due()] == [one.trace]


@pytest.mark.parametrize("reads_on", [True, False])
def test_who_cannot_read_on_waits_for_no_record(reads_on: bool) -> None:
    """What is open may be what memory is full of; and a producer's clock may be a day ahead."""
    one, waited = Assembling(90_000_000), 0
    while not (due := one.assembler.due()):
        one.now += 1
        waited += 1
        assert waited <= 300
        if reads_on:
            one.read(2, 901_000, rag_trace(2, 2)[:1])
    assert [whole.trace for whole in due][:1] == [one.trace]
    assert waited == (300 if reads_on else 5)


@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_trace_that_is_told_to_end_before_its_first_step_is_handed_over(
    has_begun: bool,
) -> None:
    """It is counted, and nothing of it stays: who reads it again would wait for it for ever."""
    registry, written, now = CollectorRegistry(), Memory(), [0.0]
    telemetry = ScorerTelemetry(registry)
    gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    scorer = Scorer(
        ScorerSettings("s", 1_000_000),
        Policies(ScoringPolicy(Sampler(1.0), Hanging(), Limits(1, 60.0))),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        time.time,
        formats=SPANS,
        monotonic=lambda: now[0],
    )
    work = scorer.begin(record(0, *rag_trace(1, 1, now_ns())))
    assert work is not None
    work.start()
    await asyncio.sleep(0)  # it waits for its trace
    now[0] = QUIET_S
    scorer.turn()
    if has_begun:
        await asyncio.sleep(0)
    work.end("revoked")
    await asyncio.wait([work.task])
    await asyncio.sleep(0)
    assert registry.get_sample_value("rag_monitor_interactions_in_flight") == 0
    assert registry.get_sample_value("rag_monitor_traces_open") == 0
    labels = {"outcome": "handed_over", "reason": "revoked"}
    assert registry.get_sample_value("rag_monitor_interactions_total", labels) == 1


@pytest.mark.parametrize("log_format", ["otlp_json", "otlp_proto"])
async def test_what_the_hash_leaves_out_is_counted_by_traces_and_not_read(log_format: str) -> None:
    """Of 100 traces in 25 records, some of them cut off behind the ids: as many as were taken."""
    rate, numbers = 0.2, range(1, 101)
    taken = [n for n in numbers if Sampler(rate, "interaction_id").takes(f"{n:032x}".encode())]
    write = otlp_spans.as_json if log_format == "otlp_json" else otlp_spans.as_proto
    formats = TopicFormats(SPAN_FORMATS[log_format])  # type: ignore[index]
    async with staged(plain=True, formats=formats, rate=rate) as stage:
        records = []
        for offset in range(25):
            its = range(4 * offset + 1, 4 * offset + 5)
            spans = [each for n in its for each in rag_trace(n, n, now_ns())]
            # Nobody reads it, so nobody sees that its end is missing.
            is_cut = log_format == "otlp_json" and not {*its} & {*taken}
            value = write(made(*spans))[: -2 if is_cut else None]
            records.append(Record(offset, timestamp=int(time.time() * 1000), value=value))
        await stage.read(*records, *(r._replace(offset=r.offset + 25) for r in records))
        await quiet(stage)
        await stage.committed(50)
        assert 5 < len(taken) < 40
        assert stage.ended("scored") == len(taken)
        assert stage.ended("not_sampled", "hash") == 100 - len(taken)
        assert stage.is_balanced()


async def test_a_large_trace_is_read_in_a_thread() -> None:
    """A hundred thousand documents take seconds, in which no heartbeat would reach the broker."""
    names: dict[bool, str] = {}

    class Watched(dict[str, Any]):
        """Attributes that know where they are read."""

        def get(self, name: str, otherwise: Any = None) -> Any:
            if name == "attributes":
                names[self["large"]] = threading.current_thread().name
            return super().get(name, otherwise)

    def watched(value: bytes) -> list[Span]:
        spans = json_spans(value)
        for span in spans:
            found = Watched(span.encoded.span, large=len(value) > 20_000)
            span.encoded = span.encoded._replace(span=found)
        return spans

    formats = TopicFormats(replace(SPAN_FORMATS["otlp_json"], spans=watched))
    async with staged(plain=True, formats=formats) as stage:
        large = [*rag_trace(2, 2, now_ns()), otlp_spans.span(2, 9, 1, {"long": "x" * 30_000})]
        await stage.read(record(0, *rag_trace(1, 1, now_ns())), record(1, *large))
        await quiet(stage)
        await stage.committed(2)
        assert stage.ended("scored") == 2
    assert names[False] == threading.current_thread().name != names[True]
