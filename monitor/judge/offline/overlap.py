"""How much of a claim the best one or two sentences of a text say: a graded overlap in [0, 1].

The score is the share of the claim's weighted content tokens found there. It stays low when a
number, date or name of the claim is missing or belongs to something else, or when one side denies
what the other says. It is cut when the claim copies a sentence but for one piece: who restates
freely changes many words, who changes one thing says something else.
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

DIFFERENT = 0.3
"""The most that a claim scores that differs in a piece: below ``THRESHOLD``, whatever is shared.

The best sentence has another number, date or name in its place, or one side denies what the other
says."""
MISSING = 0.34
"""The same where a piece is nowhere in the text, and nothing else stands in its place."""
HALF = 0.5
"""Share from which such a claim scores that much; below it, in proportion.

So a difference decides the verdict, and not the order: who says less never supports it more."""
ELSEWHERE = 0.6
"""Factor when a number, date or name is in another sentence, and the best has none of its kind.

It counts in full from ``SAME_MATTER`` on, and fades with the square of the share below it."""
SAME_MATTER = 0.85
BETWEEN = 0.65
"""Factor when the best sentence has another number or name amid what it shares with the claim."""
COPIED = 1.75
"""Cut per share of the claim that is copied in one run beyond ``FREE_RUN``, if a piece is new.

A claim of ``MANY`` pieces that differs in one is not cut: a run of it is names, and no wording."""
MANY = 4
FREE_RUN = 0.1
MOST_COPIED = 0.45
SECOND = 0.85
"""What a token found only in the second-best sentence counts."""
BOTH_CHARACTERS = 0.7
"""What two Chinese characters count that the sentence has, but not next to each other."""

_WHOLE = 0.97
_STEPS_OF_A_PAIR = 100


class SentenceEvidence(NamedTuple):
    """What the best sentences say of a claim: shares of its weight, and what speaks against it."""

    share: float
    second: float
    pieces: int
    differs: bool
    replaced: bool
    elsewhere: bool
    between: bool
    copied: float


def gather(claim: Sentence, text: Text) -> SentenceEvidence | None:
    """The evidence in the best sentences; None where either side has no content."""
    total = claim.total
    if not total or not text.sentences:
        return None
    shares = [_found(claim, sentence.offers) for sentence in text.sentences]
    top = max(shares)
    best = text.sentences[shares.index(top)]
    near, both = (best.offers, top) if top >= total else _with_second(claim, text, best, top)
    places = _places(claim, best, near)
    unclaimed = [mark for mark in best.marks if claim.offers.isdisjoint(mark.need)]
    is_gone, is_replaced, is_elsewhere = _marks(claim, best, text.offers, unclaimed)
    is_replaced = is_replaced or _opposite(claim, best)
    return SentenceEvidence(
        share=top / total,
        second=(both - top) / total,
        pieces=len(claim.marks),
        differs=is_gone or is_replaced,
        replaced=is_replaced,
        elsewhere=is_elsewhere,
        between=_between(claim, best, places, unclaimed),
        copied=max(0, _longest_run(places) - 1) / max(1, len(places)),
    )


def _found(claim: Sentence, offers: frozenset[str]) -> float:
    share = 0.0
    # Most sentences have no word of a claim, which is told at once.
    if claim.has_pairs:
        for token, weight in claim.weights.items():
            if token in offers:
                share += weight
            elif token[0] > "\u2fff" and token[0] in offers and token[-1] in offers:
                share += BOTH_CHARACTERS * weight
    elif not offers.isdisjoint(claim.weights):
        for token, weight in claim.weights.items():
            if token in offers:
                share += weight
    for need in claim.facts:
        if not offers.isdisjoint(need):
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
    for need in claim.facts:
        if not (one.isdisjoint(need) and other.isdisjoint(need)):
            share += FACT_WEIGHT
    return share


def steps(claims: Sequence[Sentence], texts: Sequence[Text]) -> int:
    """How many steps comparing all of them takes, at a tenth of a microsecond each."""
    tokens = sum(1 + len(claim.weights) + len(claim.marks) for claim in claims)
    sentences = sum(len(text.sentences) for text in texts)
    marks = sum(max((len(each.marks) for each in text.sentences), default=0) for text in texts)
    return tokens * sentences + len(claims) * (_STEPS_OF_A_PAIR * len(texts) + marks)


def _marks(
    claim: Sentence, best: Sentence, whole: frozenset[str], unclaimed: Sequence[Mark]
) -> tuple[bool, bool, bool]:
    """What has become of the claim's numbers, dates and names that the best sentence lacks.

    Whether one is nowhere in the text; another of its kind stands in its place; or, but for those,
    one is only elsewhere.
    """
    absent = [mark for mark in claim.marks if best.offers.isdisjoint(mark.need)]
    rivals = {mark.kind for mark in unclaimed}
    is_gone = bool(absent) and any(whole.isdisjoint(mark.need) for mark in absent)
    # A first word is capitalised anyway; another name in its place tells that it was a name.
    other_name = "name" in rivals or (best.subject and best.subject not in claim.offers)
    other_subject = claim.subject and claim.subject not in whole and other_name
    is_replaced = bool(other_subject) or any(mark.kind in rivals for mark in absent)
    return is_gone, is_replaced, bool(absent) and not is_gone and not is_replaced


def _places(claim: Sentence, best: Sentence, near: frozenset[str]) -> list[int]:
    """Where the sentence has each content token of the claim, in the claim's order; −1: nowhere.

    Tokens that the second-best sentence has are left out.
    """
    found, place_of = [], best.positions.get
    for need in claim.needs:
        place = place_of(need[0], -1)
        if len(need) > 1:
            place = max([place_of(token, -1) for token in need])
        if place >= 0 or near.isdisjoint(need):
            found.append(place)
    return found


def _between(
    claim: Sentence, best: Sentence, places: Sequence[int], unclaimed: Sequence[Mark]
) -> bool:
    matched = [place for place in places if place >= 0] if unclaimed else []
    if not matched:
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
    # Half of all texts share nothing with a claim, which is told at once.
    if not _found(claim, text.offers):
        return 0.0
    evidence = gather(claim, text)
    return 0.0 if evidence is None else scored(evidence)


def scored(evidence: SentenceEvidence) -> float:
    """What the best sentences make of a claim, from 0 to 1."""
    share = shared(evidence)
    if evidence.differs:
        most = DIFFERENT if evidence.replaced else MISSING
        score = most * min(1.0, share / HALF)
    else:
        faded = min(1.0, share / SAME_MATTER) ** 2 if evidence.elsewhere else 0.0
        score = share * (1 - (1 - ELSEWHERE) * faded)
        score *= BETWEEN if evidence.between else 1.0
    is_new = evidence.share + evidence.second < _WHOLE
    if is_new and not (evidence.differs and evidence.pieces >= MANY):
        score *= max(MOST_COPIED, 1 - COPIED * max(0.0, evidence.copied - FREE_RUN))
    return score


def shared(evidence: SentenceEvidence) -> float:
    """The plain overlap, a graded one: how much of the claim is there, whatever speaks against it.

    From 0 to 1.
    """
    return min(1.0, evidence.share + SECOND * evidence.second)


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
