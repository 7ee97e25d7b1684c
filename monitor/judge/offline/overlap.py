"""How much of a claim the best one or two sentences of a text say: a graded overlap in [0, 1].

The score is the share of the claim's weighted content tokens found there, cut when a number, date
or name of the claim is missing or belongs to something else, when one side denies what the other
says, and when the claim copies a sentence but for one piece: who restates freely changes many
words, who changes one thing says something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from monitor.judge.offline.sentences import (
    FACT_WEIGHT,
    Mark,
    Sentence,
    Text,
    read_sentence,
    read_text,
)

THRESHOLD = 0.4
"""At or above this score a claim counts as supported."""

MISSING = 0.18
"""Factor when a number, date or name of the claim is nowhere in the text."""
RIVAL = 0.15
"""Factor when it is in another sentence, and the best one has another of its kind."""
ELSEWHERE = 0.6
"""Factor when it is in another sentence, and the best one has none of its kind."""
OPPOSITE = 0.15
"""Factor when the claim denies what the best sentence says, or the reverse."""
SAME_MATTER = 0.85
"""Share from which these factors count in full. Below it they fade with the square of the share:
a differing number speaks against a claim only where the rest is about the same matter. A score
with a number, date or name missing stays below 0.37, whatever the share."""
BETWEEN = 0.65
"""Factor when the best sentence has another number or name amid what it shares with the claim."""
COPIED = 1.75
"""Cut per share of the claim that is copied in one run beyond ``FREE_RUN``, if a piece is new."""
FREE_RUN = 0.1
MOST_COPIED = 0.45
SECOND = 0.85
"""What a token found only in the second-best sentence counts."""
BOTH_CHARACTERS = 0.7
"""What two Chinese characters count that the sentence has, but not next to each other."""

_WHOLE = 0.97
_STEPS_OF_A_PAIR = 100


class Evidence(NamedTuple):
    """What the best sentences say of a claim: shares of its weight, and what speaks against it."""

    share: float
    second: float
    mark: float
    opposite: bool
    between: bool
    copied: float


def gather(claim: Sentence, text: Text) -> Evidence | None:
    """The evidence in the best sentences; None where either side has no content."""
    total = sum(claim.weights.values())
    total += FACT_WEIGHT * sum(mark.kind != "name" for mark in claim.marks)
    if not total or not text.sentences:
        return None
    shares = [_found(claim, sentence.offers) for sentence in text.sentences]
    top = max(shares)
    best = text.sentences[shares.index(top)]
    near, both = (best.offers, top) if top >= total else _with_second(claim, text, best, top)
    places = _places(claim, best, near)
    unclaimed = [mark for mark in best.marks if claim.offers.isdisjoint(mark.need)]
    return Evidence(
        share=top / total,
        second=(both - top) / total,
        mark=_mark_factor(claim, best, text.offers, unclaimed),
        opposite=_opposite(claim, best),
        between=_between(claim, best, places, unclaimed),
        copied=max(0, _longest_run(places) - 1) / max(1, len(places)),
    )


def _found(claim: Sentence, offers: frozenset[str]) -> float:
    share = 0.0
    for token, weight in claim.weights.items():
        if token in offers:
            share += weight
        elif token[0] > "\u2fff" and token[0] in offers and token[-1] in offers:
            share += BOTH_CHARACTERS * weight
    for mark in claim.marks:
        if mark.kind != "name" and not offers.isdisjoint(mark.need):
            share += FACT_WEIGHT
    return share


def _with_second(
    claim: Sentence, text: Text, best: Sentence, top: float
) -> tuple[frozenset[str], float]:
    """What the best sentence offers with the one that adds most, and the weight found in both."""
    second, most = None, top
    for sentence in text.sentences:
        if sentence is not best and not sentence.offers.isdisjoint(claim.offers):
            both = _found_in_both(claim, best.offers, sentence.offers)
            if both > most:
                second, most = sentence, both
    return best.offers if second is None else best.offers | second.offers, most


def _found_in_both(claim: Sentence, one: frozenset[str], other: frozenset[str]) -> float:
    """As in their union, which is not made: a sentence may be as long as a text."""
    share = 0.0
    for token, weight in claim.weights.items():
        if token in one or token in other:
            share += weight
        elif token[0] > "\u2fff":
            first, last = token[0], token[-1]
            if (first in one or first in other) and (last in one or last in other):
                share += BOTH_CHARACTERS * weight
    for mark in claim.marks:
        if mark.kind != "name" and not (one.isdisjoint(mark.need) and other.isdisjoint(mark.need)):
            share += FACT_WEIGHT
    return share


def steps(claims: Sequence[Sentence], texts: Sequence[Text]) -> int:
    """How many steps comparing all of them takes, at a tenth of a microsecond each."""
    tokens = sum(1 + len(claim.weights) + len(claim.marks) for claim in claims)
    sentences = sum(len(text.sentences) for text in texts)
    marks = sum(max((len(each.marks) for each in text.sentences), default=0) for text in texts)
    return tokens * sentences + len(claims) * (_STEPS_OF_A_PAIR * len(texts) + marks)


def _mark_factor(
    claim: Sentence, best: Sentence, whole: frozenset[str], unclaimed: Sequence[Mark]
) -> float:
    absent = [mark for mark in claim.marks if best.offers.isdisjoint(mark.need)]
    if any(whole.isdisjoint(mark.need) for mark in absent):
        return MISSING
    rivals = {mark.kind for mark in unclaimed}
    # A first word is capitalised anyway; another name in its place tells that it was a name.
    other_name = "name" in rivals or (best.subject and best.subject not in claim.offers)
    if claim.subject and claim.subject not in whole and other_name:
        return MISSING
    if not absent:
        return 1.0
    return RIVAL if any(mark.kind in rivals for mark in absent) else ELSEWHERE


def _places(claim: Sentence, best: Sentence, near: frozenset[str]) -> list[int]:
    """Where the sentence has each content token of the claim, in the claim's order; −1: nowhere.

    Tokens that the second-best sentence has are left out.
    """
    items = {claim.positions[token]: (token,) for token in claim.weights}
    needs: dict[int, tuple[str, ...]] = {**items, **{mark.at: mark.need for mark in claim.marks}}
    found = []
    for at in sorted(needs):
        need = needs[at]
        place = max(best.positions.get(token, -1) for token in need)
        if place >= 0 or near.isdisjoint(need):
            found.append(place)
    return found


def _between(
    claim: Sentence, best: Sentence, places: Sequence[int], unclaimed: Sequence[Mark]
) -> bool:
    matched = [place for place in places if place >= 0]
    if not matched or not unclaimed:
        return False
    low, high = min(matched), max(matched)
    kinds = {mark.kind for mark in claim.marks} - {
        mark.kind for mark in claim.marks if best.offers.isdisjoint(mark.need)
    }
    return any(mark.kind in kinds and low < mark.at < high for mark in unclaimed)


def _longest_run(places: Sequence[int]) -> int:
    longest, run, last = 0, 0, -1
    for place in places:
        run = 0 if place < 0 else run + 1 if run and place == last + 1 else 1
        longest, last = max(longest, run), place
    return longest


def _opposite(claim: Sentence, best: Sentence) -> bool:
    for concept, sign in claim.signs.items():
        if sign * best.signs.get(concept, 0) < 0:
            return True
    if claim.denies == best.denies:
        return False
    if claim.denies:
        return not claim.denied.isdisjoint(best.offers)
    return not best.denied.isdisjoint(claim.offers)


class Scores(NamedTuple):
    """For every verdict a score from 0 to 1; shapes as in ``Verdicts``."""

    response_by_passage: tuple[tuple[float, ...], ...]
    response_by_context: tuple[float, ...]
    response_by_reference: tuple[float, ...]
    reference_by_passage: tuple[tuple[float, ...], ...]
    reference_by_response: tuple[float, ...]


def score_claim(claim: Sentence, text: Text) -> float:
    """The score of one claim against one text, both read; 0.0 where either has no content."""
    evidence = gather(claim, text)
    if evidence is None:
        return 0.0
    share = min(1.0, evidence.share + SECOND * evidence.second)
    against = min(evidence.mark, OPPOSITE if evidence.opposite else 1.0)
    score = share * (1 - (1 - against) * min(1.0, share / SAME_MATTER) ** 2)
    if evidence.between:
        score *= BETWEEN
    if evidence.share + evidence.second < _WHOLE:
        score *= max(MOST_COPIED, 1 - COPIED * max(0.0, evidence.copied - FREE_RUN))
    return score


def support_score(claim: str, text: str) -> float:
    """How much of the claim the best one or two sentences of the text say, from 0 to 1.

    >>> support_score("Refunds take 14 days.", "We are here for you. Refunds take two weeks.") > 0.9
    True
    >>> support_score("Refunds take 30 days.", "Refunds take 14 days.") < THRESHOLD
    True
    >>> support_score("退款需要三十天。", "退款需要14天。") < THRESHOLD
    True
    """
    return score_claim(read_sentence(claim), read_text(text))


def supported(claim: str, text: str) -> bool:
    """Whether the score reaches the threshold."""
    return support_score(claim, text) >= THRESHOLD
