"""Live rechecks: what they measure, what they cost, and that scores do not feel it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from datetime import UTC
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from monitor.errors import JudgeFailed
from monitor.judge.ceiling import Ceiling
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits
from monitor.judge.observers import CountedRecheck
from monitor.judge.pipeline.asking import Asker
from monitor.judge.pipeline.extraction import Extractor
from monitor.judge.pipeline.parsing import passage_order
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.plans import PLANS
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.pipeline.recheck_choice import MatrixKind, agreement, is_chosen, other_order
from monitor.judge.ports import Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Usage
from monitor.scorer.recheck import MOST_WAITING, AgreementTracker, Rechecks, SecondJudge
from monitor.stats.clustered import proportion
from monitor.telemetry import RecheckTelemetry
from tests.servers.judge_labels import Labels
from tests.stages.process import until
from tests.stages.rechecks import NOON, Waiting
from tests.stages.truthful import IDENTITY, Large, Truthful, judged, large

#: What is always asked about.
KINDS: tuple[MatrixKind, ...] = ("passage", "context", "reference", "response")


class Tiring(Truthful):
    """Right about one document a call; beside others it misses what passages say of odd claims."""

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        reply = await super().__call__(task, system, user, terms)
        documents = json.loads(user).get("documents", {})
        if len([name for name in documents if name.isdigit()]) < 2:
            return reply
        lines = {
            key: re.sub(r"(\d+)y", r"\1n", line) if key[1:].isdigit() and int(key[1:]) % 2 else line
            for key, line in json.loads(reply.text).items()
        }
        return Reply(json.dumps(lines), "stop")


class Second:
    """The ``single`` pipeline over a model, as live rechecks have it."""

    def __init__(
        self, model: Truthful, telemetry: RecheckTelemetry, ceiling: Ceiling | None = None
    ) -> None:
        asker = Asker(model, load_prompts(), CountedRecheck(telemetry))
        self.pipeline = Pipeline(
            asker,
            Extractor(asker),
            lambda _: IDENTITY,
            planner=PLANS["single"],
            order=other_order,
            ceiling=ceiling,
        )
        self.closed = False

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        return await self.pipeline.judge(interaction, cost_meter, claims)

    async def aclose(self) -> None:
        self.closed = True


class Stage:
    """Rechecks of everything, and what they count."""

    def __init__(
        self,
        judge: SecondJudge | None = None,
        *,
        second: Callable[[RecheckTelemetry], SecondJudge] | None = None,
        share: float = 1.0,
        limits: Limits | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.registry = CollectorRegistry()
        telemetry = RecheckTelemetry(self.registry)
        made = judge or (second(telemetry) if second else Waiting())
        aggregator = AgreementTracker(telemetry, latest=3, judges=2)
        places = limits or Limits(8, 60.0)
        self.rechecks = Rechecks(share, made, places, aggregator, telemetry, budget)

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"rag_monitor_judge_{name}", labels)

    def ended(self, result: str) -> float:
        return self.sample("rechecks_total", result=result) or 0.0

    async def until(self, result: str, number: int) -> None:
        """Until so many have ended like that."""
        await until(lambda: self.ended(result) == number, f"{number} {result}", every_s=0.002)

    def agreement(self, kind: MatrixKind, judge: str = IDENTITY.label) -> tuple[float | None, ...]:
        ends = ("", "_lower", "_upper", "_verdicts", "_interactions")
        return tuple(self.sample(f"agreement{end}", kind=kind, judge=judge) for end in ends)


def cases(n: int) -> list[Large]:
    """Interactions with six claims, three truths and four passages."""
    return [large(Random(seed), 6, 3, 4, name=f"x{seed}") for seed in range(n)]


def labels_of(all_: list[Large]) -> Labels:
    found = Labels()
    for each in all_:
        found |= each.labels
    return found


async def test_the_loss_from_batching_is_what_is_shown() -> None:
    """The first judge misses passages beside others: by kind, the share that it got right."""
    made = cases(3)
    labels = labels_of(made)
    stage = Stage(second=lambda telemetry: Second(Tiring(labels), telemetry))
    expected: dict[MatrixKind, list[tuple[int, int]]] = {kind: [] for kind in KINDS}
    for each in made:
        first = await judged(Tiring(labels), each.interaction)
        truth = first.model_copy(update={"verdicts": each.verdicts})
        # Of the context the second judge, too, must ask with all passages beside each other.
        for kind, equal in agreement(first, truth).items():
            expected[kind].append((equal.equal, equal.verdicts))
        stage.rechecks.offer(each.interaction, first)
    await stage.until("done", 3)
    for kind in ("passage", "reference", "response"):
        hits, verdicts = zip(*expected[kind], strict=True)
        value, *rest = stage.agreement(kind)
        assert (value, *rest[:2]) == tuple(proportion(hits, verdicts))
        assert rest[2:] == [sum(verdicts), 3]
    assert (stage.agreement("passage")[0] or 0.0) < 1.0
    assert stage.agreement("reference")[0] == stage.agreement("response")[0] == 1.0
    assert stage.agreement("context")[3:] == (18, 3)


async def test_a_judge_that_does_not_tire_agrees_with_itself() -> None:
    """All four kinds are 1; the calls stand apart, and no claim misses its own text."""
    made = cases(2)
    labels = labels_of(made)
    stage = Stage(second=lambda telemetry: Second(Truthful(labels), telemetry))
    for each in made:
        stage.rechecks.offer(each.interaction, await judged(Truthful(labels), each.interaction))
    await stage.until("done", 2)
    for kind in KINDS:
        assert stage.agreement(kind)[0] == stage.agreement(kind)[2] == 1.0
    assert stage.agreement("passage")[3:] == (2 * 4 * (6 + 3), 2)
    assert stage.agreement("context")[3:] == (12, 2)
    assert stage.agreement("reference")[3:] == (12, 2)
    assert stage.agreement("response")[3:] == (6, 2)
    assert stage.sample("recheck_misses_total") == 0


async def test_claims_that_the_second_judge_misses_in_their_own_text_are_counted() -> None:
    """Errors of the extraction that batching has hidden."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    own = {(claim, case.interaction.response) for claim in first.claims.response[:2]}
    labels = Labels(case.labels.claims, case.labels.supported - own, case.labels.together)
    stage = Stage(second=lambda telemetry: Second(Truthful(labels), telemetry))
    stage.rechecks.offer(case.interaction, first)
    await stage.until("done", 1)
    assert stage.sample("recheck_misses_total") == 2


