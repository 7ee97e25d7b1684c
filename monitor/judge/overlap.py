"""How much of a claim the best one or two sentences of a text say: a graded overlap in [0, 1].

The score is the share of the claim's weighted content tokens found there, cut when a number, date
or name of the claim is missing or belongs to something else, when one side denies what the other
says, and when the claim repeats a sentence but for one piece.
"""

from __future__ import annotations

from typing import NamedTuple

from monitor.judge.reading import FACT_WEIGHT, Sentence, Text, read_sentence, read_text

THRESHOLD = 0.6
"""At or above this score a claim counts as supported."""


class Evidence(NamedTuple):
    """What was found of one claim; shares are of its weight, the rest are counts or flags."""

    share: float
    second: float
    marks: int
    missing: int
    elsewhere: int
    rivals: int
    between: int
    swapped: int
    opposite: bool
    subject: bool
    longest: float
    whole: float


def gather(claim: Sentence, text: Text) -> Evidence | None:
    """The evidence in the best sentences; None where either side has no content."""
    total = sum(claim.weights.values())
    total += FACT_WEIGHT * sum(mark.kind != "name" for mark in claim.marks)
    if not total or not text.sentences:
        return None
    shares = [_found(claim, sentence.offers) for sentence in text.sentences]
    top = max(shares)
    best = text.sentences[shares.index(top)]
    near, gain = best.offers, top
    if top < total and len(shares) > 1:
        for sentence in text.sentences:
            if sentence is not best:
                union = best.offers | sentence.offers
                both = _found(claim, union)
                if both > gain:
                    near, gain = union, both
    missing = [mark for mark in claim.marks if text.offers.isdisjoint(mark.need)]
    absent = [mark for mark in claim.marks if best.offers.isdisjoint(mark.need)]
    unclaimed = [m for m in best.marks if claim.offers.isdisjoint(m.need)]
    kinds = {m.kind for m in absent}
    places = _places(claim, best)
    matched = [p for p in places if p >= 0]
    lo, hi = (min(matched), max(matched)) if matched else (0, -1)
    have = {m.kind for m in claim.marks} - kinds
    return Evidence(
        share=top / total,
        second=(gain - top) / total,
        marks=len(claim.marks),
        missing=len(missing),
        elsewhere=len(absent) - len(missing),
        rivals=sum(m.kind in kinds for m in unclaimed),
        between=sum(m.kind in have and lo < m.at < hi for m in unclaimed),
        swapped=_swapped(places),
        opposite=_opposite(claim, best),
        subject=bool(claim.subject) and claim.subject not in text.offers,
        longest=_longest(places) / max(1, len(places)),
        whole=_found(claim, text.offers) / total,
    )


def _found(claim: Sentence, offers: frozenset[str]) -> float:
    share = 0.0
    for token, weight in claim.weights.items():
        if token in offers:
            share += weight
        elif token[0] > "\u2fff" and token[0] in offers and token[-1] in offers:
            share += 0.4 * weight
    for mark in claim.marks:
        if mark.kind != "name" and not offers.isdisjoint(mark.need):
            share += FACT_WEIGHT
    return share


def _places(claim: Sentence, best: Sentence) -> list[int]:
    """Where the sentence has each content token of the claim, in the claim's order; −1: nowhere."""
    items: dict[int, tuple[str, ...]] = {}
    for token in claim.weights:
        items[claim.positions[token]] = (token,)
    for mark in claim.marks:
        items[mark.at] = mark.need
    found = []
    for _, need in sorted(items.items()):
        found.append(max(best.positions.get(token, -1) for token in need))
    return found


def _longest(places: list[int]) -> int:
    best = run = 0
    last = -9
    for p in places:
        run = run + 1 if p >= 0 and p == last + 1 else (p >= 0)
        last = p
        best = max(best, run)
    return best


def _swapped(places: list[int]) -> int:
    """How often a short piece of the claim stands where the sentence has another short piece."""
    count, last, gap = 0, -9, 0
    for place in places:
        if place < 0:
            gap += 1
            continue
        if gap and gap <= 4 and last >= 0 and 1 < place - last <= gap + 3:
            count += 1
        last, gap = place, 0
    return count


def _opposite(claim: Sentence, best: Sentence) -> bool:
    for concept, sign in claim.signs.items():
        if sign * best.signs.get(concept, 0) < 0:
            return True
    if claim.denies == best.denies:
        return False
    if claim.denies:
        return not claim.denied.isdisjoint(best.offers)
    return not best.denied.isdisjoint(claim.offers)


P = dict(missing=.35, rivals=.4, elsewhere=.9, opposite=.3, subject=.8, swapped=.7, between=.75, copied=1.0, second=.9, start=.3, cap=1.0)


def combine(e, P=P):
    f = 1.0
    if e.missing: f = P["missing"]
    elif e.elsewhere: f = P["rivals"] if e.rivals else P["elsewhere"]
    if e.opposite: f = min(f, P["opposite"])
    if e.subject: f *= P["subject"]
    if e.swapped: f *= P["swapped"]
    if e.between: f *= P["between"]
    if e.share < .97: f *= 1 - P["copied"] * max(0.0, e.longest - P["start"])
    return min(1.0, e.share + P["second"] * e.second) * f


def score(claim: Sentence, text: Text) -> float:
    e = gather(claim, text)
    return 0.0 if e is None else combine(e)


def support_score(claim: str, text: str) -> float:
    """How much of the claim the best one or two sentences of the text say, from 0 to 1.

    >>> support_score("Refunds take 14 days.", "We refund within two weeks. Refunds take 14 days.")
    1.0
    >>> support_score("Refunds take 30 days.", "Refunds take 14 days.") < THRESHOLD
    True
    >>> support_score("退款需要三十天。", "退款需要14天。") < THRESHOLD
    True
    """
    return score(read_sentence(claim), read_text(text))


def supported(claim: str, text: str) -> bool:
    """Whether the score reaches the threshold."""
    return support_score(claim, text) >= THRESHOLD
