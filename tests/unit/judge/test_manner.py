"""In which manner a model is asked, and when it goes on to the next."""

from __future__ import annotations

from contextvars import copy_context
from random import Random

from monitor.judge.manner import WHOSE_TURN, Manner, MannerChoice


def told(
    choice: MannerChoice, refused: list[bool], *, several: bool = True, shape: str = "several"
) -> Manner:
    """The manner after these first replies, each of the manner of then."""
    for one in refused:
        choice.observe("verify_claims", choice.changes, refused=one, several=several, shape=shape)
    return choice.now


def on_trial() -> tuple[MannerChoice, list[str]]:
    """One that tries claims one by one, and what it has said."""
    said: list[str] = []
    choice = MannerChoice("auto", lambda to: said.append(to.name), lambda: said.append("trial"))
    assert told(choice, [True] * 11) == Manner.SHAPED
    assert said == ["SHAPED", "trial"]
    return choice, said


def test_auto_goes_on_once_replies_are_refused() -> None:
    """With the fixed example many more than one in six; for good, and each said once.

    With a shaped one five of the latest twenty.
    """
    said: list[Manner] = []
    choice = MannerChoice("auto", said.append)
    for refused in [*[False] * 9, *[True] * 3, *[False] * 5, *[True] * 3]:
        choice.observe("verify_claims", choice.changes, refused=refused, several=True)
        choice.observe("extract_claims", choice.changes, refused=True)
    assert choice.now == Manner.FIXED
    assert told(choice, [True]) == Manner.SHAPED
    assert told(choice, [True] * 4 + [False] * 16 + [True] * 4) == Manner.SHAPED
    assert choice.of_next() == Manner.SHAPED
    assert told(choice, [True]) == Manner.SHAPED
    assert [choice.of_next() for _ in range(4)] == [Manner.ONE_CLAIM, Manner.SHAPED] * 2
    told(choice, [True] * 5)
    assert told(choice, [False] * 19, several=False) == Manner.SHAPED
    assert told(choice, [False], several=False) == Manner.ONE_CLAIM
    assert told(choice, [True] * 40) == Manner.ONE_CLAIM
    assert choice.of_next() == Manner.ONE_CLAIM
    assert not choice.ask_for_shaped()
    assert said == [Manner.SHAPED, Manner.ONE_CLAIM]


def test_a_model_that_breaks_one_in_twenty_keeps_its_version() -> None:
    """Each change is another judge, with another baseline, at a random hour of each replica."""
    for seed in range(20):
        rng, choice = Random(seed), MannerChoice("auto")
        assert told(choice, [rng.random() < 0.05 for _ in range(3_000)]) == Manner.FIXED
        assert told(choice, [rng.random() < 0.4 for _ in range(100)]) == Manner.SHAPED


def test_a_shape_that_is_always_refused_asks_for_it() -> None:
    """However seldom it is: what is read of others hides nothing."""
    choice = MannerChoice("auto")
    for _ in range(6):
        assert told(choice, [False] * 40, shape="often") == Manner.FIXED
        told(choice, [True], shape="seldom")
    assert choice.now == Manner.SHAPED


def test_what_is_refused_about_one_claim_as_well_is_not_healed_by_it() -> None:
    """A provider in trouble: the trial ends, and another begins after ever more replies."""
    choice, said = on_trial()
    told(choice, [False] * 19, several=False)
    told(choice, [True] * 5)
    assert told(choice, [True], several=False) == Manner.SHAPED
    assert choice.of_next() == Manner.SHAPED
    assert told(choice, [False] * 40, several=False) == Manner.SHAPED
    for pause in (40, 80, 160):
        told(choice, [True] * (pause - 1))
        before = len(said)
        assert choice.of_next() == Manner.SHAPED
        told(choice, [True])
        assert said[before:] == ["trial"]
        assert choice.of_next() != choice.of_next()
        told(choice, [True], several=False)


def test_a_trial_does_not_go_on_when_nobody_asks_about_several_claims() -> None:
    """Interactions of one claim are the same in both manners, and would be two versions."""
    choice, said = on_trial()
    told(choice, [False] * 119, several=False)
    assert choice.of_next() != choice.of_next()
    told(choice, [False], several=False)
    assert choice.of_next() == choice.of_next() == Manner.SHAPED
    assert said == ["SHAPED", "trial"]


