"""Which statements the response, the reference and each passage of an interaction consist of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from monitor.demo.facts import Fact, Handbook, Topic
from monitor.demo.mix import SHAPES, ResponseKind
from monitor.demo.truth import Statement

PASSAGES = (3, 4)
ARCHIVE_NOTE_RATE = 0.3


@dataclass(frozen=True, slots=True)
class ScenePage:
    """A passage: statements, neutral sentences, and whether it states a reference claim."""

    states: tuple[Statement, ...]
    neutral: tuple[str, ...]
    is_relevant: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """All of an interaction but its wording; ``refusal`` is the whole response, if it is one."""

    kind: ResponseKind
    question: str
    response: tuple[Statement, ...]
    refusal: str | None
    reference: tuple[Statement, ...]
    pages: tuple[ScenePage, ...]


def draw_scene(kind: ResponseKind, aggregator: Handbook, rng: Random) -> Scene:
    """A scene of this kind about one topic of the handbook.

    The first fact drawn is the one asked for, the following ones are side facts of the response.
    The last one is left for the reference: in ``misled_by_relevant`` it makes the misleading
    passage relevant even when all claims of the response are wrong.
    """
    topic = rng.choice(aggregator.topics)
    claims, wrong = rng.choice(SHAPES)
    facts = rng.sample(topic.facts, claims + 1)
    asked, extra = facts[:-1], facts[-1]
    if kind in (ResponseKind.FOLLOWS, ResponseKind.REFUSES):
        wrong = 0
    response = _response(asked, wrong, rng)
    needs_extra = kind is ResponseKind.MISLED_BY_RELEVANT and wrong == claims
    covered = [*asked, extra] if rng.random() < 0.5 or needs_extra else asked
    reference = tuple(Statement(fact, fact.value) for fact in covered)
    drafts = _telling(kind, response, reference, rng)
    missing = rng.choice(PASSAGES) - len(drafts)
    drafts += [_distractor(response, topic, aggregator, rng) for _ in range(missing)]
    rng.shuffle(drafts)
    return Scene(
        kind=kind,
        question=asked[0].question,
        response=() if kind is ResponseKind.REFUSES else response,
        refusal=rng.choice(aggregator.refusals) if kind is ResponseKind.REFUSES else None,
        reference=reference,
        pages=tuple(_page(states, reference, topic, aggregator, rng) for states in drafts),
    )


def _response(asked: Sequence[Fact], wrong: int, rng: Random) -> tuple[Statement, ...]:
    mistaken = set(rng.sample(range(len(asked)), wrong))
    return tuple(
        Statement(fact, rng.choice(fact.wrong) if i in mistaken else fact.value)
        for i, fact in enumerate(asked)
    )


def _telling(
    kind: ResponseKind, response: Sequence[Statement], reference: Sequence[Statement], rng: Random
) -> list[tuple[Statement, ...]]:
    """What the passages state that decide the kind; in ``ignores`` none repeats a mistake."""
    mistakes = tuple(statement for statement in response if not statement.is_true)
    if kind is ResponseKind.REFUSES:
        return []
    if kind is ResponseKind.MISLED_BY_RELEVANT:
        return _contradicting(mistakes, reference)
    outdated = [mistakes] if kind is ResponseKind.MISLED_BY_IRRELEVANT else []
    return _split(reference, rng) + outdated


def _contradicting(
    mistakes: tuple[Statement, ...], reference: Sequence[Statement]
) -> list[tuple[Statement, ...]]:
    mistaken = {statement.fact for statement in mistakes}
    first, *rest = [statement for statement in reference if statement.fact not in mistaken]
    return [(first, *mistakes)] + ([tuple(rest)] if rest else [])


def _split(statements: Sequence[Statement], rng: Random) -> list[tuple[Statement, ...]]:
    """All statements in one passage, or spread over two."""
    cut = rng.randrange(len(statements))
    parts = (tuple(statements[:cut]), tuple(statements[cut:]))
    return [part for part in parts if part]


def _distractor(
    response: Sequence[Statement], topic: Topic, aggregator: Handbook, rng: Random
) -> tuple[Statement, ...]:
    """Statements of a passage that supports neither response nor reference.

    Nothing at all, facts of another topic, or wrong values that the response does not repeat: so
    an outdated passage alone does not give away that the response followed it.
    """
    choice = rng.randrange(3)
    if choice == 0:
        return ()
    if choice == 1:
        other = rng.choice([candidate for candidate in aggregator.topics if candidate is not topic])
        return tuple(Statement(fact, fact.value) for fact in rng.sample(other.facts, 2))
    about = rng.choice(response)
    unused = [value for value in about.fact.wrong if value != about.value]
    return (Statement(about.fact, rng.choice(unused)),)


def _page(
    states: tuple[Statement, ...],
    reference: Sequence[Statement],
    topic: Topic,
    aggregator: Handbook,
    rng: Random,
) -> ScenePage:
    is_relevant = any(statement in reference for statement in states)
    neutral = rng.sample(topic.fillers, rng.choice((1, 2)))
    if not is_relevant and rng.random() < ARCHIVE_NOTE_RATE:
        neutral.append(rng.choice(aggregator.archive_notes))
    return ScenePage(states=states, neutral=tuple(neutral), is_relevant=is_relevant)
