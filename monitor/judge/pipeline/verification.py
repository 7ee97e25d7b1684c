"""Asks the blocks of a plan, halves what does not fit a reply, and merges the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.errors import JudgeFailed, ReplyRejected, TooLarge
from monitor.judge.pipeline.asking import Asker, at_once
from monitor.judge.pipeline.material import Caps, Material, VerifyBlock, by_context, merged
from monitor.judge.pipeline.parsing import ClaimVerdict
from monitor.judge.pipeline.plans import Planner, VerifyPlan, together
from monitor.judge.protocol import CostMeter

Answers = Mapping[str, ClaimVerdict]
"""By claim id; every document that the claim was asked against, or equals, is in it."""


class Verifier:
    """Verdicts on given claims."""

    def __init__(self, asker: Asker, planner: Planner, caps: Caps) -> None:
        self._asker, self._planner, self._caps = asker, planner, caps

    def plan(self, material: Material) -> VerifyPlan:
        """What is to be asked about this material."""
        return self._planner(material, self._caps)

    async def against_each(self, material: Material, plan: VerifyPlan, spent: CostMeter) -> Answers:
        """What the plan for this material has found; raises ``JudgeFailed``.

        A blank document supports no claim, and is in no plan.
        """
        found = await self._all(material, plan.blocks, spent, plan.joined)
        blank = ClaimVerdict(dict.fromkeys(material.blank, False), together=False)
        of_blank = dict.fromkeys(material.claims, blank) if material.blank else {}
        return merged([plan.spread(found), of_blank])

    async def together(
        self, material: Material, plan: VerifyPlan, found: Answers, spent: CostMeter
    ) -> Answers:
        """The answers, with those on the context as a whole, where the plan has not asked that."""
        blocks = together(material, self._caps, plan.blocks, found)
        more = await self._all(material, blocks, spent)
        return merged([found, {claim: _as_together(more[claim]) for claim in more}])

    async def _all(
        self,
        material: Material,
        blocks: Iterable[VerifyBlock],
        spent: CostMeter,
        joined: str = "",
        *,
        planned: bool = True,
    ) -> Answers:
        jobs = (self._block(material, block, spent, joined, planned=planned) for block in blocks)
        return merged(await at_once(*jobs))

    async def _block(
        self,
        material: Material,
        block: VerifyBlock,
        spent: CostMeter,
        joined: str,
        *,
        planned: bool,
    ) -> Answers:
        """The answers of one block; if the reply was cut, those of its halves."""
        request, several = material.request(block, joined), len(block.claims) > 1
        try:
            return await self._asker.ask(request, spent, divisible=several, planned=planned)
        except ReplyRejected as rejected:
            cut = rejected
        self._asker.observe.retried(cut.reason)
        try:
            return await self._all(material, block.halves(), spent, joined, planned=False)
        except TooLarge:
            raise JudgeFailed(f"{request.task}: {cut.complaint}", reason=cut.reason) from cut


def _as_together(verdict: ClaimVerdict) -> ClaimVerdict:
    """A verdict on all passages, which says nothing more about each of them alone."""
    return ClaimVerdict({}, together=by_context(verdict))
