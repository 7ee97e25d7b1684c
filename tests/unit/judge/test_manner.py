"""In which manner a model is asked, and when it goes on to the next."""

from __future__ import annotations

from monitor.judge.manner import Manner, MannerChoice


def told(choice: MannerChoice, refused: list[bool], *, several: bool = True) -> Manner:
    """The manner after these first replies to requests of the manner of then."""
    for one in refused:
        choice.observe("verify_claims", choice.now, refused=one, several=several)
    return choice.now


def test_auto_goes_on_once_replies_are_refused() -> None:
    """Five of the latest twenty first replies of a manner; for good, and each said once."""
    said: list[Manner] = []
    choice = MannerChoice("auto", said.append)
    for refused in [True, True, *[False] * 18, True, True, True, True]:
        choice.observe("verify_claims", choice.now, refused=refused, several=True)
        choice.observe("extract_claims", choice.now, refused=True)
    assert choice.now == Manner.FIXED
    assert told(choice, [True]) == Manner.SHAPED
    assert told(choice, [True] * 4 + [False] * 16 + [True] * 4) == Manner.SHAPED
    assert told(choice, [True]) == Manner.ONE_CLAIM
    assert told(choice, [True] * 40) == Manner.ONE_CLAIM
    assert not choice.ask_for_shaped()
    assert said == [Manner.SHAPED, Manner.ONE_CLAIM]


def test_only_what_one_claim_a_call_can_heal_asks_for_it() -> None:
    """A claim that was alone, labels of passages and quotes are asked as they are in any manner."""
    choice = MannerChoice("auto")
    assert choice.ask_for_shaped()
    told(choice, [True] * 40, several=False)
    for task in ("judge_relevance", "quote_evidence"):
        for _ in range(40):
            choice.observe(task, choice.now, refused=True, several=True)
    assert choice.now == Manner.SHAPED


def test_replies_of_an_earlier_manner_say_nothing_of_this_one() -> None:
    """Requests that were under way when it changed."""
    choice = MannerChoice("auto")
    choice.ask_for_shaped()
    for _ in range(40):
        choice.observe("verify_claims", Manner.FIXED, refused=True, several=True)
    assert choice.now == Manner.SHAPED


def test_what_is_set_stays() -> None:
    """``fixed`` and ``shaped``, whatever is refused."""
    fixed, shaped = MannerChoice("fixed"), MannerChoice("shaped")
    assert told(fixed, [True] * 40) == Manner.FIXED
    assert not fixed.ask_for_shaped()
    assert told(shaped, [True] * 40) == Manner.SHAPED
    assert (fixed.shaped, shaped.shaped) == (False, True)
