"""The pipelines: which claims are asked against which documents, in which calls. Pure.

All of them fill the same matrices; they differ in what a call holds.

``joint``
    Every batch of claims against all documents at once: each passage's tokens are sent once for
    every ``caps.claims`` claims. Passages that do not fit one call are split over several.
``single``
    Every batch of claims against one document at a time: what the joint pipeline would say if no
    document stood beside another. For audits of the judge.
``ragas``
    The calls of ragas 0.4.3 (``NoiseSensitivity`` in both modes and ``Faithfulness``), each once:
    the response's claims against every passage, against the reference, and against all passages
    joined by newlines; the reference's claims against every passage. See ``ragas``.

``pairs``
    One claim and one document a call: ``monitor.judge.pipeline.pairs``.

Where no call has shown a claim all passages, ``together`` asks about that afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from monitor.judge.ceiling import Demand
from monitor.judge.pipeline.material import (
    Caps,
    Material,
    VerifyBlock,
    by_context,
    estimated_tokens,
    packed,
)
from monitor.judge.pipeline.parsing import REFERENCE, RESPONSE, ClaimVerdict

PipelineName = Literal["joint", "single", "ragas", "pairs"]


@dataclass(frozen=True, slots=True)
class VerifyPlan:
    """The blocks to ask, all at once; ``caps`` hold for what is asked afterwards, too.

    ``joined`` is the text of the document that holds all passages. ``documents_as`` and
    ``claims_as`` name what is not asked because something equal is: the answer is the same.
    """

    blocks: tuple[VerifyBlock, ...]
    caps: Caps
    joined: str = ""
    documents_as: Mapping[str, str] = field(default_factory=dict)
    claims_as: Mapping[str, str] = field(default_factory=dict)

    def spread(self, answers: Mapping[str, ClaimVerdict]) -> dict[str, ClaimVerdict]:
        """The answers with those of equal claims and documents put in."""
        found = {claim: self._with_equals(verdict) for claim, verdict in answers.items()}
        return found | {claim: found[asked] for claim, asked in self.claims_as.items()}

    def _with_equals(self, verdict: ClaimVerdict) -> ClaimVerdict:
        supported = verdict.supported
        equal = {
            name: supported[asked]
            for name, asked in self.documents_as.items()
            if asked in supported
        }
        return ClaimVerdict({**supported, **equal}, verdict.together)


Planner = Callable[[Material, Caps], VerifyPlan]


def joint(material: Material, caps: Caps) -> VerifyPlan:
    """All documents beside each other, in as few calls as the caps allow."""
    batches = _batches(material, tuple(material.claims), caps)
    largest = max((_tokens(material, batch) for batch in batches), default=0)
    groups = _groups(material, caps, material.room(caps) - largest)
    blocks = tuple(VerifyBlock(batch, group) for group in groups for batch in batches)
    return VerifyPlan(blocks, caps)


def single(material: Material, caps: Caps) -> VerifyPlan:
    """One document a call."""
    batches = _batches(material, tuple(material.claims), caps)
    blocks = (VerifyBlock(batch, (name,)) for name in material.texts for batch in batches)
    return VerifyPlan(tuple(blocks), caps)


def ragas(material: Material, caps: Caps) -> VerifyPlan:
    """What ragas 0.4.3 asks, without its duplicates, and what it never asks.

    From ``ragas/metrics/_noise_sensitivity.py`` and ``_faithfulness.py``, with C the response's
    claims and R the reference's:

    =====================  ==========================  ========================================
    call                   asked by ragas in           matrix
    =====================  ==========================  ========================================
    C × each passage       NoiseSensitivity, 2 modes   ``response_by_passage``
    R × each passage       NoiseSensitivity, 2 modes   ``reference_by_passage``
    C × reference          NoiseSensitivity, 2 modes   ``response_by_reference``
    C × passages joined    Faithfulness                ``response_by_context``
    R × response           never                       ``reference_by_response``
    C × response           never                       the self-check of the extraction
    R × reference          never                       the self-check of the extraction
    =====================  ==========================  ========================================

    The last three are calls of their own, so that those of ragas stay as they are. A claim that a
    passage alone supports counts as supported by the context, whatever the joined text says: such
    a contradiction has no place in a judgement. Equal contexts, and equal lists of claims, are
    asked once. ragas knows no batches; here ``caps.claims`` holds. A joined text that exceeds the
    prompt's budget is made of the best passages that fit.
    """
    c, r = material.of_text(RESPONSE), material.of_text(REFERENCE)
    joined = "\n".join(_joinable(material, caps))
    texts = {**material.texts, material.joined: joined} if joined else material.texts
    first: dict[str, str] = {}
    equal = {name: first.setdefault(text, name) for name, text in texts.items()}
    same = bool(c) and [material.claims[i] for i in c] == [material.claims[i] for i in r]
    asked = [(batch, tuple(texts)) for batch in _batches(material, c, caps)]
    if not same:
        asked += [(batch, tuple(material.texts)) for batch in _batches(material, r, caps)]
    return VerifyPlan(
        blocks=tuple(
            VerifyBlock(batch, (name,))
            for batch, names in asked
            for name in names
            if equal[name] == name
        ),
        caps=caps,
        joined=joined,
        documents_as={name: kept for name, kept in equal.items() if kept != name},
        claims_as=dict(zip(r, c, strict=True)) if same else {},
    )


def asking_answer(plan: VerifyPlan) -> VerifyPlan:
    """The plan with the question whether the response addresses the question, asked once.

    In the first call that shows the response: there is the self-check of the extraction. Only where
    an equal text stands for it (``ragas``) it takes a call of its own, with the first claims.
    """
    blocks = list(plan.blocks)
    shown = next((i for i, block in enumerate(blocks) if RESPONSE in block.documents), None)
    if shown is not None:
        blocks[shown] = replace(blocks[shown], answer=True)
    elif blocks:
        blocks.append(VerifyBlock(blocks[0].claims, (RESPONSE,), answer=True))
    return replace(plan, blocks=tuple(blocks))


PLANS: Mapping[PipelineName, Planner] = {"joint": joint, "single": single, "ragas": ragas}
"""Of the pipelines that ask about several claims a call."""


def fewest(planner: Planner, caps: Caps, passages: Sequence[str]) -> int:
    """Calls that any plan has at least, with a claim, for passages with these texts.

    Found without making one.

    >>> fewest(joint, Caps(), ["a"] * 25), fewest(single, Caps(), ["a"] * 25)
    (3, 25)
    >>> fewest(ragas, Caps(), ["a", "b"] * 25)
    2
    """
    if planner is joint:
        return -(-len(passages) // caps.passages)
    # Of equal passages all others but ``single`` ask about one.
    return len(passages) if planner is single else len(set(passages))


def demand(material: Material, plan: VerifyPlan) -> Demand:
    """What the plan asks, and ``together`` afterwards at most."""
    costs = {name: material.document_tokens(name) for name in material.texts}
    costs[material.joined] = estimated_tokens(plan.joined)
    claims = {claim: material.claim_tokens(claim) for claim in material.claims}
    tokens = sum(
        material.fixed_tokens
        + sum(map(claims.__getitem__, block.claims))
        + sum(map(costs.__getitem__, block.documents))
        + material.answer_tokens * block.answer
        for block in plan.blocks
    )
    later = _batches(material, _not_shown_all(material, plan.blocks), plan.caps)
    # A call about the context is full at most.
    full = min(material.room(plan.caps), sum(map(costs.__getitem__, material.passages)))
    tokens += len(later) * (material.fixed_tokens + full)
    tokens += sum(claims[claim] for batch in later for claim in batch)
    return Demand(len(plan.blocks) + len(later), tokens)


def together(
    material: Material, plan: VerifyPlan, answers: Mapping[str, ClaimVerdict]
) -> tuple[VerifyBlock, ...]:
    """What is still to be asked about the context as a whole, once the plan has been answered.

    The response's claims that no passage supports, if they have not been shown all passages in one
    call: now they are, or as many of the best as the prompt's budget holds. ``caps.passages`` does
    not hold here. Whatever has been supported stays so: more passages never take support away.
    """
    asked, caps = plan.blocks, plan.caps
    if any(material.joined in block.documents for block in asked) or len(material.passages) < 2:
        return ()
    left = tuple(c for c in material.of_text(RESPONSE) if not by_context(answers[c]))
    met, blocks = _met(asked), []
    for batch in _batches(material, left, caps):
        shown = _best_that_fit(material, caps, _tokens(material, batch))
        if not all(any(seen.issuperset(shown) for seen in met.get(c, ())) for c in batch):
            blocks.append(VerifyBlock(batch, shown))
    return tuple(blocks)


def _not_shown_all(material: Material, asked: Sequence[VerifyBlock]) -> tuple[str, ...]:
    """The response's claims that ``together`` may ask about once more, whatever is answered."""
    if any(material.joined in block.documents for block in asked) or len(material.passages) < 2:
        return ()
    passages, met = set(material.passages), _met(asked)
    claims = material.of_text(RESPONSE)
    return tuple(c for c in claims if not any(seen >= passages for seen in met.get(c, ())))


