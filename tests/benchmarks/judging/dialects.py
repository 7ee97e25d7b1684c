"""How ragas 0.4.3 and RAGChecker 0.1.9 ask a model, and what a faultless one answers. Pure.

Verdicts come from the labels by (claim, text) alone, as for our own wire format, so that one server
gives all three clients the same truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.servers.judge_labels import Labels
from tests.servers.judge_reply import honest_reply
from tests.servers.judge_request import BadRequest, Task, read_request

Triplet = tuple[str, str, str]

#: As long as the reasons in the examples that ragas sends: 5 to 21 tokens.
REASONS: Mapping[bool, str] = {
    True: "The context states this.",
    False: "The context does not state this, and it does not follow from what it states.",
}
_LABEL: Mapping[bool, str] = {True: "Entailment", False: "Neutral"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it was understood: claims against a text, or (without claims) a text."""

    client: Literal["ours", "ragas", "ragchecker"]
    task: Literal["extract", "verify"]
    claims: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was asked, and the reply's text."""

    asked: Asked
    text: str


class Polyglot:
    """Answers in all three dialects; raises ``BadRequest`` for what no label answers."""

    def __init__(self, labels: Labels, prompts: Mapping[Task, frozenset[str]]) -> None:
        self._labels, self._prompts = labels, prompts
        claims = labels.known_claims
        self._triplets = {claim: triplet(claim) for claim in claims}
        self._claims = {found: claim for claim, found in self._triplets.items()}

    def answer(self, body: Mapping[str, Any]) -> Answered:
        """The faultless reply to a chat completion's body."""
        messages = body["messages"]
        if messages[0]["role"] == "system" and messages[-1]["content"].startswith('{"task":'):
            return self._ours(body)
        prompt = messages[-1]["content"]
        if '"subject", "predicate", "object"' in prompt:
            return self._ragchecker(prompt)
        return self._ragas(prompt)

    def triplet_of(self, claim: str) -> Triplet:
        """A known claim as RAGChecker hears it."""
        return self._triplets[claim]

    def _ours(self, body: Mapping[str, Any]) -> Answered:
        request = read_request(body, self._prompts)
        content = request.content
        task: Literal["extract", "verify"] = "verify" if "claims" in content else "extract"
        asked = Asked("ours", task, tuple(content.get("claims", {}).values()))
        return Answered(asked, honest_reply(request, self._labels).encode())

    def _ragas(self, prompt: str) -> Answered:
        _, _, given = prompt.rpartition("\ninput: ")
        content = json.loads(given.removesuffix("Output: "))
        if "statements" not in content:
            claims = self._claims_of(content["question"], content["answer"])
            asked = Asked("ragas", "extract", context=content["answer"])
            return Answered(asked, _json({"statements": claims}))
        found = [
            {"statement": claim, "reason": REASONS[held], "verdict": int(held)}
            for claim, held in self._verdicts(content["statements"], content["context"])
        ]
        asked = Asked("ragas", "verify", tuple(content["statements"]), content["context"])
        return Answered(asked, _json({"statements": found}))

    def _ragchecker(self, prompt: str) -> Answered:
        if prompt.endswith("### KG:\n"):
            question = _between(prompt, "### Question:\n", "\n\n### Candidate Answer:\n")
            answer = _between(prompt, "### Candidate Answer:\n", "\n\n### KG:\n")
            triplets = [self._triplets[claim] for claim in self._claims_of(question, answer)]
            asked = Asked("ragchecker", "extract", context=answer)
            return Answered(asked, "\n".join(map(_shown, triplets)))
        reference = _between(prompt, "### Reference:\n", "\n\n### Claims:\n")
        lines = _between(prompt, "### Claims:\n", "\n\n\nYour answer should").splitlines()
        claims = [self._claim(line) for line in lines]
        verdicts = [_LABEL[held] for _, held in self._verdicts(claims, reference)]
        asked = Asked("ragchecker", "verify", tuple(claims), reference)
        return Answered(asked, "\n".join(verdicts))

    def _claims_of(self, question: str, text: str) -> tuple[str, ...]:
        if (question, text) not in self._labels.claims:
            raise BadRequest("no label: no claims for this question and text")
        return self._labels.claims[question, text]

    def _verdicts(self, claims: Iterable[str], text: str) -> list[tuple[str, bool]]:
        claims = list(claims)
        if not self._labels.known_claims.issuperset(claims):
            raise BadRequest("no label: a claim is no claim of any label")
        return [(claim, (claim, text) in self._labels.supported) for claim in claims]

    def _claim(self, line: str) -> str:
        parts = line.removeprefix('("').removesuffix('")').split('", "')
        return self._claims[parts[0], parts[1], parts[2]]


def triplet(claim: str) -> Triplet:
    """A claim as subject, predicate and object, in its own words.

    >>> triplet("The Pico reader weighs 310 grams.")
    ('The Pico', 'reader weighs', '310 grams.')
    """
    spaced = " " in claim
    parts = claim.split(" ") if spaced else list(claim)
    glue = " " if spaced else ""
    a, b = len(parts) // 3, 2 * len(parts) // 3
    return glue.join(parts[:a]), glue.join(parts[a:b]), glue.join(parts[b:])


def _shown(parts: Triplet) -> str:
    return '("{}", "{}", "{}")'.format(*parts)


def _between(text: str, start: str, end: str) -> str:
    return text.rpartition(start)[2].partition(end)[0]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
