"""Canaries among the traffic: whoever does not judge is found, and nobody else feels them."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import UTC
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from monitor.errors import JudgeFailed
from monitor.judge.canaries import KINDS
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.provider_gate import ProviderState
from monitor.judge.manner import WHOSE_TURN, Examples, Manner, MannerChoice
from monitor.judge.observers import CountedAside
from monitor.judge.pipeline.recheck_choice import Equal
from monitor.judge.ports import Reply, Task, Terms
from monitor.judge.provider.faults import CallFailed, Fault
from monitor.judge.provider.refusals import Action
from monitor.records import Claims, Judgement, Outcome, Usage, Verdicts, read_score_record
from monitor.scorer.canaries import TURNS, FirstWord, GuessedKinds
from monitor.scorer.score_records import JudgingResult
from monitor.scorer.yes_shares import YesShares
from monitor.stats.guessing import Guessing
from monitor.telemetry import CanaryTelemetry
from tests.stages.canaries import OTHER, CanaryBench, others_ended, value_of
from tests.stages.captured_log import captured_log
from tests.stages.rechecks import NOON
from tests.stages.stub_judges import HABITS, Erring, OfOneText, Stub
from tests.stages.truthful import IDENTITY, Truthful, judged, large

STUBS = {**{name: Stub(habit) for name, habit in HABITS.items()}, "parrots": Stub(is_parrot=True)}


@pytest.mark.parametrize("examples", ["fixed", "auto"])
@pytest.mark.parametrize("name", STUBS)
async def test_a_judge_that_does_not_judge_is_found_within_50_judgements(
    name: str, examples: Examples
) -> None:
    """From there on its interactions have failed, it is not asked about them, and it is told.

    Also where it is shown examples of the shape first, which do not help these.
    """
    bench = CanaryBench(STUBS[name], examples=MannerChoice(examples))
    await bench.score(50)
    assert bench.sample("judge_not_judging", model="m") == 1
    (why,) = bench.told
    assert why is not None
    assert why.startswith("answers, but does not judge: ")
    asked, marked = bench.judge.asked, bench.ended("judge_failed", "not_judging")
    await bench.score(5)
    assert bench.judge.asked == asked
    assert bench.ended("judge_failed", "not_judging") == marked + 5
    last = read_score_record(bench.written.values[-1][1] or b"")
    assert (last.outcome, last.reason, last.usage) == ("judge_failed", "not_judging", Usage())


@pytest.mark.parametrize("seed", range(10))
async def test_examples_that_do_not_help_cost_no_time(seed: int) -> None:
    """One that takes turns needs most canaries, and has two searches: both within 50 judgements."""
    examples = MannerChoice("auto")
    bench = CanaryBench(Stub(HABITS["alternates by verdict"]), seed=seed, examples=examples)
    await bench.score(50)
    assert examples.shaped
    assert bench.sample("judge_not_judging", model="m") == 1


class Slow(Stub):
    """Takes so many turns of the event loop for a reply."""

    turns = 50

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return await super().__call__(task, system, user, terms)


@pytest.mark.parametrize("examples", ["fixed", "auto"])
@pytest.mark.parametrize("habit", ["always n", "alternates by verdict"])
async def test_a_guesser_is_found_as_soon_where_eight_judgements_run_at_once(
    habit: str, examples: Examples
) -> None:
    """Within 50 that have ended, where a canary takes as long as the two calls of a judgement."""
    model, of_canaries, ended = Slow(HABITS[habit]), Slow(HABITS[habit]), 0
    of_canaries.turns = 2 * model.turns
    choice = MannerChoice(examples)
    bench = CanaryBench(model, of_canaries=of_canaries, examples=choice)

    async def worker() -> None:
        nonlocal ended
        while not bench.told and ended < 200:
            await bench.begun().start()
            ended += 1

    await asyncio.gather(*(worker() for _ in range(8)))
    await bench.watch.aclose()
    assert ended <= 50


@pytest.mark.parametrize("places", [16, 32, 100])
@pytest.mark.parametrize("examples", ["fixed", "auto"])
@pytest.mark.parametrize("habit", ["always n", "alternates by verdict"])
async def test_a_guesser_is_found_where_many_judgements_may_run_at_once(
    habit: str, examples: Examples, places: int
) -> None:
    """Before 50 have ended, where each call takes as long; those under way go on to their ends."""
    model, ended, choice = Slow(HABITS[habit]), 0, MannerChoice(examples)
    bench = CanaryBench(model, examples=choice, places=places)

    async def worker() -> None:
        nonlocal ended
        while not bench.told and ended < 200:
            await bench.begun().start()
            ended += not bench.told

    await asyncio.gather(*(worker() for _ in range(places)))
    await bench.watch.aclose()
    assert ended <= 50


@pytest.mark.parametrize("habit", [None, "always n"])
async def test_all_places_are_taken_once_something_is_known(habit: str | None) -> None:
    """Good or bad; 16 at first, where there are more."""
    bench = CanaryBench(Stub(HABITS[habit]) if habit else Erring(0.0, seed=1), places=40)
    assert bench.limits.places == 16
    await bench.score(7)
    assert bench.limits.places == 16
    await bench.score(40)
    assert bench.limits.places == 40


async def test_who_answers_no_canary_gets_all_places_all_the_same() -> None:
    """After so many that have ended."""

    class Away(Erring):
        async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
            raise CallFailed(Fault("rejected", "no"))

    bench = CanaryBench(Erring(0.0, seed=1), of_canaries=Away(0.0, seed=1), every=1, places=40)
    await bench.score(29)
    assert bench.limits.places == 16
    await bench.score(2)
    assert bench.limits.places == 40


async def test_a_judge_in_doubt_is_shown_examples_of_the_shape_first() -> None:
    """One that judges with them is never called a guesser, and what came before is forgotten."""
    bench: CanaryBench
    asked_for = list[Manner]()

    def shown(manner: Manner) -> None:
        asked_for.append(manner)
        bench.answers(Erring(0.0, seed=1))

    bench = CanaryBench(Stub(HABITS["always n"]), examples=MannerChoice("auto", shown))
    await bench.goes_on(500)
    assert asked_for == [Manner.SHAPED]
    assert bench.told == []
    assert bench.sample("judge_not_judging", model="m") == 0
    assert 4 <= bench.canaries("wrong") <= 6


async def test_no_judge_that_errs_in_5_of_100_asks_for_examples() -> None:
    """They would cost tokens, and make another version of it."""
    choice = MannerChoice("auto")
    bench = CanaryBench(Erring(0.05, seed=1), seed=1, every=1, examples=choice)
    await bench.goes_on(200)
    assert bench.canaries("wrong") > 0
    assert not choice.shaped


async def test_no_judge_that_errs_in_5_of_100_is_ever_called_so() -> None:
    """In 10,000 judgements; it costs one canary in 50, and some more at the start and in doubt."""
    bench = CanaryBench(Erring(0.05, seed=1), seed=1)
    case = large(Random(1), 2, 1, 2)
    judgement = await judged(Truthful(case.labels), case.interaction)
    usage, identity = Usage(calls=3), judgement.judge
    ending = JudgingResult(Outcome.SCORED, None, identity, usage, judgement, {}, {})
    for _ in range(10_000):
        bench.watch.judged(ending)
        await others_ended()
    assert bench.sample("judge_not_judging", model="m") == 0
    assert bench.told == []
    assert 200 <= bench.canaries("right", "wrong") <= 400
    assert bench.canaries("wrong") > 0


@pytest.mark.parametrize("habit", ["always y", None])
async def test_canaries_come_alike_where_each_ending_is_the_first_ones(habit: str | None) -> None:
    """So a stage may leave out to ask a model once more what it has answered already."""
    found = list[tuple[float, float, int, list[str | None]]]()
    for goes_on in (False, True):
        model = Stub(HABITS[habit]) if habit else Erring(0.0, seed=1)
        bench = CanaryBench(model, fallback=OfOneText("R"))
        await (bench.goes_on if goes_on else bench.score)(100)
        bench.limits.set_aside(0, aside=True)
        await (bench.goes_on if goes_on else bench.score)(100)
        right, wrong = bench.canaries("right"), bench.canaries("wrong")
        found.append((right, wrong, bench.other_second.asked, bench.told))
    assert found[0] == found[1]
    assert found[0][2] > 2


async def test_a_start_has_a_few_canaries_and_then_one_in_50() -> None:
    """After the 8th judgement, then every second until four are right: none before the traffic."""
    bench, seen = CanaryBench(Erring(0.0, seed=1)), list[int]()
    for judgement in range(1, 200):
        await bench.goes_on(1)
        seen += [judgement] * (int(bench.canaries("right")) - len(seen))
    assert seen == [8, 10, 12, 14, 64, 114, 164]


@pytest.mark.parametrize(("every", "canaries"), [(1, 30), (2, 17), (10, 6), (1_000, 0)])
async def test_how_often_can_be_said(every: int, canaries: int) -> None:
    """One in so many judgements; a start asks no more than one a judgement."""
    bench = CanaryBench(Erring(0.0, seed=1), every=every)
    await bench.score(30)
    assert bench.canaries("right") == canaries


async def test_a_canary_is_no_traffic() -> None:
    """No outcome, no record, nothing in flight, and none of the judge's own figures; its own do."""
    bench = CanaryBench(Erring(0.0, seed=1), every=1)
    await bench.score(20)
    assert bench.second.asked == 20
    assert bench.ended("scored") == bench.sample("interactions_consumed_total") == 20
    assert bench.sample("interactions_in_flight") == 0
    assert [topic for topic, _ in bench.written.values] == ["scores"] * 20
    assert bench.sample("judgement_seconds_count") == 20
    extracted = [m for m in bench.judge.model.asked if m["task"] == "extract_claims"]
    assert len(extracted) == 20
    for kind in KINDS:
        labels = {"kind": kind, "judge": "llm@abc123"}
        assert bench.sample("judge_canary_accuracy", **labels) == 1
        assert bench.sample("judge_canary_accuracy_upper", **labels) == 1
        assert 0.5 < (bench.sample("judge_canary_accuracy_lower", **labels) or 0) < 1


