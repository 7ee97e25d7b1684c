"""What the simulated judge answers: verdicts from labels, encoded as the wire format says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.servers.judge_labels import Labels
from tests.servers.judge_request import BadRequest, Request


@dataclass(frozen=True)
class Line:
    """Verdicts under one key, as in ``"c1":"1n 2y Rn Ay"``: ``tokens`` may end in ``+``."""

    claim_id: str
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Reply:
    """A reply before encoding: claims of an extraction, or a nonce with verdict lines or quotes.

    Or one ``word``.
    """

    nonce: int | None
    claims: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    quotes: tuple[tuple[str, str], ...] = ()
    word: str | None = None

    def encode(self) -> str:
        """Compact JSON in raw UTF-8; written by hand, so that a key can stand twice."""
        if self.word is not None:
            return self.word
        if self.nonce is None:
            return f'{{"claims":{_json(self.claims)}}}'
        fields = [f'"n":{self.nonce}']
        fields += [f"{_json(line.claim_id)}:{_json(' '.join(line.tokens))}" for line in self.lines]
        fields += [f"{_json(pair)}:{_json(quote)}" for pair, quote in self.quotes]
        return "{" + ",".join(fields) + "}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def honest_reply(request: Request, labels: Labels) -> Reply:
    """What the labels say; raises ``BadRequest`` where they say nothing."""
    if request.task == "extract_claims":
        return Reply(None, claims=_claims(request.content, labels))
    if request.task == "judge_pair":
        return Reply(None, word=_word(request.content, labels))
    if request.task == "quote_evidence":
        return Reply(request.nonce, quotes=_quotes(request.content))
    if request.task == "judge_relevance":
        return Reply(request.nonce, lines=(_relevance(request.content, labels),))
    return Reply(request.nonce, lines=_lines(request.content, labels))


def _word(content: Mapping[str, Any], labels: Labels) -> str:
    """A document of several lines may be several passages."""
    claim, document = content["claim"], content["document"]
    if claim not in labels.known_claims:
        raise BadRequest(f"no label: {claim!r} is no claim of any label")
    together = labels.holds_together(claim, document.split("\n"))
    return "yes" if together or (claim, document) in labels.supported else "no"


def _relevance(content: Mapping[str, Any], labels: Labels) -> Line:
    question, documents = content["question"], content["documents"]
    said = {name: (question, text) in labels.relevant for name, text in documents.items()}
    return Line("relevant", tuple(f"{name}{'y' if said[name] else 'n'}" for name in said))


def _quotes(content: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The first words of each document: where a claim stands in it is no label's business."""
    documents = content["documents"]
    pairs = [(pair, documents[pair.partition(" ")[2]]) for pair in content["pairs"]]
    return tuple((pair, " ".join(text.split()[:3])) for pair, text in pairs)


def _claims(content: Mapping[str, Any], labels: Labels) -> tuple[str, ...]:
    key = content["question"], content["text"]
    if key not in labels.claims:
        raise BadRequest(f"no label: no claims for question {key[0]!r} and text {key[1]!r}")
    return labels.claims[key]


def _lines(content: Mapping[str, Any], labels: Labels) -> tuple[Line, ...]:
    documents, claims = content["documents"], dict(content["claims"])
    whole = (_whole(content, labels),) if claims.pop("A", None) else ()
    for claim_id, claim in claims.items():
        if claim not in labels.known_claims:
            raise BadRequest(f"no label: {claim_id} {claim!r} is no claim of any label")
    lines = tuple(_verdicts(key, claim, documents, labels) for key, claim in claims.items())
    return lines + whole


def _whole(content: Mapping[str, Any], labels: Labels) -> Line:
    """Whether the response addresses the question."""
    said = (content["question"], content["documents"]["A"]) in labels.relevant
    return Line("A", (f"Q{'y' if said else 'n'}",))


def _verdicts(claim_id: str, claim: str, documents: Mapping[str, str], labels: Labels) -> Line:
    passages = [key for key in documents if key.isdigit()]
    texts = ["R", "A"] if claim_id.startswith("c") else ["A", "R"]
    asked = passages + [key for key in texts if key in documents]
    supports = {key: (claim, documents[key]) in labels.supported for key in asked}
    tokens = [f"{key}{'y' if supports[key] else 'n'}" for key in asked]
    alone = any(supports[key] for key in passages)
    together = labels.holds_together(claim, (documents[key] for key in passages))
    if len(passages) >= 2 and not alone and together:
        tokens.append("+")
    return Line(claim_id, tuple(tokens))