async def test_one_passage_a_call_and_the_opposite_order() -> None:
    """Nothing is extracted; the same claims meet one document at a time."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    model = Truthful(case.labels)
    stage = Stage(second=lambda telemetry: Second(model, telemetry))
    stage.rechecks.offer(case.interaction, first)
    await stage.until("done", 1)
    assert {request.task for request in model.requests} == {"verify_claims"}
    asked = [documents for _, documents in model.verifications]
    order = [str(j) for j in passage_order(case.interaction.interaction_id, 4)][::-1]
    alone, together = asked[:12], asked[12:]
    assert [documents[0] for documents in alone[::2]] == [*order, "A", "R"]
    assert all(len(documents) == 1 for documents in alone)
    assert together
    assert all(list(documents) == order for documents in together)


async def test_both_judgements_of_an_interaction_keep_to_one_ceiling() -> None:
    """What the first was asked counts: the second is made where both fit, else nobody is asked."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    alone = Truthful(case.labels)
    await Second(alone, RecheckTelemetry(CollectorRegistry())).judge(
        case.interaction, None, first.claims
    )
    model, calls = Truthful(case.labels), len(alone.requests)
    stage = Stage(second=lambda telemetry: Second(model, telemetry, Ceiling(64)))
    stage.rechecks.offer(case.interaction, first, Usage(calls=64 - calls + 1))
    await stage.until("too_large", 1)
    assert model.requests == []
    stage.rechecks.offer(case.interaction, first, Usage(calls=64 - calls))
    await stage.until("done", 1)
    assert len(model.requests) == calls