async def test_none_is_asked_when_the_money_is_gone() -> None:
    """As with rechecks."""
    budget = Budget(1.0, UTC, lambda: NOON)
    budget.spend(1.0)
    bench = CanaryBench(Erring(0.0, seed=1), every=1, budget=budget)
    await bench.score(5)
    assert bench.second.asked == 0
    assert bench.canaries("over_budget") == 5


def test_what_canaries_cost_comes_from_the_same_money() -> None:
    """And stands apart from what the traffic has cost."""
    registry, budget = CollectorRegistry(), Budget(1.0, UTC, lambda: NOON)
    observe = CountedAside(CanaryTelemetry(registry), budget)
    observe.call_finished("verify_claims", 1.0, Usage(calls=1, prompt_tokens=700, usd=0.25), None)
    assert (budget.spent(), budget.has_money()) == (0.25, True)
    budget.spend(0.75)
    assert not budget.has_money()
    assert registry.get_sample_value("rag_monitor_judge_canary_usd_total") == 0.25
    tokens = registry.get_sample_value("rag_monitor_judge_canary_tokens_total", {"kind": "prompt"})
    assert tokens == 700


async def test_a_judge_that_judges_again_gets_its_traffic_back() -> None:
    """By itself, within 50 judgements."""
    bench = CanaryBench(Stub(HABITS["always y"]))
    await bench.goes_on(50)
    assert bench.sample("judge_not_judging", model="m") == 1
    bench.answers(Erring(0.0, seed=1))
    await bench.goes_on(50)
    assert bench.sample("judge_not_judging", model="m") == 0
    assert bench.told[-1] is None
    scored = bench.ended("scored")
    await bench.score(5)
    assert bench.ended("scored") == scored + 5


