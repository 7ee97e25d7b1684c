"""Asks the blocks of a plan, halves what does not fit a reply, and merges the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.errors import ReplyRejected
from monitor.judge.asking import Asker, at_once
from monitor.judge.material import Block, Caps, Material, by_context, merged
from monitor.judge.parsing import ClaimVerdict
from monitor.judge.plans import Plan, Planner, together
from monitor.judge.protocol import Bill

Answers = Mapping[str, ClaimVerdict]
"""By claim id; every document that the claim was asked against, or equals, is in it."""


class Verifier:
    """Verdicts on given claims."""

    def __init__(self, asker: Asker, planner: Planner, caps: Caps) -> None:
        self._asker, self._planner, self._caps = asker, planner, caps

    async def against_each(self, material: Material, spent: Bill) -> tuple[Plan, Answers]:
        """The plan for this material and what it found; raises ``JudgeFailed``."""
        plan = self._planner(material, self._caps)
        found = await self._all(material, plan.blocks, spent, plan.joined)
        return plan, plan.spread(found)

    async def together(
        self, material: Material, plan: Plan, found: Answers, spent: Bill
    ) -> Answers:
        """The answers, with those on the context as a whole, where the plan has not asked that."""
        blocks = together(material, self._caps, plan.blocks, found)
        more = await self._all(material, blocks, spent)
        return merged([found, {claim: _as_together(more[claim]) for claim in more}])

    async def _all(
        self, material: Material, blocks: Iterable[Block], spent: Bill, joined: str = ""
    ) -> Answers:
        jobs = (self._block(material, block, spent, joined) for block in blocks)
        return merged(await at_once(*jobs))

    async def _block(self, material: Material, block: Block, spent: Bill, joined: str) -> Answers:
        """The answers of one block; if the reply was cut, those of its halves."""
        request = material.request(block, joined)
        try:
            return await self._asker.ask(request, spent, divisible=len(block.claims) > 1)
        except ReplyRejected as rejected:
            self._asker.observe.retried(rejected.reason)
        return await self._all(material, block.halves(), spent, joined)


def _as_together(verdict: ClaimVerdict) -> ClaimVerdict:
    """A verdict on all passages, which says nothing more about each of them alone."""
    return ClaimVerdict({}, together=by_context(verdict))
