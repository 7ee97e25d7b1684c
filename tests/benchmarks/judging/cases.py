"""The labelled sets: interactions in English and Chinese, and the truth about every pair. Pure.

Each sentence states one property of a product, and a text supports a claim if one of its sentences
states the same, in whichever wording. Besides, ``TOGETHER`` claims follow from two passages at once
and from neither alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.benchmarks.judging.facts import CATALOGUES, LANGUAGES, Catalogue, Statement
from tests.benchmarks.judging.together import TOGETHER, Together
from tests.servers.judge_labels import Labels

SHORT, LONG = 200, 40
"""How many interactions the two sets have."""

LONG_PASSAGES, LONG_TOKENS = 5, 400
SENTENCES = 6
"""Of a passage in the short set, at least."""

WRONG, PRESENT, MISLEADING = 0.3, 0.85, 0.6
"""Chances: a response claim is wrong; a passage states a reference claim; one states a mistake."""

#: (claims, weight) of the response and of the reference, and (passages, weight).
_RESPONSE = ((3, 44), (4, 32), (5, 12), (6, 12))
_REFERENCE = ((2, 52), (3, 28), (4, 9), (5, 11))
_PASSAGES = ((4, 70), (5, 30))
#: Longer contexts come with longer answers.
_LONG_RESPONSE = ((5, 20), (6, 45), (7, 35))
_LONG_REFERENCE = ((3, 35), (4, 40), (5, 25))


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and what it states: a ``Statement``, or something of its own."""

    text: str
    states: object


@dataclass(frozen=True, slots=True)
class Case:
    """An interaction in the native format; its texts as sentences, in the order of the texts."""

    interaction: dict[str, Any]
    response: tuple[Said, ...]
    reference: tuple[Said, ...]
    passages: tuple[tuple[Said, ...], ...]
    together: Together | None = None

    @property
    def id(self) -> str:
        """The interaction id."""
        return str(self.interaction["interaction_id"])

    @property
    def texts(self) -> list[tuple[str, tuple[Said, ...]]]:
        """Every text that a claim may be asked against, with its sentences."""
        contexts: list[str] = self.interaction["retrieved_contexts"]
        joined = tuple(said for passage in self.passages for said in passage)
        return [
            (self.interaction["response"], self.response),
            (self.interaction["reference"], self.reference),
            *zip(contexts, self.passages, strict=True),
            # What ragas asks faithfulness against.
            ("\n".join(contexts), joined),
        ]

    def labels(self) -> Labels:
        """The claims of both texts, and which text supports which of them."""
        question = self.interaction["user_input"]
        claims = (*self.response, *self.reference)
        return Labels(
            claims={
                (question, self.interaction["response"]): tuple(s.text for s in self.response),
                (question, self.interaction["reference"]): tuple(s.text for s in self.reference),
            },
            supported=frozenset(
                (claim.text, text)
                for claim in claims
                for text, sentences in self.texts
                if _follows(claim, sentences, self.together)
            ),
            together=frozenset(self._together()),
        )

    def _together(self) -> Iterable[tuple[str, tuple[str, ...]]]:
        if self.together is not None:
            contexts = self.interaction["retrieved_contexts"]
            halves = tuple(
                contexts[i]
                for half in self.together.halves
                for i, sentences in enumerate(self.passages)
                if any(said.text == half for said in sentences)
            )
            yield self.together.claim, halves


def _follows(claim: Said, sentences: Sequence[Said], together: Together | None) -> bool:
    stated = {said.states for said in sentences}
    if claim.states in stated:
        return True
    return (
        together is not None and claim.states == together.claim and stated >= set(together.halves)
    )


def all_labels(cases: Iterable[Case]) -> Labels:
    """The labels of all cases in one; the same pair is never labelled in two ways."""
    labels = [case.labels() for case in cases]
    return Labels(
        claims={key: claims for one in labels for key, claims in one.claims.items()},
        supported=frozenset().union(*(one.supported for one in labels)),
        together=frozenset().union(*(one.together for one in labels)),
    )