async def test_traffic_that_passes_at_once_is_enough_for_a_return() -> None:
    """What is turned away takes no time, and canaries do: they are made up for, up to a bound."""
    bench = CanaryBench(Stub(HABITS["always y"]))
    await bench.score(50)
    bench.answers(Erring(0.0, seed=1))
    asked = bench.second.asked
    work = [bench.begun() for _ in range(500)]
    await asyncio.gather(*(each.start() for each in work))
    await others_ended()
    assert bench.sample("judge_not_judging", model="m") == 0
    assert 15 <= bench.second.asked - asked <= 40


async def test_a_judge_that_turns_bad_later_is_found_too() -> None:
    """Its first wrong canary brings the next ones: within two times 50 judgements."""
    bench = CanaryBench(Erring(0.0, seed=1))
    await bench.goes_on(500)
    bench.answers(Stub(HABITS["always n"]))
    await bench.goes_on(100)
    assert bench.sample("judge_not_judging", model="m") == 1


@pytest.mark.parametrize("seed", range(5))
async def test_nobody_says_that_a_judge_judges_before_it_is_known(seed: int) -> None:
    """After a restart an alert goes on as long: of a guesser until it is found out once more."""
    bench = CanaryBench(Erring(0.0, seed=1), seed=seed)
    while bench.canaries("right") < 4:
        assert is_unknown(bench)
        await bench.goes_on(1)
    await bench.goes_on(250)
    assert not is_unknown(bench)
    for habit in HABITS.values():
        guesser = CanaryBench(Stub(habit), seed=seed)
        while is_unknown(guesser):
            assert guesser.sample("judge_not_judging", model="m") == 0
            await guesser.goes_on(1)
        assert guesser.sample("judge_not_judging", model="m") == 1


@pytest.mark.parametrize("seed", range(5))
async def test_nor_is_one_that_guesses_a_kind_known_before_that_is_found(seed: int) -> None:
    """Else the ticket would end between."""
    bench = CanaryBench(OfOneText("R"), seed=seed)
    await bench.goes_on(5_000, until=lambda: not is_unknown(bench))
    assert guessed(bench) == {"reference"}