def test_a_bad_minute_changes_nothing_when_it_is_over() -> None:
    """Both are read in the trial: several claims a call stay."""
    choice, said = on_trial()
    told(choice, [False] * 40, several=False)
    told(choice, [True] * 4 + [False] * 16)
    assert choice.now == choice.of_next() == Manner.SHAPED
    told(choice, [True] * 4 + [False] * 16)
    assert said == ["SHAPED", "trial"]


def test_the_latest_replies_decide_a_trial() -> None:
    """Also those that come before twenty claims have been read."""
    choice, _ = on_trial()
    told(choice, [True] * 5 + [False] * 12 + [True] * 5)
    assert told(choice, [False] * 20, several=False) == Manner.ONE_CLAIM


def test_shapes_are_counted_apart() -> None:
    """Of a shape that is read well there may be much: what is refused of another is not hidden."""
    choice = MannerChoice("auto")
    choice.ask_for_shaped()
    for _ in range(5):
        told(choice, [False] * 8, shape="several")
        told(choice, [True, False], shape="several_reference")
    assert choice.of_next() != choice.of_next()
    told(choice, [True] * 5, shape="several_reference")
    told(choice, [True] + [False] * 30, several=False, shape="several")
    assert told(choice, [False] * 19, several=False, shape="several_reference") == Manner.SHAPED
    assert told(choice, [False], several=False, shape="several_reference") == Manner.ONE_CLAIM


def test_a_trial_of_a_rare_shape_ends() -> None:
    """A manner for all is not decided by what hardly anybody asks."""
    choice = MannerChoice("auto")
    choice.ask_for_shaped()
    told(choice, [True] * 5, shape="rare")
    told(choice, [False] * 599, several=False)
    assert choice.of_next() != choice.of_next()
    told(choice, [False], several=False)
    assert choice.of_next() == choice.of_next() == Manner.SHAPED


def test_only_what_one_claim_a_call_can_heal_asks_for_it() -> None:
    """A claim that was alone, labels of passages and quotes are asked as they are in any manner."""
    choice = MannerChoice("auto")
    assert choice.ask_for_shaped()
    told(choice, [True] * 40, several=False)
    for task in ("judge_relevance", "quote_evidence"):
        for _ in range(40):
            choice.observe(task, choice.changes, refused=True, several=True)
    assert choice.now == choice.of_next() == Manner.SHAPED


def test_replies_of_an_earlier_manner_say_nothing_of_this_one() -> None:
    """Requests that were under way when it changed, or when a trial began."""
    choice = MannerChoice("auto")
    choice.ask_for_shaped()
    for _ in range(40):
        choice.observe("verify_claims", choice.changes - 1, refused=True, several=True)
    assert choice.of_next() == Manner.SHAPED
    choice, _ = on_trial()
    told(choice, [False] * 20, several=False)
    for _ in range(40):
        choice.observe("verify_claims", choice.changes - 1, refused=True, several=True)
    assert choice.now == Manner.SHAPED


def test_what_is_set_stays() -> None:
    """``fixed`` and ``shaped``, whatever is refused."""
    fixed, shaped = MannerChoice("fixed"), MannerChoice("shaped")
    assert told(fixed, [True] * 40) == Manner.FIXED
    assert not fixed.ask_for_shaped()
    assert told(shaped, [True] * 40) == shaped.of_next() == Manner.SHAPED
    assert (fixed.shaped, shaped.shaped) == (False, True)


def test_who_asks_beside_the_traffic_has_turns_of_its_own() -> None:
    """One canary for each interaction: both are asked in both manners."""
    choice, _ = on_trial()
    traffic, canaries = list[Manner](), list[Manner]()
    for _ in range(4):
        traffic.append(choice.of_next())
        canaries.append(beside(choice))
    assert sorted(traffic) == sorted(canaries) == [Manner.SHAPED] * 2 + [Manner.ONE_CLAIM] * 2


def beside(choice: MannerChoice) -> Manner:
    """The manner of a canary that begins."""
    context = copy_context()
    context.run(WHOSE_TURN.set, "canaries")
    return context.run(choice.of_next)