def short_set(seed: int = 8) -> list[Case]:
    """200 interactions, half of them Chinese, 20 of them with a claim that needs two passages."""
    step = SHORT // len(TOGETHER)
    return [
        _case(f"short-{i:03d}", seed, TOGETHER[i // step] if i % step == 0 else None)
        for i in range(SHORT)
    ]


def long_set(tokens: Callable[[str], int], seed: int = 8) -> list[Case]:
    """40 interactions with 5 passages of 400 tokens, as ``tokens`` counts them."""
    return [_case(f"long-{i:03d}", seed, None, tokens) for i in range(LONG)]


def primer(case: Case) -> Case:
    """The same question and reference with another response: who judges it knows the reference."""
    (last,) = case.response[-1:]
    interaction = {
        **case.interaction,
        "interaction_id": f"{case.id}-primer",
        "response": last.text,
    }
    return Case(interaction, (last,), case.reference, case.passages, case.together)


def _case(
    name: str, seed: int, together: Together | None, tokens: Callable[[str], int] | None = None
) -> Case:
    rng = Random(f"{seed}:{name}")
    number = int(name[-3:])
    aggregator = CATALOGUES[together.language if together else LANGUAGES[number % 2]]
    product = aggregator.products[number // 2 % len(aggregator.products)]
    truths = [aggregator.truth(product, key) for key in rng.sample(list(aggregator.properties), 10)]
    wanted = _drawn(_LONG_RESPONSE if tokens else _RESPONSE, rng) - (together is not None)
    response = tuple(
        _said(aggregator, _answer(aggregator, truth, rng), rng) for truth in truths[:wanted]
    )
    # One that the response leaves out, so that not every reference is covered.
    covered = _drawn(_LONG_REFERENCE if tokens else _REFERENCE, rng)
    stated = [truths[wanted], *truths[:wanted]][:covered]
    reference = tuple(_said(aggregator, truth, rng) for truth in stated)
    if together is not None:
        whole = Said(together.claim, together.claim)
        response = (*response, whole)
        reference = (*reference, whole) if number % 4 == 0 else reference
    pages: list[list[Said]] = [
        [] for _ in range(_drawn(_PASSAGES, rng) if tokens is None else LONG_PASSAGES)
    ]
    _tell(pages, response, reference, together, aggregator, rng)
    for page in pages:
        _fill(page, aggregator, rng, tokens)
        rng.shuffle(page)
    question = aggregator.properties[truths[0].key].question.format(s=product)
    return _told(name, question, aggregator, response, reference, pages, together)


def _told(
    name: str,
    question: str,
    aggregator: Catalogue,
    response: tuple[Said, ...],
    reference: tuple[Said, ...],
    pages: Sequence[Sequence[Said]],
    together: Together | None,
) -> Case:
    interaction = {
        "interaction_id": name,
        "timestamp": "2026-11-20T12:00:00Z",
        "application": "costs",
        "user_input": question,
        "response": _text(aggregator, response),
        "retrieved_contexts": [_text(aggregator, page) for page in pages],
        "reference": _text(aggregator, reference),
    }
    return Case(interaction, response, reference, tuple(map(tuple, pages)), together)


def _tell(
    pages: Sequence[list[Said]],
    response: Sequence[Said],
    reference: Sequence[Said],
    together: Together | None,
    aggregator: Catalogue,
    rng: Random,
) -> None:
    """The passages state most of the reference and many of the response's mistakes."""
    for said in (*reference, *response):
        chance = PRESENT if said in reference else MISLEADING
        if isinstance(said.states, Statement) and rng.random() < chance:
            rng.choice(pages).append(_said(aggregator, said.states, rng))
    if together is not None:
        for half, page in zip(together.halves, rng.sample(pages, 2), strict=True):
            page.append(Said(half, half))


def _fill(
    page: list[Said], aggregator: Catalogue, rng: Random, tokens: Callable[[str], int] | None
) -> None:
    """Add neutral sentences and what is true of other products, up to the size of a passage."""
    page += [Said(text, None) for text in rng.sample(aggregator.fillers, 2)]

    def full() -> bool:
        if tokens is None:
            return len(page) >= SENTENCES
        return tokens(_text(aggregator, page)) >= LONG_TOKENS

    while not full():
        truth = aggregator.truth(
            rng.choice(aggregator.products), rng.choice(list(aggregator.properties))
        )
        page.append(_said(aggregator, truth, rng))


def _answer(aggregator: Catalogue, truth: Statement, rng: Random) -> Statement:
    return aggregator.mistake(truth, rng) if rng.random() < WRONG else truth


def _said(aggregator: Catalogue, statement: Statement, rng: Random) -> Said:
    return Said(aggregator.sentence(statement, rng), statement)


def _text(aggregator: Catalogue, sentences: Iterable[Said]) -> str:
    return aggregator.separator.join(said.text for said in sentences)


def _drawn(weighted: Sequence[tuple[int, int]], rng: Random) -> int:
    (found,) = rng.choices([n for n, _ in weighted], [weight for _, weight in weighted])
    return found