@pytest.mark.parametrize("passages", range(2, 13))
def test_the_other_order_is_another(passages: int) -> None:
    """For every interaction; whatever stood first stands last."""
    for number in range(50):
        usual, other = passage_order(str(number), passages), other_order(str(number), passages)
        assert usual != other == usual[::-1]


async def test_only_the_chosen_are_judged_again() -> None:
    """The same ones in every process."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    stage = Stage(judge := Waiting(), share=0.01)
    judge.go.set()
    ids = [f"id{n}" for n in range(2_000)]
    for interaction_id in ids:
        update = {"interaction_id": interaction_id}
        stage.rechecks.offer(case.interaction.model_copy(update=update), first)
        await asyncio.sleep(0)
    chosen = sum(is_chosen(interaction_id, 0.01) for interaction_id in ids)
    assert 0 < chosen < 60
    await stage.until("timeout", chosen)
    assert judge.asked == chosen


async def test_one_at_a_time_and_a_bounded_number_waits() -> None:
    """What comes on top is dropped and counted; offering never waits."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    stage = Stage(judge := Waiting())
    for _ in range(MOST_WAITING + 11):
        stage.rechecks.offer(case.interaction, first)
    assert stage.ended("dropped") == 10
    judge.go.set()
    await stage.until("timeout", MOST_WAITING + 1)
    assert judge.most_at_once == 1


async def test_none_begins_when_the_money_is_gone() -> None:
    """Not even those that wait already."""
    (case,) = cases(1)
    first, money = (
        await judged(Truthful(case.labels), case.interaction),
        Budget(5.0, UTC, lambda: NOON),
    )
    stage = Stage(judge := Waiting(), budget=money)
    for _ in range(3):
        stage.rechecks.offer(case.interaction, first)
    await until(lambda: judge.asked == 1, "the first one", every_s=0.002)
    money.spend(5.0)
    judge.go.set()
    await stage.until("over_budget", 2)
    assert judge.asked == 1


async def test_it_waits_for_a_place_like_any_judgement() -> None:
    """With every place taken nothing is asked; and a place is given back."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    limits = Limits(1, 60.0)
    stage = Stage(judge := Waiting(), limits=limits)
    judge.go.set()
    async with limits.admitted():
        stage.rechecks.offer(case.interaction, first)
        for _ in range(20):
            await asyncio.sleep(0)
        assert judge.asked == 0
    await stage.until("timeout", 1)
    async with asyncio.timeout(5), limits.admitted():
        pass


async def test_whoever_waits_for_a_place_goes_first() -> None:
    """Live judgements that came later are let in before; then the second one is."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    limits, order = Limits(1, 60.0), asyncio.Queue[str]()
    stage = Stage(judge := Waiting(), limits=limits)
    judge.go.set()

    async def live() -> None:
        async with limits.admitted():
            assert judge.asked == 0
            order.put_nowait("live")
            await asyncio.sleep(0)

    async with limits.admitted():
        stage.rechecks.offer(case.interaction, first)
        for _ in range(20):
            await asyncio.sleep(0)
        waiting = [asyncio.create_task(live()) for _ in range(5)]
        await asyncio.sleep(0)
    await stage.until("timeout", 1)
    assert (order.qsize(), judge.asked) == (5, 1)
    await asyncio.gather(*waiting)


