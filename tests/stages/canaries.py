"""A scorer whose judge is asked about canaries, without Kafka and HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from random import Random

from prometheus_client import CollectorRegistry

from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats.by_topic import NATIVE
from monitor.ingest.reading import read
from monitor.ingest.work import Work
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits
from monitor.judge.limits.provider_gate import ProviderGate
from monitor.judge.llm.fallback import FallbackJudge
from monitor.judge.manner import MannerChoice
from monitor.judge.protocol import CostMeter, Judge
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.scorer.canaries import Asked, CanaryWatch
from monitor.scorer.intake import Policies
from monitor.scorer.judging import JudgeRun, JudgingInput, ScoringPolicy
from monitor.scorer.score_records import JudgingResult
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages.producers import Memory
from tests.stages.rechecks import NOON
from tests.stages.scoring import Record
from tests.stages.stub_judges import Stub
from tests.stages.truthful import IDENTITY, made

TEXTS = {
    "user_input": "How long is the warranty?",
    "response": "The warranty lasts two years.",
    "retrieved_contexts": ["The warranty lasts two years.", "Shipping is free."],
}
_RECORD = Record(json.dumps(TEXTS).encode())

#: Of the model that judges where the preferred one does not.
OTHER = IDENTITY.model_copy(update={"version": "def456", "model": "n"})


class StubJudge:
    """A ``Judge``, and one of canaries, over a model; ``failure`` is what it raises instead."""

    def __init__(self, model: Stub, identity: JudgeIdentity = IDENTITY) -> None:
        self.failure: Exception | None = None
        self.asked, self._identity = 0, identity
        #: How often it has become another.
        self.changes = 0
        self.answers(model)

    def answers(self, model: Stub) -> None:
        """From now on it is this model that answers."""
        self.model, self._pipeline = model, made(model)  # type: ignore[arg-type]  # it is the port
        self.changes += 1

    def becomes(self, identity: JudgeIdentity) -> None:
        """From now on it is another version."""
        self._identity = identity
        self.changes += 1

    @property
    def identity(self) -> JudgeIdentity:
        return self._identity

    async def prepare(self) -> None:
        """Nothing."""

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        found = await self._pipeline.judge(interaction, cost_meter, claims)
        return found.model_copy(update={"judge": self._identity})

    async def aclose(self) -> None:
        """Nothing."""


def value_of(registry: CollectorRegistry, name: str, labels: Mapping[str, str]) -> float | None:
    """The value of one metric; None where it has none.

    Of that alone: tests ask after each interaction, and there are a hundred others.
    """
    for metric in registry.restricted_registry([name]).collect():
        for sample in metric.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value
    return None


async def others_ended() -> None:
    """Wait for all tasks but the one that asks."""
    current = asyncio.current_task()
    while others := {task for task in asyncio.all_tasks() if task is not current}:
        await asyncio.wait(others)


class CanaryBench:
    """The scorer; ``model`` answers traffic, and canaries unless another one is given for them.

    ``examples`` are what a judge in doubt asks for; ``identity`` is who it was last, if not as it
    answers canaries. With a ``fallback`` that is a second model, of
    the name ``n``. So many judgements have ``places``.
    """

    def __init__(
        self,
        model: Stub,
        *,
        of_canaries: Stub | None = None,
        every: int = 50,
        marks: bool = True,
        budget: Budget | None = None,
        seed: int = 0,
        examples: MannerChoice | None = None,
        fallback: Stub | None = None,
        identity: Callable[[], JudgeIdentity] | None = None,
        places: int = 8,
    ) -> None:
        self.registry, self.written = CollectorRegistry(), Memory()
        self.telemetry = telemetry = ScorerTelemetry(self.registry)
        self.judge, self.second = StubJudge(model), StubJudge(of_canaries or model)
        self.told = list[str | None]()
        known = identity or (lambda: self.second.identity)
        choice = examples or MannerChoice("fixed")
        asked = [Asked(self.second, "m", known, choice.ask_for_shaped)]
        self.gates: list[ProviderGate] = [ProviderGate("m")]
        judge: Judge = self.judge
        if fallback is not None:
            self.gates.append(ProviderGate("n"))
            self.other = StubJudge(fallback, OTHER)
            self.other_second = StubJudge(fallback, OTHER)
            asked.append(Asked(self.other_second, "n", lambda: OTHER))
        self._judges = [self.judge] if fallback is None else [self.judge, self.other]
        #: What the latest ending of ``goes_on`` is of.
        self._ended_as: tuple[object, ...] = ()
        self._ending: JudgingResult
        self.limits = limits = Limits(
            places, 60.0, self.gates[:1], [[gate] for gate in self.gates[1:]]
        )
        if fallback is not None:
            judge = FallbackJudge([self.judge, self.other], limits.is_aside)
        self.watch = CanaryWatch(
            every,
            asked,
            limits,
            telemetry.canary,
            marks=marks,
            budget=budget,
            tell=self.told.append,
            clock=lambda: NOON,
            rng=Random(seed),
        )
        sampler = Sampler(1.0, "interaction_id")
        self._policy = ScoringPolicy(sampler, judge, limits, canaries=self.watch)
        gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
        self.scorer = Scorer(
            ScorerSettings("scores", 1_000_000),
            Policies(self._policy),
            self.written,
            DeadLetters(self.written, "dead", gate, group="g", version="1"),
            telemetry,
            lambda: NOON,
        )

    async def score(self, number: int) -> None:
        """Consume so many records to their ends, and let each canary end before the next."""
        for _ in range(number):
            await self.begun().start()
            await others_ended()

    async def goes_on(self, number: int, until: Callable[[], bool] = lambda: False) -> None:
        """Let canaries come as in ``score``, while traffic is answered alike: nothing is written.

        All but the first that a model judges end as that one did, as nobody asks it once more.
        """
        for _ in range(number):
            if until():
                return
            of = self.limits.next_model, self.watch.has_a_judge()
            now = *of, *((judge.changes, judge.failure) for judge in self._judges)
            if now != self._ended_as:
                self._ended_as, self._ending = now, await self._judged()
            self.watch.judged(self._ending)
            await others_ended()

    async def _judged(self) -> JudgingResult:
        arrived = read(_RECORD, NATIVE[_RECORD.topic], NOON)
        assert arrived is not None
        return await JudgeRun(
            JudgingInput(arrived.interaction), self._policy, lambda: NOON
        ).result()

    def begun(self) -> Work:
        """The work of one more record, not started."""
        work = self.scorer.begin(_RECORD)
        assert work is not None
        return work

    def answers(self, model: Stub) -> None:
        """From now on another model does, traffic and canaries alike."""
        self.judge.answers(model)
        self.second.answers(model)

    def sample(self, name: str, **labels: str) -> float | None:
        """The value of one of our metrics; None where it has none."""
        return value_of(self.registry, f"rag_monitor_{name}", labels)

    def ended(self, outcome: str, reason: str = "") -> float:
        """Interactions that ended so."""
        return self.sample("interactions_total", outcome=outcome, reason=reason) or 0.0

    def canaries(self, *results: str) -> float:
        """How many canaries ended so."""
        return sum(self.sample("judge_canaries_total", result=r) or 0.0 for r in results)

    def accuracy_upper(self, kind: str, of: JudgeIdentity = IDENTITY) -> float | None:
        """The upper bound of the share of right verdicts on canaries, of one kind."""
        return self.sample("judge_canary_accuracy_upper", kind=kind, judge=of.label)
