"""Models that keep the wire format and judge nothing, and one that errs now and then."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from monitor.doctor.llm import KNOWN_PAIRS
from monitor.judge.canaries import KINDS, Canary, canaries
from monitor.judge.ports import Reply, Task, Terms
from tests.servers.judge_labels import Labels

#: The reply that stands in some instructions as an example.
EXAMPLE = '{"n":318,"c1":"2n 1n Rn Ay +","r1":"2y 1n An Ry"}'
_SENTENCE = re.compile(r"[^.!?。]+[.!?。]")


@dataclass(frozen=True)
class Place:
    """Where a verdict stands: its number of all, its reply, its line in it, its place in that."""

    count: int
    reply: int
    line: int
    place: int
    is_last: bool


#: A verdict by where it stands.
Habit = Callable[[Place], bool]
HABITS: Mapping[str, Habit] = {
    "always n": lambda _: False,
    "always y": lambda _: True,
    "parrots in the shape that is asked": lambda place: place.is_last,
    "alternates by verdict": lambda place: place.count % 2 == 0,
    "alternates by place": lambda place: place.place % 2 == 0,
    "alternates by claim": lambda place: place.line % 2 == 0,
    "alternates by reply": lambda place: place.reply % 2 == 0,
}


@dataclass
class Stub:
    """Answers every request by a habit; ``is_parrot``: with the example, whatever is asked."""

    habit: Habit = HABITS["always n"]
    is_parrot: bool = False
    verdicts: int = 0
    replies: int = 0
    #: Every user message, in order.
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, user: str) -> str:
        """The reply to a user message."""
        message = json.loads(user)
        self.asked.append(message)
        if message["task"] == "extract_claims":
            return json.dumps({"claims": _SENTENCE.findall(message["text"])})
        self.replies += 1
        return EXAMPLE if self.is_parrot else json.dumps(self._lines(message))

    def _lines(self, message: Mapping[str, Any]) -> dict[str, Any]:
        lines: dict[str, Any] = {"n": message["n"]}
        for line, claim in enumerate(message["claims"]):
            names = pairs(message["documents"], claim)
            tokens = []
            for place, name in enumerate(names):
                where = Place(self.verdicts, self.replies, line, place, place == len(names) - 1)
                tokens.append(f"{name}{'y' if self.verdict(message, claim, name, where) else 'n'}")
                self.verdicts += 1
            lines[claim] = " ".join(tokens)
        return lines

    def verdict(self, message: Mapping[str, Any], claim: str, document: str, where: Place) -> bool:
        """One verdict; ``claim`` and ``document`` are names of the message."""
        return self.habit(where)

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        """The port ``Complete``."""
        return Reply(self.answer(user), "stop")


class Erring(Stub):
    """Knows the canaries, takes what contains the claim for support, and errs at random."""

    def __init__(self, errors: float, seed: int, also: Iterable[Canary] = ()) -> None:
        super().__init__()
        self._errors, self._seed = errors, seed
        self._times: Counter[tuple[str, str]] = Counter()
        self._known = {pair for canary in (*canaries(), *also) for pair in supported(canary)}

    def verdict(self, message: Mapping[str, Any], claim: str, document: str, where: Place) -> bool:
        """The truth, but for errors: by the text and how often it was asked about.

        Whatever else is asked meanwhile, in whichever order.
        """
        pair = text, against = message["claims"][claim], message["documents"][document]
        return (pair in self._known or text in against) != self.errs(*pair)

    def errs(self, text: str, against: str) -> bool:
        """Whether it errs when it is asked about this pair once more."""
        self._times[text, against] += 1
        chance = Random(f"{self._seed} {self._times[text, against]} {text} {against}").random()
        return chance < self._errors


class OfOneText(Erring):
    """Makes no error, but says n of one document whatever it is asked."""

    def __init__(self, guessed: str) -> None:
        super().__init__(0.0, seed=1)
        self._guessed = guessed

    def verdict(self, message: Mapping[str, Any], claim: str, document: str, where: Place) -> bool:
        """The truth, but of that document."""
        return document != self._guessed and super().verdict(message, claim, document, where)


def pairs(documents: Mapping[str, str], claim: str) -> list[str]:
    """The documents of a claim's pairs, as the wire format orders them."""
    texts = ("R", "A") if claim.startswith("c") else ("A", "R")
    return [n for n in documents if n.isdigit()] + [n for n in texts if n in documents]


def asked_pairs(canary: Canary) -> Iterator[tuple[str, str, bool | None]]:
    """Each claim and text as they are asked about, and the truth; None of a claim's own text."""
    by_passage, by_reference, by_response = (iter(canary.truth[kind]) for kind in KINDS)
    response = [canary.response]
    reference = [] if canary.reference is None else [canary.reference]
    for claims, others, truths, own in (
        (canary.claims.response, reference, by_reference, response),
        (canary.claims.reference, response, by_response, reference),
    ):
        for claim in claims:
            yield from ((claim, text, next(by_passage)) for text in canary.passages)
            yield from ((claim, text, next(truths)) for text in others)
            yield from ((claim, text, None) for text in own)


def supported(canary: Canary) -> set[tuple[str, str]]:
    """The (claim, text) pairs of a canary that hold, but for each claim's own text."""
    return {(claim, text) for claim, text, holds in asked_pairs(canary) if holds}


def known_pairs() -> Labels:
    """What ``doctor`` asks about, for a judge that answers from labels."""
    own = {(claim, KNOWN_PAIRS.response) for claim in KNOWN_PAIRS.claims.response}
    return Labels(supported=frozenset(supported(KNOWN_PAIRS) | own))
