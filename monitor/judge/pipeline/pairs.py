"""The pipeline ``pairs``: one claim, one document, one probability; for small and local judges.

Small models read one pair well and a batch badly. What says how probable it is that a document
supports a claim is a ``PairJudge``: a model that answers yes or no (``AskedModel``), or a function
of one's own. A probability becomes a verdict only through the threshold.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol

from monitor.judge.pipeline.asking import Asker, at_once
from monitor.judge.pipeline.material import Caps, Material, VerifyBlock
from monitor.judge.pipeline.pairing import THRESHOLD, PairRequest
from monitor.judge.pipeline.parsing import ClaimVerdict
from monitor.judge.pipeline.plans import VerifyPlan, together
from monitor.judge.pipeline.prompts import Prompts
from monitor.judge.ports import CallObserver, Complete, Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.records import Probabilities

#: The name of all passages as one document, among the probabilities of a claim.
TOGETHER: Final = "+"
#: Whether each claim of the response is asked about with all passages as one text, too. No verdict
#: needs that of one that a single passage supports; who learns the threshold needs it of all, as
#: by a higher one that passage alone would not.
WEIGHS_ALL: Final = ContextVar("WEIGHS_ALL", default=False)


class PairJudge(Protocol):
    """What says how probable it is that documents support claims."""

    def probabilities(
        self, requests: Sequence[PairRequest], spent: CostMeter
    ) -> Awaitable[Sequence[float]]:
        """One number from 0 to 1 for each pair, in order; raises ``JudgeFailed``."""


@dataclass(frozen=True, slots=True)
class WeighedVerdict(ClaimVerdict):
    """A claim's answers, with the probabilities that they hang on, by document."""

    probabilities: Mapping[str, float] = field(default_factory=dict)


class AskedModel:
    """A ``PairJudge`` that asks a model, one call a pair.

    The probability is that of the word yes against no, where the server tells it; else the word
    alone counts, as 1 or 0.
    """

    def __init__(
        self, complete: Complete, prompts: Prompts, observe: CallObserver | None = None
    ) -> None:
        self._complete, self._prompts, self._observe = complete, prompts, observe

    async def probabilities(
        self, requests: Sequence[PairRequest], spent: CostMeter
    ) -> Sequence[float]:
        """Each pair by a call of its own."""
        return await at_once(*(self._asked(request, spent) for request in requests))

    async def _asked(self, request: PairRequest, spent: CostMeter) -> float:
        replies: list[Reply] = []

        async def captured(task: Task, system: str, user: str, terms: Terms) -> Reply:
            replies.append(await self._complete(task, system, user, terms))
            return replies[-1]

        answer = await Asker(captured, self._prompts, self._observe).ask(request, spent)
        probability = replies[-1].yes
        return float(answer) if probability is None else probability


class PairVerifier:
    """Verdicts on given claims, pair by pair; in the place of ``Verifier``.

    ``asks``: each pair is a call to a model, and counts against the ceiling.
    """

    def __init__(
        self, judge: PairJudge, caps: Caps, threshold: float = THRESHOLD, *, asks: bool = True
    ) -> None:
        self._judge, self._threshold = judge, threshold
        self.task: Task | None = PairRequest.task if asks else None
        self.caps = Caps(claims=1, passages=caps.passages, prompt_tokens=caps.prompt_tokens)

    def plan(self, material: Material, claims: int | None = None) -> VerifyPlan:
        """What is to be asked about this material, with one claim a call whatever is wanted."""
        return pairs(material, self.caps)

    async def against_each(
        self, material: Material, plan: VerifyPlan, spent: CostMeter
    ) -> Mapping[str, WeighedVerdict]:
        """What the plan for this material has found; raises ``JudgeFailed``.

        A blank document supports no claim, and nobody is asked about it.
        """
        found: dict[str, dict[str, float]] = {claim: {} for claim in material.claims}
        for block, probability in await self._weighed(material, plan.blocks, spent):
            found[block.claims[0]][block.documents[0]] = probability
        for probabilities in found.values():
            probabilities |= {
                name: probabilities[asked] for name, asked in plan.documents_as.items()
            }
        return {
            claim: self._verdict(probabilities, material.blank)
            for claim, probabilities in found.items()
        }

    async def together(
        self,
        material: Material,
        plan: VerifyPlan,
        found: Mapping[str, ClaimVerdict],
        spent: CostMeter,
    ) -> Mapping[str, ClaimVerdict]:
        """The answers, with those on all passages as one text where none of them supports alone."""
        alone_none = dict.fromkeys(found, ClaimVerdict({}, together=False))
        blocks = together(material, plan, alone_none if WEIGHS_ALL.get() else found)
        whole = dict(found)
        for block, probability in await self._weighed(material, blocks, spent):
            alone = found[block.claims[0]]
            whole[block.claims[0]] = WeighedVerdict(
                alone.supported,
                probability >= self._threshold,
                {**_weights(alone), TOGETHER: probability},
            )
        return whole

    async def _weighed(
        self, material: Material, blocks: Sequence[VerifyBlock], spent: CostMeter
    ) -> Iterable[tuple[VerifyBlock, float]]:
        requests = [_request(material, block) for block in blocks]
        found = await self._judge.probabilities(requests, spent) if requests else ()
        return zip(blocks, found, strict=True)

    def _verdict(self, probabilities: Mapping[str, float], blank: Iterable[str]) -> WeighedVerdict:
        supported = {
            name: probability >= self._threshold for name, probability in probabilities.items()
        }
        return WeighedVerdict({**supported, **dict.fromkeys(blank, False)}, False, probabilities)


def pairs(material: Material, caps: Caps) -> VerifyPlan:
    """Every claim against every document, one pair a call; equal documents are asked about once.

    All pairs of a document stand beside each other: they share the beginning of their prompts.
    """
    first: dict[str, str] = {}
    equal = {name: first.setdefault(text, name) for name, text in material.texts.items()}
    return VerifyPlan(
        blocks=tuple(
            VerifyBlock((claim,), (name,))
            for name, kept in equal.items()
            if name == kept
            for claim in material.claims
        ),
        caps=caps,
        documents_as={name: kept for name, kept in equal.items() if kept != name},
    )


def probabilities(answers: Mapping[str, ClaimVerdict]) -> Probabilities:
    """By claim and document what the verdicts hang on; empty where the judge says yes or no."""
    return {
        claim: {name: round(value, 4) for name, value in weights.items()}
        for claim, weights in ((claim, _weights(verdict)) for claim, verdict in answers.items())
        if weights
    }


def _weights(verdict: ClaimVerdict) -> Mapping[str, float]:
    return verdict.probabilities if isinstance(verdict, WeighedVerdict) else {}


def _request(material: Material, block: VerifyBlock) -> PairRequest:
    """Passages together are joined in the order of the log, as ragas joins them."""
    names = sorted(block.documents, key=int) if len(block.documents) > 1 else block.documents
    document = "\n".join(material.texts[name] for name in names)
    return PairRequest(material.question, document, material.claims[block.claims[0]])