async def test_judges_and_versions_never_mix() -> None:
    """One that errs and one that does not, each with its own share; a third puts out the oldest."""
    (case,) = cases(1)
    right = await judged(Truthful(case.labels), case.interaction)
    stage = Stage(second=lambda telemetry: Second(Truthful(case.labels), telemetry))
    tired = await judged(Tiring(case.labels), case.interaction)
    first, second, third = (
        JudgeIdentity(**{**IDENTITY.model_dump(), "version": version}) for version in "abc"
    )
    for number, (verdicts, judge) in enumerate([(tired, first), (right, second)] * 2, 1):
        stage.rechecks.offer(case.interaction, verdicts.model_copy(update={"judge": judge}))
        await stage.until("done", number)
    assert (stage.agreement("passage", "llm@a")[0] or 1.0) < 1.0
    assert stage.agreement("passage", "llm@b")[0] == 1.0
    for judge in (first, second):
        assert stage.agreement("passage", judge.label)[4] == 2
    stage.rechecks.offer(case.interaction, right.model_copy(update={"judge": third}))
    await stage.until("done", 5)
    assert all(stage.agreement(kind, "llm@a") == (None,) * 5 for kind in KINDS)
    assert stage.agreement("passage", "llm@b")[4] == 2
    assert stage.agreement("passage", "llm@c")[4] == 1


@pytest.mark.parametrize(
    ("failure", "result"),
    [
        (JudgeFailed("no", reason="rate_limited"), "rate_limited"),
        (RuntimeError("a bug"), "internal_error"),
    ],
)
async def test_a_failure_is_counted_and_shows_no_agreement(failure: Exception, result: str) -> None:
    """No verdicts, no share of equal ones."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    stage = Stage(judge := Waiting(failure))
    judge.go.set()
    stage.rechecks.offer(case.interaction, first)
    await stage.until(result, 1)
    assert stage.agreement("passage") == (None,) * 5


async def test_the_deadline_holds() -> None:
    """A judge that hangs gives its place back."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    stage = Stage(limits=Limits(1, 0.05))
    stage.rechecks.offer(case.interaction, first)
    await stage.until("deadline", 1)


async def test_shutdown_drops_what_is_under_way() -> None:
    """Those that wait and the one that hangs; then connections are given back."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    stage = Stage(judge := Waiting())
    for _ in range(3):
        stage.rechecks.offer(case.interaction, first)
    await until(lambda: judge.asked == 1, "the judge", every_s=0.002)
    async with asyncio.timeout(5):
        await stage.rechecks.aclose()
    assert stage.ended("dropped") == 3
    assert judge.closed


async def test_only_the_latest_count() -> None:
    """The book of three holds three: a judge that got better is seen to be better."""
    made = cases(4)
    labels = labels_of(made)
    stage = Stage(second=lambda telemetry: Second(Truthful(labels), telemetry))
    firsts = [await judged(Tiring(labels), made[0].interaction)]
    firsts += [await judged(Truthful(labels), each.interaction) for each in made[1:]]
    for number, (each, first) in enumerate(zip(made, firsts, strict=True), 1):
        stage.rechecks.offer(each.interaction, first)
        await stage.until("done", number)
        assert (stage.agreement("passage")[0] == 1.0) == (number == 4)
    assert stage.agreement("passage")[4] == 3


async def test_without_claims_there_is_nothing_to_judge_again() -> None:
    """A refusal claims nothing."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    empty = first.model_copy(update={"claims": Claims()})
    stage = Stage(judge := Waiting())
    stage.rechecks.offer(case.interaction, empty)
    for _ in range(20):
        await asyncio.sleep(0)
    assert judge.asked == 0


async def test_relevance_to_the_question_is_compared_where_the_second_judge_said_it() -> None:
    """A label of the first judgement is no verdict of a judge."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)

    def of(*relevant: bool | None) -> Judgement:
        verdicts = first.verdicts.model_copy(update={"relevant_to_question": relevant})
        return first.model_copy(update={"verdicts": verdicts})

    found = agreement(of(True, False, True, False), of(None, True, True, False))
    assert found["question"] == (2, 3)
    assert "question" not in agreement(of(True, False, True, False), of())
    assert "question" not in agreement(of(), of())


async def test_different_claims_cannot_be_compared() -> None:
    """That would be no agreement of verdicts."""
    (case,) = cases(1)
    first = await judged(Truthful(case.labels), case.interaction)
    with pytest.raises(ValueError, match="different claims"):
        agreement(first, first.model_copy(update={"claims": Claims(response=("other",))}))
