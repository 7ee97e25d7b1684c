"""Asks the blocks of a plan, halves what gets no readable reply, and merges the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from monitor.errors import ReplyRejected, TooLarge
from monitor.judge.pipeline.asking import Asker, at_once, failure, parts
from monitor.judge.pipeline.material import Caps, Material, VerifyBlock, by_context, merged
from monitor.judge.pipeline.parsing import ClaimVerdict
from monitor.judge.pipeline.plans import Planner, VerifyPlan, together
from monitor.judge.protocol import CostMeter

ClaimVerdicts = Mapping[str, ClaimVerdict]
"""By claim id; every document that the claim was asked against, or equals, is in it."""


class Verifier:
    """Verdicts on given claims."""

    def __init__(self, asker: Asker, planner: Planner, caps: Caps) -> None:
        self._asker, self._planner, self.caps = asker, planner, caps

    def plan(self, material: Material, claims: int | None = None) -> VerifyPlan:
        """What is to be asked about this material, with so many claims a call if not as usual."""
        caps = self.caps if claims is None else replace(self.caps, claims=claims)
        return self._planner(material, caps)

    async def against_each(
        self, material: Material, plan: VerifyPlan, spent: CostMeter
    ) -> ClaimVerdicts:
        """What the plan for this material has found; raises ``JudgeFailed``.

        A blank document supports no claim, and is in no plan.
        """
        found = await self._all(material, plan.blocks, spent, plan.joined)
        blank = ClaimVerdict(dict.fromkeys(material.blank, False), together=False)
        of_blank = dict.fromkeys(material.claims, blank) if material.blank else {}
        return merged([plan.spread(found), of_blank])

    async def together(
        self, material: Material, plan: VerifyPlan, found: ClaimVerdicts, spent: CostMeter
    ) -> ClaimVerdicts:
        """The answers, with those on the context as a whole, where the plan has not asked that."""
        blocks = together(material, plan, found)
        more = await self._all(material, blocks, spent)
        return merged([found, {claim: _as_together(more[claim]) for claim in more}])

    async def _all(
        self,
        material: Material,
        blocks: Iterable[VerifyBlock],
        spent: CostMeter,
        joined: str = "",
    ) -> ClaimVerdicts:
        jobs = (self._block(material, block, spent, joined, planned=True) for block in blocks)
        return merged(await at_once(*jobs))

    async def _block(
        self,
        material: Material,
        block: VerifyBlock,
        spent: CostMeter,
        joined: str,
        *,
        planned: bool,
    ) -> ClaimVerdicts:
        """The answers of one block; after a reply that could not be read, those of its halves."""
        request, several = material.request(block, joined), len(block.claims) > 1
        try:
            return await self._asker.ask(
                request, spent, divisible=several, separable=several, planned=planned
            )
        except ReplyRejected as rejected:
            refused = rejected
        self._asker.observe.retried(refused.reason)
        halves = (
            self._block(material, half, spent, joined, planned=False) for half in block.halves()
        )
        try:
            return merged(await parts(refused, *halves))
        except TooLarge:
            raise failure(request, refused) from refused


def _as_together(verdict: ClaimVerdict) -> ClaimVerdict:
    """A verdict on all passages, which says nothing more about each of them alone."""
    return ClaimVerdict({}, together=by_context(verdict))