async def test_what_is_known_since_a_start_stays_known() -> None:
    """A later doubt, a time of guessing and its end are no restart."""
    bench = CanaryBench(Erring(0.0, seed=1))
    await bench.goes_on(250)
    for judge in (Stub(HABITS["always n"]), Erring(0.0, seed=1)):
        bench.answers(judge)
        for _ in range(100):
            await bench.goes_on(1)
            assert not is_unknown(bench)


async def test_another_judge_has_to_say_its_own_first_word() -> None:
    """Four answers, and something of each kind: what was known of the one before is no word."""
    registry = CollectorRegistry()
    telemetry = CanaryTelemetry(registry)
    first, kinds = FirstWord("m", telemetry), GuessedKinds("m", telemetry)
    one_of_each = {kind: Equal(1, 1) for kind in KINDS}

    def hear(answers: int) -> float | None:
        for _ in range(answers):
            kinds.learn(one_of_each)
            first.heard(Guessing(), kinds)
        return registry.get_sample_value("rag_monitor_judge_unknown", {"model": "m"})

    assert hear(3) == 1
    first.forget()
    kinds.forget()
    assert hear(3) == 1
    assert hear(1) == 0
    kinds.forget()
    assert not kinds.are_sure


async def test_who_guesses_one_kind_only_is_seen_in_that_kind() -> None:
    """On the whole it is no guesser; and it is over some 15 right canaries of the kind later."""
    bench = CanaryBench(OfOneText("R"))
    await bench.goes_on(500)
    assert bench.sample("judge_not_judging", model="m") == 0
    assert (bench.accuracy_upper("reference") or 1.0) < 0.75
    assert bench.accuracy_upper("passage") == 1.0
    assert guessed(bench) == {"reference"}
    bench.answers(Erring(0.0, seed=1))
    before = bench.canaries("right", "wrong")
    await bench.goes_on(5_000, until=lambda: not guessed(bench))
    assert bench.canaries("right", "wrong") - before <= 36


async def test_versions_by_turns_are_one_judge_that_guesses_a_kind() -> None:
    """A provider may say another model at each reply: what is known is of the model asked for."""
    bench = CanaryBench(OfOneText("R"))
    for number in range(500):
        bench.second.becomes(OTHER if number % 2 else IDENTITY)
        await bench.goes_on(1)
    assert guessed(bench) == {"reference"}


async def test_of_another_model_is_known_what_it_guesses_itself() -> None:
    """The preferred one guesses all; who judges in its place guesses one kind."""
    bench = CanaryBench(Stub(HABITS["always y"]), fallback=OfOneText("R"))
    await bench.goes_on(1_000)
    assert bench.sample("judge_not_judging", model="m") == 1
    assert bench.sample("judge_not_judging", model="n") == 0
    assert guessed(bench, "n") == {"reference"}


@pytest.mark.parametrize("verdicts", [1, 2, 4])
def test_a_good_judge_guesses_no_kind(verdicts: int) -> None:
    """Wrong in 5 % of its verdicts, over 10,000 canaries with so many of the kind each."""
    registry, rng = CollectorRegistry(), Random(verdicts)
    kinds = GuessedKinds("m", CanaryTelemetry(registry))
    name, labels = "rag_monitor_judge_guesses_kind", {"kind": "reference", "model": "m"}
    for _ in range(10_000):
        right = sum(rng.random() >= 0.05 for _ in range(verdicts))
        kinds.learn({"reference": Equal(right, verdicts)})
        assert not value_of(registry, name, labels)


def guessed(bench: CanaryBench, model: str = "m") -> set[str]:
    """The kinds that a model is found to guess."""
    name = "judge_guesses_kind"
    return {kind for kind in KINDS if bench.sample(name, kind=kind, model=model)}


def is_unknown(bench: CanaryBench) -> bool:
    """Whether canaries have yet to say if the model judges."""
    return bool(bench.sample("judge_unknown", model="m"))


async def test_accuracy_of_a_time_of_guessing_ends_with_it() -> None:
    """Else the judge would be doubted for 200 canaries more."""
    bench = CanaryBench(Stub(HABITS["always y"]))
    await bench.goes_on(50)
    assert (bench.accuracy_upper("passage") or 1.0) < 0.75
    bench.answers(Erring(0.0, seed=1))
    await bench.goes_on(50)
    assert bench.sample("judge_not_judging", model="m") == 0
    assert bench.accuracy_upper("passage") in {1.0, None}


async def test_kinds_that_were_guessed_are_forgotten_with_a_time_of_guessing() -> None:
    """At once, though of some kinds few canaries have come since."""
    bench = CanaryBench(Stub(HABITS["always y"]))
    await bench.goes_on(200)
    assert guessed(bench) == set(KINDS)
    bench.answers(Erring(0.0, seed=1))
    while bench.sample("judge_not_judging", model="m"):
        assert guessed(bench)
        await bench.goes_on(1)
    assert not guessed(bench)


