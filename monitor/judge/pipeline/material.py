"""What a verification is about: the documents and claims of one interaction. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeVar

from monitor.judge.pipeline import parsing
from monitor.judge.pipeline.parsing import (
    REFERENCE,
    RESPONSE,
    ClaimVerdict,
    PassageOrder,
    VerifyRequest,
)
from monitor.records import Claims, Interaction, Passage

MAX_CLAIMS_PER_CALL = 12
"""Larger batches cost accuracy."""
MAX_PASSAGES_PER_CALL = 12

_PER_ENTRY = 8  # tokens of a key, its quotes and its comma
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Caps:
    """What one verify call may hold; ``prompt_tokens`` is of the whole prompt, by estimate."""

    claims: int = 8
    passages: int = MAX_PASSAGES_PER_CALL
    prompt_tokens: int = 16_000

    def __post_init__(self) -> None:
        # A library's caller gets the same hard caps as a configuration.
        object.__setattr__(self, "claims", min(self.claims, MAX_CLAIMS_PER_CALL))
        object.__setattr__(self, "passages", min(self.passages, MAX_PASSAGES_PER_CALL))
        if min(self.claims, self.passages, self.prompt_tokens) < 1:
            raise ValueError(f"a cap below 1: {self}")


@dataclass(frozen=True, slots=True)
class VerifyBlock:
    """One verify call: which claims are asked against which documents, both by name.

    ``answer``: also whether the response addresses the question.
    """

    claims: tuple[str, ...]
    documents: tuple[str, ...]
    answer: bool = False

    def halves(self) -> tuple[VerifyBlock, VerifyBlock]:
        """Both halves of the claims, against the same documents; there must be two claims."""
        middle = (len(self.claims) + 1) // 2
        return (
            VerifyBlock(self.claims[:middle], self.documents, self.answer),
            VerifyBlock(self.claims[middle:], self.documents),
        )


@dataclass(frozen=True)
class Material:
    """The claims and texts of one interaction, by name.

    ``texts`` are the documents in the order of showing: passages ``"1"…"n"`` permuted, ``"A"``,
    ``"R"`` if there is a reference. ``best_first`` are the passages by the retriever's score where
    each has one, else by their rank in the log. Texts without words are in none of them: they are
    ``blank``, support nothing, and nobody is asked about them.
    """

    nonce: int
    question: str
    texts: Mapping[str, str]
    best_first: tuple[str, ...]
    claims: Mapping[str, str]
    instructions: str = field(repr=False)
    blank: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, interaction: Interaction, claims: Claims, order: PassageOrder, instructions: str
    ) -> Material:
        """The material of an interaction whose claims are known."""
        named = [(f"c{i}", claim) for i, claim in enumerate(claims.response, 1)]
        named += [(f"r{i}", claim) for i, claim in enumerate(claims.reference, 1)]
        every = parsing.documents(
            interaction.interaction_id,
            [passage.text for passage in interaction.retrieved_contexts],
            interaction.response,
            interaction.reference,
            order,
        )
        texts = {name: text for name, text in every.items() if parsing.has_words(text)}
        ranked = _best_first(interaction.retrieved_contexts)
        return cls(
            nonce=parsing.nonce(interaction.interaction_id),
            question=interaction.user_input,
            texts=texts,
            best_first=tuple(name for name in ranked if name in texts),
            claims=dict(named),
            instructions=instructions,
            blank=tuple(name for name in every if name not in texts),
        )

    @cached_property
    def passages(self) -> tuple[str, ...]:
        """The passages' names in the order of showing."""
        return tuple(name for name in self.texts if name not in (RESPONSE, REFERENCE))

    @cached_property
    def joined(self) -> str:
        """The name of all passages as one document, which ``texts`` does not list."""
        return str(1 + len(self.passages) + sum(map(str.isdigit, self.blank)))

    def of_text(self, own: str) -> tuple[str, ...]:
        """The ids of the claims that come from a text, ``A`` or ``R``."""
        return self._of_texts[own]

    @cached_property
    def _of_texts(self) -> Mapping[str, tuple[str, ...]]:
        return {
            own: tuple([claim for claim in self.claims if claim.startswith(letter)])
            for own, letter in ((RESPONSE, "c"), (REFERENCE, "r"))
        }

    def request(self, block: VerifyBlock, joined: str = "") -> VerifyRequest:
        """The message of a block; ``joined`` is the text under the name of that document."""
        texts = [joined if name == self.joined else self.texts[name] for name in block.documents]
        whole = {RESPONSE: parsing.ADDRESSES} if block.answer else {}
        return VerifyRequest(
            nonce=self.nonce,
            question=self.question,
            # By the block's names only: a copy of all texts for each call would be quadratic.
            documents=dict(zip(block.documents, texts, strict=True)),
            claims={claim: self.claims[claim] for claim in block.claims} | whole,
        )

    @cached_property
    def fixed_tokens(self) -> int:
        """What every verify call costs before its documents and claims, by estimate."""
        return instruction_tokens(self.instructions) + estimated_tokens(self.question) + 40

    def room(self, caps: Caps) -> int:
        """Tokens of the budget for the documents and claims of one call, by estimate.

        An eighth of it at least: a question that leaves less would else be sent again with every
        single claim and document.
        """
        return max(caps.prompt_tokens - self.fixed_tokens, caps.prompt_tokens // 8)

    def claim_tokens(self, claim: str) -> int:
        """Of one claim in the message, by estimate."""
        return estimated_tokens(self.claims[claim]) + _PER_ENTRY

    @property
    def answer_tokens(self) -> int:
        """Of asking whether the response addresses the question, by estimate."""
        return estimated_tokens(parsing.ADDRESSES) + _PER_ENTRY

    def document_tokens(self, name: str) -> int:
        """Of one document in the message, by estimate."""
        return estimated_tokens(self.texts[name]) + _PER_ENTRY


def estimated_tokens(text: str) -> int:
    """Tokens of a text, by estimate: three bytes of UTF-8 each.

    No model's own count: a fourth too many for English prose, about right for Chinese, code and
    tables. A budget has to hold for every model.

    >>> estimated_tokens("four words of English"), estimated_tokens("中文")
    (7, 2)
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // 3)


# Every judgement counts the same few texts of some kilobytes several times.
@lru_cache(maxsize=64)
def instruction_tokens(text: str) -> int:
    """The same of instructions: never of a text of traffic, for it is kept."""
    return estimated_tokens(text)


def packed(
    items: Iterable[_T], tokens: Callable[[_T], int], at_most: int, budget: int
) -> list[tuple[_T, ...]]:
    """Groups in the order given, each of at most so many items and tokens; a large item is alone.

    >>> packed([3, 3, 5, 9, 1], lambda item: item, at_most=2, budget=8)
    [(3, 3), (5,), (9,), (1,)]
    """
    groups: list[list[_T]] = []
    left = 0
    for item in items:
        cost = tokens(item)
        if not groups or len(groups[-1]) == at_most or cost > left:
            groups.append([])
            left = budget
        groups[-1].append(item)
        left -= cost
    return [tuple(group) for group in groups]


def merged(answers: Iterable[Mapping[str, ClaimVerdict]]) -> dict[str, ClaimVerdict]:
    """One verdict a claim from the replies to several blocks, which ask no pair twice."""
    supported: dict[str, dict[str, bool]] = {}
    together: dict[str, bool] = {}
    for reply in answers:
        for claim, verdict in reply.items():
            supported.setdefault(claim, {}).update(verdict.supported)
            together[claim] = together.get(claim, False) or verdict.together
    return {
        claim: ClaimVerdict(documents, together[claim]) for claim, documents in supported.items()
    }


def by_context(verdict: ClaimVerdict) -> bool:
    """Whether passages support the claim: one of them, all as one document, or several."""
    texts = (RESPONSE, REFERENCE)
    alone = (held for name, held in verdict.supported.items() if name not in texts)
    return any(alone) or verdict.together


def _best_first(passages: Sequence[Passage]) -> tuple[str, ...]:
    ranks = range(len(passages))
    scores = [passage.score for passage in passages if passage.score is not None]
    if len(scores) == len(passages):
        ranks_by_score = sorted(ranks, key=lambda j: (-scores[j], j))
        return tuple(str(j + 1) for j in ranks_by_score)
    return tuple(str(j + 1) for j in ranks)
