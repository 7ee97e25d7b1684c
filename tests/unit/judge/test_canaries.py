"""The canaries that come with the package: balanced, plain, and asked like any interaction."""

from __future__ import annotations

from collections import Counter

import pytest

from monitor.ingest.event_time import EPOCH
from monitor.judge.canaries import KINDS, Canary, canaries, in_turn
from monitor.judge.pipeline.recheck_choice import MatrixKind
from monitor.records import Judgement
from tests.servers.judge_labels import Labels
from tests.stages.stub_judges import HABITS, Stub, supported
from tests.stages.truthful import Truthful, made


def labels(canary: Canary) -> Labels:
    """What a faultless judge would say of it."""
    own = {(claim, canary.response) for claim in canary.claims.response}
    own |= {(claim, canary.reference or "") for claim in canary.claims.reference}
    return Labels(supported=frozenset(supported(canary) | own))


async def asked(canary: Canary, model: Truthful | Stub, name: str = "any") -> Judgement:
    """A judgement of it by a model, on the claims that it comes with."""
    interaction = canary.interaction(name, EPOCH)
    pipeline = made(model)  # type: ignore[arg-type]  # both are the port
    return await pipeline.judge(interaction, None, canary.claims)


def test_there_are_enough_in_both_languages() -> None:
    """At least 40, as many in Chinese as in English, each with two passages and its own texts."""
    languages = Counter(canary.language for canary in canaries())
    assert languages["en"] == languages["zh"] >= 20
    assert set(languages) == {"en", "zh"}
    assert {len(canary.passages) for canary in canaries()} == {2}
    for texts in zip(*((c.question, c.response, *c.passages) for c in canaries()), strict=True):
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_y_and_n_are_equally_often(language: str, kind: MatrixKind) -> None:
    """In each language and kind of verdict: whoever always says the same is right about half."""
    found = [v for c in canaries() if c.language == language for v in c.truth[kind]]
    assert len(found) >= 12
    assert sum(found) * 2 == len(found)


def test_every_canary_alone_is_balanced_against_its_passages() -> None:
    """No single one can be passed by one word; and what comes first is y as often as n."""
    for canary in canaries():
        found = canary.truth["passage"]
        assert sum(found) * 2 == len(found)
    first = [canary.truth["passage"][0] for canary in canaries()]
    assert abs(sum(first) * 2 - len(first)) <= 2


async def test_a_judge_that_is_right_gets_everything_right() -> None:
    """All kinds, with one call each, and nothing of it is extracted."""
    for canary in canaries():
        model = Truthful(labels(canary))
        graded = canary.graded(await asked(canary, model))
        assert all(right == of for right, of in graded.values())
        assert sum(of for _, of in graded.values()) == canary.verdicts
        assert [request.task for request in model.requests] == ["verify_claims"]


@pytest.mark.parametrize(("habit", "verdict"), [("always n", False), ("always y", True)])
async def test_what_always_says_the_same_is_right_about_what_is_so(
    habit: str, verdict: bool
) -> None:
    """No more and no less, by kind."""
    for canary in canaries():
        graded = canary.graded(await asked(canary, Stub(HABITS[habit])))
        expected = {k: sum(v is verdict for v in canary.truth[k]) for k in KINDS if canary.truth[k]}
        assert {kind: right for kind, (right, _) in graded.items()} == expected


async def test_nothing_on_the_wire_says_that_it_is_one() -> None:
    """The message has the keys and values of any other; number and order go by the drawn id."""
    canary = next(c for c in canaries() if c.reference)
    model, numbers, orders = Stub(), set(), set()
    for name in map(str, range(20)):
        await asked(canary, model, name)
        message = model.asked[-1]
        assert set(message) == {"task", "n", "question", "documents", "claims"}
        assert "canary" not in str(message).lower()
        numbers.add(message["n"])
        orders.add(tuple(message["documents"]))
    assert len(numbers) > 10
    assert len(orders) == 2


def test_all_take_turns_in_an_order_of_the_seed() -> None:
    """Each once before the first comes again; another seed gives another order."""
    turns = in_turn("1")
    once = [next(turns) for _ in canaries()]
    assert len({canary.response for canary in once}) == len(canaries())
    assert [next(turns) for _ in canaries()] == once
    other = in_turn("2")
    assert [next(other) for _ in canaries()] != once