async def test_accuracy_of_a_version_ends_with_it() -> None:
    """What a judge got wrong that is asked no more is no news."""
    bench = CanaryBench(OfOneText("R"))
    await bench.goes_on(200)
    assert bench.accuracy_upper("reference") is not None
    bench.second.becomes(OTHER)
    await bench.goes_on(TURNS * 50)
    assert bench.accuracy_upper("reference") is None
    assert bench.accuracy_upper("passage", OTHER) is not None


async def test_versions_by_turns_keep_their_accuracy() -> None:
    """As when a provider has two snapshots under one name."""
    bench = CanaryBench(OfOneText("R"), every=1)
    for number in range(100):
        bench.second.becomes(OTHER if number % 2 else IDENTITY)
        await bench.goes_on(1)
    for version in (IDENTITY, OTHER):
        labels = {"kind": "passage", "judge": version.label}
        assert (bench.sample("judge_canary_accuracy_interactions", **labels) or 0) > 20


async def test_verdicts_in_another_manner_are_those_of_their_model() -> None:
    """While a trial lasts a model has two versions by turns; neither is the preferred one's."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=Erring(0.0, seed=2))
    case = large(Random(1), 2, 1, 2)
    judgement = await judged(Truthful(case.labels), case.interaction)
    in_trial = OTHER.model_copy(update={"version": "789abc"})
    judgement = judgement.model_copy(update={"judge": in_trial})
    ending = JudgingResult(Outcome.SCORED, None, in_trial, Usage(calls=3), judgement, {}, {})
    bench.watch.judged(ending)
    assert bench.sample("judge_yes_ratio", kind="passage", model="n") is not None
    assert bench.sample("judge_yes_ratio", kind="passage", model="m") is None


async def test_traffic_may_be_scored_all_the_same() -> None:
    """Where it is set so: all is told, and nothing has failed."""
    bench = CanaryBench(Stub(HABITS["always y"]), marks=False)
    await bench.score(100)
    assert bench.sample("judge_not_judging", model="m") == 1
    assert len(bench.told) == 1
    assert bench.ended("scored") == 100


async def test_replies_that_cannot_be_read_count_only_where_traffic_has_them_too() -> None:
    """A model that stumbles over the canaries' shape alone does judge its traffic."""
    bench = CanaryBench(Erring(0.0, seed=1), of_canaries=Stub(is_parrot=True))
    await bench.score(50)
    await bench.goes_on(250)
    assert bench.sample("judge_not_judging", model="m") == 0
    assert bench.ended("scored") == 50
    assert 12 <= bench.canaries("malformed_reply") <= 20


@pytest.mark.parametrize("reason", ["auth", "timeout", "rejected"])
async def test_who_gives_no_reply_is_not_asked_about_canaries(reason: str) -> None:
    """That has alerts of its own; and canaries without a reply say nothing of a judge."""
    bench = CanaryBench(Erring(0.0, seed=1), every=1)
    bench.judge.failure = JudgeFailed("no", reason=reason)
    await bench.score(20)
    assert bench.second.asked == 0
    bench.judge.failure, bench.second.failure = None, JudgeFailed("no", reason=reason)
    await bench.score(30)
    assert bench.canaries(reason) == 30
    assert bench.sample("judge_not_judging", model="m") == 0


async def test_the_share_of_y_is_shown_by_kind() -> None:
    """Of the latest verdicts; together: where a + was allowed."""
    registry, model = CollectorRegistry(), "m"
    shares = YesShares(model, CanaryTelemetry(registry), latest=1_000)
    case = large(Random(1), 6, 3, 4)
    judgement = await judged(Truthful(case.labels), case.interaction)
    shares.add(judgement)
    v = case.verdicts
    rows = [verdict for row in v.response_by_passage + v.reference_by_passage for verdict in row]
    alone = zip(v.response_by_passage, v.response_by_context, strict=True)
    together = [together for row, together in alone if not any(row)]
    expected = {
        "passage": rows,
        "reference": v.response_by_reference,
        "response": v.reference_by_response,
        "together": together,
    }
    for kind, found in expected.items():
        labels = {"kind": kind, "model": model}
        value = registry.get_sample_value("rag_monitor_judge_yes_ratio", labels)
        assert value == sum(found) / len(found)


