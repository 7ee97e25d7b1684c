"""Which places of a log are the fields of an interaction: by their names, and what stands there.

Pure. A guess is written with an example and the number of records that have it, for somebody to
look at. A wrong one is worse than none: what is doubtful is named, and not chosen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from monitor.onboarding.names import (
    CHATS,
    NAMES,
    PASSAGE,
    REQUIRED,
    fit,
    is_aside,
    is_usual,
    snake,
    words_of,
)
from monitor.onboarding.shapes import FoundPlace, LogView, viewed
from monitor.onboarding.values import (
    FITS,
    WRONG_ROLES,
    are_short,
    are_turns,
    differ_too_much,
    have_own_keys,
    is_same_in_all,
    is_text,
    is_time,
    passages_at,
    text_of,
)

#: What steps are called whose words are for the next step, and nobody's answer.
_BETWEEN: Final = (
    *("rewrit", "condens", "reformulat", "expan", "search", "retriev", "rerank", "embed", "rout"),
    *("classif", "guard", "plan", "title"),
)
_STEP: Final = re.compile(r"\[\?\w+=='([^']*)'\]")
#: An id tells records apart: some may be logged twice, not many.
_LEAST_DISTINCT: Final = 0.9
#: Places that are named where a field is not found.
_MOST_NAMED: Final = 3


class GuessedPlace(NamedTuple):
    """An expression, in how many records it was found, and a value of the first that has one."""

    expression: str
    found: int
    example: Any


@dataclass
class Guess:
    """A mapping by field; ``within``: of passages that are objects. ``records`` were looked at.

    ``needs_zone``: times have no offset. ``repeated`` is a place with a name of an id, of which
    so many values are distinct that it is none. ``perhaps``: places of what was not found, for
    somebody to decide. ``also``: other places of passages, whose names are usual, too.
    """

    records: int
    parse: tuple[str, ...]
    unflatten: str | None
    fields: dict[str, GuessedPlace] = field(default_factory=dict)
    within: dict[str, GuessedPlace] = field(default_factory=dict)
    needs_zone: bool = False
    repeated: GuessedPlace | None = None
    perhaps: dict[str, list[str]] = field(default_factory=dict)
    also: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        """Fields without which there is no interaction, and that were not found."""
        return [name for name in REQUIRED if name not in self.fields]


def guessed(view: LogView) -> Guess:
    """The likeliest place of each field; of each place at most one field."""
    guess = Guess(len(view.records), view.parse, view.unflatten)
    taken: dict[str, FoundPlace] = {}
    for name in ("retrieved_contexts", "user_input", "response", "reference"):
        _choose(guess, name, view.places, taken)
    for name in NAMES:
        if name not in guess.fields:
            _choose(guess, name, view.places, taken)
    if "retrieved_contexts" in guess.fields:
        guess.within = _within(view, guess.fields["retrieved_contexts"].expression)
        guess.also = _also(guess, view.places, taken)[:_MOST_NAMED]
    for name in guess.missing:
        guess.perhaps[name] = list(_perhaps(guess, name, view.places, taken))[:_MOST_NAMED]
    for name in ("user_input", "response"):
        if name in guess.fields:
            choice = guess.fields[name]
            guess.fields[name] = choice._replace(example=text_of(name, choice.example))
    if "timestamp" in guess.fields:
        guess.needs_zone = not is_time(guess.fields["timestamp"].example)
    return guess


def _choose(
    guess: Guess, name: str, places: Sequence[FoundPlace], taken: dict[str, FoundPlace]
) -> None:
    best, best_score = None, 0.0
    asked = _asked(guess, taken) if name == "response" else frozenset()
    for place in places:
        if not _is_free(guess, place, taken):
            continue
        named = fit(name, place.names)
        fitting = _fitting(name, place) if named else []
        if not fitting or _is_none(name, place, fitting, asked):
            continue
        share = len(fitting) / guess.records
        if name == "interaction_id":  # what many records have in common names something else
            distinct = len(set(fitting))
            share *= distinct / len(fitting)
            if distinct < _LEAST_DISTINCT * len(fitting):
                guess.repeated = guess.repeated or GuessedPlace(
                    place.expression, distinct, fitting[0]
                )
                continue
        score = named * share - 0.02 * len(place.names) - _of_step(name, place.expression)
        score -= 0.3 if name == "retrieved_contexts" and are_short(fitting) else 0.0
        if score > best_score:
            best, best_score = place, score
    if best is not None:
        chosen = _fitting(name, best)
        guess.fields[name] = GuessedPlace(best.expression, len(chosen), chosen[0])
        taken[best.expression] = best


def _is_free(guess: Guess, place: FoundPlace, taken: dict[str, FoundPlace]) -> bool:
    passages = guess.fields.get("retrieved_contexts")
    if passages is not None and _is_within(place.expression, passages.expression):
        return False  # the id of a passage is not that of the record
    # Turns of a chat hold both the question and the answer.
    is_chat = place.names[-1] == "messages" or are_turns(place.values[0])
    return place.expression not in taken or is_chat


def _fitting(name: str, place: FoundPlace) -> list[Any]:
    """The values that a field can have."""
    if name == "retrieved_contexts":
        fits: Callable[[Any], bool] = passages_at(
            place.names[-1], is_sure=fit(name, place.names[-1:]) > 0
        )
        found = [value for value in place.values if fits(value)]
        return found if have_own_keys(found) else []
    if name in REQUIRED and snake(place.names[-1]) in CHATS:
        return [value for value in place.values if are_turns(value) and FITS[name](value)]
    wrong = WRONG_ROLES.get(name, frozenset[str]())
    said = zip(place.values, place.roles, strict=True)
    return [value for value, role in said if role not in wrong and FITS[name](value)]


def _is_none(name: str, place: FoundPlace, fitting: Sequence[Any], asked: frozenset[str]) -> bool:
    """Whether what fits is nevertheless something else, as all records together show."""
    if name == "retrieved_contexts":
        # The text of the only hit, where others have more.
        around = place.names[:-1]
        is_only = isinstance(fitting[0], str) and "[0]." in place.expression
        return is_only and bool(around) and fit(name, around) > 0
    if name == "application":
        return differ_too_much(fitting)
    if name not in ("user_input", "response"):
        return False
    texts = [str(text_of(name, value)) for value in fitting]
    # What was asked stands in the inputs of several steps, under names that say little.
    repeated = sum(text in asked for text in texts)
    return is_same_in_all(name, texts) or 2 * repeated > len(texts)


def _asked(guess: Guess, taken: dict[str, FoundPlace]) -> frozenset[str]:
    if "user_input" not in guess.fields:
        return frozenset()
    place = taken[guess.fields["user_input"].expression]
    return frozenset(str(text_of("user_input", each)) for each in _fitting("user_input", place))


def _perhaps(
    guess: Guess, name: str, places: Sequence[FoundPlace], taken: dict[str, FoundPlace]
) -> Iterator[str]:
    """Places with such values, whose names are no usual ones."""
    asked = _asked(guess, taken) if name == "response" else frozenset[str]()
    for place in places:
        is_around = any(_is_within(each, place.expression) for each in taken)
        if is_around or not _is_free(guess, place, taken) or is_aside(place.names):
            continue
        found = _likely(name, place)
        if 2 * len(found) > guess.records and not _is_none(name, place, found, asked):
            yield place.expression


def _also(guess: Guess, places: Sequence[FoundPlace], taken: dict[str, FoundPlace]) -> list[str]:
    """Other places that could be those of passages: DeepEval logs the ideal ones beside them."""
    name, found = "retrieved_contexts", list[str]()
    chosen = guess.fields[name].expression
    for place in places:
        here = place.expression
        if any(_is_within(here, each) or _is_within(each, here) for each in (chosen, *found)):
            continue
        if not (is_usual(name, place.names[-1]) and fit(name, place.names)):
            continue
        fitting = _fitting(name, place)
        if _is_free(guess, place, taken) and 2 * len(fitting) > guess.records:
            found += [] if _is_none(name, place, fitting, frozenset()) else [here]
    return found


def _likely(name: str, place: FoundPlace) -> list[Any]:
    """Values that look like those of a field, below a name that is no other one's."""
    if name == "retrieved_contexts":
        fits = passages_at("", is_sure=False)
        return [each for each in place.values if isinstance(each, list) and fits(each)]
    others = [
        other for other in NAMES if other not in REQUIRED and is_usual(other, place.names[-1])
    ]
    is_others = any(
        FITS[other](place.values[0]) and not _is_none(other, place, place.values, frozenset())
        for other in others
    )
    if place.expression.endswith("]") or is_others:
        return []
    said = zip(place.values, place.roles, strict=True)
    return [each for each, role in said if role not in WRONG_ROLES[name] and _is_said(each)]


def _is_said(value: Any) -> bool:
    """Whether it is a text of more than one word, a question, or of another script."""
    return is_text(value) and (bool(re.search(r"\S\s+\S|\?$", value)) or not value.isascii())


def _of_step(field_name: str, expression: str) -> float:
    """What a place within one step loses; the answer is none of a step that only leads to it."""
    step = _STEP.search(expression)
    if step is None:
        return 0.0
    is_between = any(word.startswith(_BETWEEN) for word in words_of(step[1]))
    return 1.0 if is_between and field_name == "response" else 0.1


def _is_within(expression: str, around: str) -> bool:
    return expression.startswith((f"{around}.", f"{around}["))


def _within(view: LogView, expression: str) -> dict[str, GuessedPlace]:
    """Where text, id, score and label stand in passages that are objects; {} for other ones."""
    place = next(each for each in view.places if each.expression == expression)
    first = [items[0] for items in place.values if isinstance(items, list) and items]
    objects = [each for each in first if isinstance(each, dict)]
    if not objects or len(objects) < len(first):
        return {}
    inner, found = viewed([dict(each) for each in objects]), Guess(len(objects), (), None)
    for name in PASSAGE:
        _choose(found, name, inner.places, {})
    return found.fields