def _met(asked: Iterable[VerifyBlock]) -> Mapping[str, list[frozenset[str]]]:
    """By claim the documents that it meets in one call, call by call."""
    found: dict[str, list[frozenset[str]]] = {}
    made: dict[tuple[str, ...], frozenset[str]] = {}
    for block in asked:
        documents = made.get(block.documents)
        if documents is None:
            documents = made[block.documents] = frozenset(block.documents)
        for claim in block.claims:
            found.setdefault(claim, []).append(documents)
    return found


def _batches(material: Material, claims: tuple[str, ...], caps: Caps) -> list[tuple[str, ...]]:
    # At most half of the room for claims: documents have to stand beside them.
    budget = material.room(caps) // 2
    return packed(claims, material.claim_tokens, caps.claims, budget)


def _groups(material: Material, caps: Caps, budget: int) -> list[tuple[str, ...]]:
    """All documents in as few calls as possible, passages spread evenly, both texts last."""
    calls = -(-len(material.passages) // caps.passages)
    even = -(-len(material.passages) // max(1, calls))
    groups = packed(material.passages, material.document_tokens, max(1, even), budget)
    for name in (name for name in (RESPONSE, REFERENCE) if name in material.texts):
        room = budget - sum(map(material.document_tokens, groups[-1] if groups else ()))
        if groups and material.document_tokens(name) <= room:
            groups[-1] += (name,)
        else:
            groups.append((name,))
    return groups


def _best_that_fit(material: Material, caps: Caps, claim_tokens: int) -> tuple[str, ...]:
    """The best passages that a call beside so many tokens of claims holds, in the order shown."""
    left = material.room(caps) - claim_tokens
    fit = set()
    for name in material.best_first:
        cost = material.document_tokens(name)
        if cost <= left:
            fit.add(name)
            left -= cost
    return tuple(name for name in material.passages if name in fit)


def _joinable(material: Material, caps: Caps) -> list[str]:
    """The passages of the joined text, in the order of the log, as ragas joins them."""
    batches = _batches(material, material.of_text(RESPONSE), caps)
    largest = max((_tokens(material, batch) for batch in batches), default=0)
    fit = sorted(_best_that_fit(material, caps, largest), key=int)
    return [material.texts[name] for name in fit]


def _tokens(material: Material, batch: Iterable[str]) -> int:
    return sum(map(material.claim_tokens, batch))