async def test_constant_verdicts_are_told_once() -> None:
    """When as many as the gauge is about are the same."""
    labels = {"kind": "passage", "model": "m"}
    with captured_log("info", "json") as said:
        bench = CanaryBench(Stub(HABITS["always y"]), marks=False)
        await bench.goes_on(400)
        assert "judge_verdicts_constant" not in said()
        assert bench.sample("judge_verdicts_constant", **labels) == 0
        await bench.goes_on(400)
        lines = [json.loads(line) for line in said().splitlines()]
    (told,) = [line for line in lines if line["event"] == "judge_verdicts_constant"]
    assert (told["kind"], told["verdict"], told["verdicts"]) == ("passage", "y", 1_000)
    assert bench.sample("judge_verdicts_constant", **labels) == 1
    bench.answers(Stub(HABITS["always n"]))
    await bench.score(1)
    assert bench.sample("judge_verdicts_constant", **labels) == 0


@pytest.mark.parametrize("together", [True, False])
def test_a_plus_is_constant_where_it_always_stands(together: bool) -> None:
    """Small models write it wherever it is allowed; that it never stands is nothing odd."""
    registry = CollectorRegistry()
    shares = YesShares("m", CanaryTelemetry(registry), latest=10)
    judgement = Judgement(
        claims=Claims(response=("a", "b")),
        passages=2,
        has_reference=False,
        verdicts=Verdicts(
            response_by_passage=((False, False), (True, False)),
            response_by_context=(together, True),
        ),
        judge=IDENTITY,
    )
    for _ in range(10):
        shares.add(judgement)
    labels = {"kind": "together", "model": "m"}
    assert registry.get_sample_value("rag_monitor_judge_yes_ratio", labels) == together
    assert registry.get_sample_value("rag_monitor_judge_verdicts_constant", labels) == together


def test_two_sections_with_one_model_end_nothing_of_each_other() -> None:
    """One may guess as it is asked while the other judges: each gauge tells of both."""
    registry = CollectorRegistry()
    telemetry = CanaryTelemetry(registry)
    wrong, right = ({kind: Equal(equal, 4) for kind in KINDS} for equal in (0, 4))
    one, other = GuessedKinds("m", telemetry), GuessedKinds("m", telemetry)
    firsts = [FirstWord("m", telemetry) for _ in range(2)]
    for _ in range(30):
        one.learn(wrong)
        other.learn(right)
        firsts[1].heard(Guessing(), other)
    labels = {"kind": "passage", "model": "m"}
    assert registry.get_sample_value("rag_monitor_judge_guesses_kind", labels) == 1
    assert registry.get_sample_value("rag_monitor_judge_unknown", {"model": "m"}) == 1
    one.forget()
    assert registry.get_sample_value("rag_monitor_judge_guesses_kind", labels) == 0
    shares = [YesShares("m", telemetry, latest=4) for _ in range(2)]
    for each, verdict in zip(shares, (True, False), strict=True):
        each.add(_of_passages((verdict,) * 4))
    assert registry.get_sample_value("rag_monitor_judge_yes_ratio", labels) == 0.5
    assert registry.get_sample_value("rag_monitor_judge_verdicts_constant", labels) == 1
    shares[0].add(_of_passages((False, True)))
    assert registry.get_sample_value("rag_monitor_judge_verdicts_constant", labels) == 1
    shares[1].add(_of_passages((True, True)))
    assert registry.get_sample_value("rag_monitor_judge_verdicts_constant", labels) == 0


def _of_passages(verdicts: tuple[bool, ...]) -> Judgement:
    """Of as many claims, against one passage."""
    return Judgement(
        claims=Claims(response=tuple(map(str, range(len(verdicts))))),
        passages=1,
        has_reference=False,
        verdicts=Verdicts(
            response_by_passage=tuple((verdict,) for verdict in verdicts),
            response_by_context=verdicts,
        ),
        judge=IDENTITY,
    )


async def test_another_model_judges_in_the_place_of_one_that_guesses() -> None:
    """Nothing has failed from there on, nobody is told that nothing is judged, and it shows."""
    bench = CanaryBench(Stub(HABITS["always y"]), fallback=Erring(0.0, seed=1))
    await bench.score(50)
    assert bench.sample("judge_not_judging", model="m") == 1
    asked = bench.judge.asked
    await bench.score(20)
    assert (bench.judge.asked, bench.told) == (asked, [])
    assert bench.ended("scored") == 70
    last = read_score_record(bench.written.values[-1][1] or b"")
    assert last.judge == OTHER
    assert bench.sample("judge_yes_ratio", kind="passage", model="n") is not None


async def test_both_have_canaries_and_the_preferred_one_comes_back() -> None:
    """Who was set aside is asked once in 50 judgements, and so is who judges in its place."""
    bench = CanaryBench(Stub(HABITS["always y"]), fallback=Erring(0.0, seed=1))
    await bench.goes_on(100)
    before = bench.second.asked, bench.other_second.asked
    await bench.goes_on(500)
    assert (bench.second.asked, bench.other_second.asked) == (before[0] + 10, before[1] + 10)
    bench.answers(Erring(0.0, seed=1))
    await bench.goes_on(1_000)
    assert bench.sample("judge_not_judging", model="m") == 0
    asked = bench.judge.asked
    await bench.score(5)
    assert bench.judge.asked == asked + 5


