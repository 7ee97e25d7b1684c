"""A redaction that does not end: one dead letter without a text, and the rest goes on."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.offload import LONG, MANY_DIGITS, is_quick, offloaded
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.ingest.work import Work
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.runtime.health import Health
from monitor.runtime.threads import Threads
from monitor.sampling.hashing import Sampler
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages.counters import counted
from tests.stages.dead_letters import Record
from tests.stages.process import until
from tests.stages.producers import Memory

SECRET = "bob@example.com"
FINE = {
    "user_input": "How much?",
    "response": "It weighs 5 grams.",
    "retrieved_contexts": ["It weighs 5 grams."],
}
#: So long that it is gone through in a thread.
LONG_TEXT = "warranty " * LONG
POISON = {**FINE, "response": f"{SECRET} {LONG_TEXT}"}


class Stage:
    """A scorer whose redactions of the secret take until ``released`` is set."""

    def __init__(self, *, limit_s: float = 0.5) -> None:
        self.released = threading.Event()
        self.registry, self.written = CollectorRegistry(), Memory()
        self.begun = 0
        telemetry, threads = ScorerTelemetry(self.registry), Threads("redaction", 2, limit_s)
        redactor = Redactor(RedactionRules(kinds=("email",)), self._count)
        gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
        self.scorer = Scorer(
            ScorerSettings("scores", 10_000_000),
            Policies(ScoringPolicy(Sampler(1.0), OfflineJudge(), Limits(4, 60.0))),
            self.written,
            DeadLetters(
                self.written,
                "dead",
                gate,
                group="g",
                version="1",
                redactor=redactor,
                threads=threads,
            ),
            telemetry,
            lambda: 1_795_176_000.0,
            redactor,
            threads=threads,
        )

    def _count(self, kind: str) -> None:
        self.begun += 1
        self.released.wait()

    def begin(self, value: object, offset: int = 0) -> Work:
        """The work on a record with that value, or with those bytes; it has started."""
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        work = self.scorer.begin(Record(value=raw, offset=offset))
        assert work is not None
        work.start()
        return work

    @property
    def outcomes(self) -> dict[tuple[str, ...], float]:
        """How many interactions have ended, by outcome and reason."""
        return counted(self.registry, "rag_monitor_interactions_total")


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.released.set()


async def test_it_ends_as_stuck_and_nothing_of_it_gets_out(stage: Stage) -> None:
    """Four of them, more than there are threads, amid others: each has one outcome."""
    works = [stage.begin(POISON, n) for n in range(4)]
    works += [stage.begin(FINE, 10 + n) for n in range(20)]
    await asyncio.gather(*(work.task for work in works))
    assert stage.outcomes == {("dead_lettered", "stuck"): 4, ("scored", ""): 20}
    letters = [sent for sent in stage.written.sent if sent.topic == "dead"]
    for letter in letters:
        said = dict(letter.headers)
        assert (letter.key, letter.value) == (None, b"")
        assert (said["x-error.stage"], said["x-error.class"]) == (b"redact", b"stuck")
        assert all(name.startswith("x-error.") for name in said)
        assert SECRET not in repr(letter)
    assert len(letters) == 4


async def test_a_letter_that_cannot_be_redacted_in_time_goes_without_its_texts(
    stage: Stage,
) -> None:
    """Of a record that is none: its redaction is the letter's."""
    await stage.begin(json.dumps(POISON).encode()[:-1]).task
    (letter,) = stage.written.sent
    assert (letter.topic, letter.key, letter.value) == ("dead", None, b"")
    assert SECRET not in repr(letter)
    assert stage.outcomes == {("dead_lettered", "stuck"): 1}


async def test_it_is_handed_over_at_once_when_its_partition_is_taken_away() -> None:
    """The next owner may redact it as well; and the process does not wait for the thread."""
    stage = Stage(limit_s=60.0)
    work = stage.begin(POISON)
    await until(lambda: stage.begun > 0, "the thread", every_s=0.01)
    assert work.may_be_left(10.0)
    work.end("shutdown")
    await asyncio.gather(work.task, return_exceptions=True)
    assert stage.outcomes == {("handed_over", "shutdown"): 1}
    assert stage.written.sent == []
    stage.released.set()


async def test_own_patterns_run_in_a_thread_however_short_the_text() -> None:
    """Nobody knows how long one takes; built-in kinds are quick on the event loop."""
    calls = list[str]()

    def work() -> str:
        calls.append(threading.current_thread().name)
        return "done"

    threads = Threads("redaction")
    assert await offloaded(threads, [b"short"], work) == "done"
    assert await offloaded(threads, [b"short"], work, may_be_slow=True) == "done"
    assert calls[0] == threading.main_thread().name
    assert calls[1] != calls[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"warranty " * 2_000, True),
        (b"warranty " * (LONG // 9), False),
        (b"030 901820, " * (MANY_DIGITS // 8), False),
        ("０３０ ９０１８２０, ".encode() * (MANY_DIGITS // 8), False),
        ("٠٣٠ ٩٠١٨٢٠, ".encode() * (MANY_DIGITS // 8), False),
        ("保修期自交货之日起二十四个月。".encode() * 300, True),
        (b"", True),
    ],
)
def test_the_event_loop_is_given_short_texts_with_few_digits(value: bytes, expected: bool) -> None:
    """Digits of all scripts may be phone numbers, which are looked up one by one."""
    assert is_quick([value]) is expected
    assert is_quick([None, value[: len(value) // 2], value[len(value) // 2 :]]) is expected


def test_many_headers_are_no_short_record() -> None:
    """Each is gone through on its own, however short it is."""
    assert not is_quick([b""] * (LONG // 20))