async def test_where_all_guess_it_is_told_and_traffic_is_turned_away() -> None:
    """The second is found as soon as a first one is."""
    bench = CanaryBench(Stub(HABITS["always y"]), fallback=Stub(HABITS["always n"]))
    await bench.score(100)
    assert [bench.sample("judge_not_judging", model=m) for m in ("m", "n")] == [1, 1]
    (why,) = bench.told
    assert why is not None
    assert "does not judge" in why
    asked = bench.judge.asked + bench.other.asked
    await bench.score(5)
    assert bench.judge.asked + bench.other.asked == asked
    bench.answers(Erring(0.0, seed=1))
    await bench.score(100)
    assert bench.told[-1] is None
    assert bench.ended("judge_failed", "not_judging") < 100


async def test_no_interaction_falls_back_to_a_model_that_guesses() -> None:
    """One that the preferred model refuses has failed, whoever else would answer."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=Stub(HABITS["always y"]))
    refused = CallFailed(Fault("rejected", "no"))
    bench.judge.failure = refused
    await bench.score(5)
    assert bench.other.asked == 5
    bench.limits.set_aside(1, aside=True)
    await bench.score(5)
    assert bench.other.asked == 5
    assert bench.ended("judge_failed", "rejected") == 5


async def test_traffic_may_be_left_to_the_one_that_guesses() -> None:
    """Where it is set so, no other model judges instead."""
    bench = CanaryBench(Stub(HABITS["always y"]), fallback=Erring(0.0, seed=1), marks=False)
    await bench.score(60)
    assert bench.sample("judge_not_judging", model="m") == 1
    assert len(bench.told) == 1
    assert bench.other.asked == 0


async def outage(bench: CanaryBench, judgements: int) -> None:
    """The preferred model is away for as many, and the other judges in its place."""
    bench.limits.set_aside(0, aside=True)
    await bench.goes_on(judgements)
    bench.limits.set_aside(0, aside=False)


def said_of_both(bench: CanaryBench) -> list[float | None]:
    """Whether the preferred model and the other one are found to guess."""
    return [bench.sample("judge_not_judging", model=model) for model in ("m", "n")]


@pytest.mark.parametrize("marks", [True, False])
async def test_doubt_about_another_model_costs_who_judges_nothing(marks: bool) -> None:
    """The other one is asked itself, seldom, until it is known."""
    model, fallback = Erring(0.0, seed=1), Stub(HABITS["always n"])
    bench = CanaryBench(model, fallback=fallback, marks=marks)
    await bench.goes_on(100)
    await outage(bench, 8)
    assert bench.canaries("wrong") == 1
    before = bench.second.asked, bench.other_second.asked
    await bench.goes_on(1_000)
    assert bench.second.asked - before[0] == 20
    assert bench.other_second.asked - before[1] == 20
    assert said_of_both(bench) == [0, 1]
    assert bench.told == []


async def test_a_guess_of_who_judges_no_more_ends_with_its_time() -> None:
    """As long as it is among the latest 50, which is told, and it can clear itself."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=Stub(HABITS["always n"]), marks=False)
    await bench.goes_on(100)
    await outage(bench, 60)
    assert said_of_both(bench) == [0, 1]
    assert [why is None for why in bench.told] == [False]
    before = bench.second.asked
    await bench.goes_on(49)
    assert len(bench.told) == 1
    await bench.goes_on(1)
    assert [why is None for why in bench.told] == [False, True]
    await outage(bench, 1)
    assert [why is None for why in bench.told] == [False, True, False]
    await bench.goes_on(950)
    assert bench.second.asked - before == 20
    assert said_of_both(bench) == [0, 1]
    bench.other_second.answers(Erring(0.0, seed=2))
    await bench.goes_on(15 * 50)
    assert said_of_both(bench) == [0, 0]
    assert len(bench.told) == 4


async def test_who_judges_now_and_then_has_canaries_of_its_own() -> None:
    """What the preferred model refuses goes to a guesser, which is found and judges no more."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=Stub(HABITS["always n"]))
    for _ in range(60):
        await bench.score(4)
        bench.judge.failure = CallFailed(Fault("rejected", "no"))
        await bench.score(1)
        bench.judge.failure = None
    assert said_of_both(bench) == [0, 1]
    assert bench.ended("judge_failed", "rejected") > 0


async def test_where_all_guess_the_other_one_may_judge_again() -> None:
    """Each is asked itself, also while nothing is judged."""
    bench = CanaryBench(Stub(HABITS["always y"]), fallback=Stub(HABITS["always n"]))
    await bench.goes_on(100)
    assert said_of_both(bench) == [1, 1]
    bench.other.answers(Erring(0.0, seed=1))
    bench.other_second.answers(bench.other.model)
    await bench.goes_on(1_000)
    assert said_of_both(bench) == [1, 0]
    assert bench.told[-1] is None
    scored = bench.ended("scored")
    await bench.score(5)
    assert bench.ended("scored") == scored + 5


async def test_nobody_waits_for_another_model_that_refuses() -> None:
    """The preferred one guesses, and the other one's key is none: each interaction has an end."""
    bench = CanaryBench(Stub(HABITS["always y"]), fallback=Erring(0.0, seed=1))
    await bench.goes_on(50)
    for _ in range(10):
        with suppress(CallFailed):
            async with bench.gates[1].call():
                raise CallFailed(Fault("auth", "no", Action.STOP))
    assert bench.gates[1].state is ProviderState.STOPPED
    async with asyncio.timeout(10.0):
        await bench.score(5)
    assert bench.ended("judge_failed", "not_judging") == 5
    assert len(bench.told) == 1


async def test_accuracy_of_another_model_ends_when_it_is_asked_no_more() -> None:
    """Ten canaries in a row went to the preferred one, which is back."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=Erring(0.0, seed=2))
    await outage(bench, 200)
    assert bench.accuracy_upper("passage", OTHER) == 1.0
    await bench.goes_on(TURNS * 50)
    assert bench.accuracy_upper("passage", OTHER) is None
    assert bench.accuracy_upper("passage") == 1.0


async def test_a_canary_counts_for_the_version_that_answered_it() -> None:
    """As a provider that has two snapshots, and gives this one for a text as long as that."""
    bench = CanaryBench(Erring(0.0, seed=1), every=1, identity=lambda: IDENTITY)
    bench.second.becomes(OTHER)
    await bench.score(20)
    assert bench.accuracy_upper("passage") is None
    assert bench.accuracy_upper("passage", OTHER) == 1.0


async def test_verdicts_are_those_of_the_model_that_was_asked() -> None:
    """Its provider may answer with a snapshot that nobody has seen before."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=Erring(0.0, seed=2))
    bench.other.becomes(OTHER.model_copy(update={"model": "n-2024-08"}))
    await outage(bench, 1)
    assert bench.sample("judge_yes_ratio", kind="passage", model="n") is not None
    assert bench.sample("judge_yes_ratio", kind="passage", model="m") is None


async def test_verdicts_of_nobody_known_are_nobodys() -> None:
    """Where no number says whose they are, neither does a name."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=Erring(0.0, seed=2))
    case = large(Random(1), 2, 1, 2)
    judgement = await judged(Truthful(case.labels), case.interaction)
    unseen = OTHER.model_copy(update={"model": "n-2024-08"})
    ending = JudgingResult(Outcome.SCORED, None, unseen, Usage(calls=3), judgement, {}, {})
    bench.watch.judged(ending)
    for model in ("m", "n"):
        assert bench.sample("judge_yes_ratio", kind="passage", model=model) is None


async def test_a_canary_takes_no_turn_of_the_traffic() -> None:
    """In a trial, with one canary for each interaction: both manners have both."""
    choice = MannerChoice("auto")
    for refused in [True] * 11:
        choice.observe("verify_claims", choice.changes, refused=refused, several=True)
    taken = {"traffic": list[Manner](), "canaries": list[Manner]()}

    class InTurn(Stub):
        """Asks for its manner as a judge does."""

        def answer(self, user: str) -> str:
            """The truth is no matter."""
            if json.loads(user)["task"] == "verify_claims":
                taken[WHOSE_TURN.get()].append(choice.of_next())
            return super().answer(user)

    bench = CanaryBench(InTurn(HABITS["always y"]), every=1, marks=False)
    await bench.score(20)
    for manners in taken.values():
        assert sorted(manners) == [Manner.SHAPED] * 10 + [Manner.ONE_CLAIM] * 10


async def test_a_kind_that_another_model_guesses_can_clear_itself() -> None:
    """It is asked on after its time, which no gauge of it would outlast else."""
    bench = CanaryBench(Erring(0.0, seed=1), fallback=OfOneText("R"))
    await outage(bench, 1_000)
    assert guessed(bench, "n") == {"reference"}
    bench.other_second.answers(Erring(0.0, seed=2))
    asked = bench.second.asked
    await bench.goes_on(40 * 50)
    assert guessed(bench, "n") == set()
    assert bench.second.asked - asked <= 44
