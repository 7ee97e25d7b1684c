"""What is measured: a judge that can be given the claims, and shown passages in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from monitor.checking.cases import Seen
from monitor.judge.offline import OfflineJudge
from monitor.judge.overlap import Scores
from monitor.judge.protocol import Bill
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement


class Verified(NamedTuple):
    """The verdicts on given claims; ``seen`` is None for a judge that sends no messages."""

    judgement: Judgement
    seen: Seen | None


class Subject(Protocol):
    """One judge in one pipeline. All methods raise ``JudgeFailed``."""

    @property
    def name(self) -> str:
        """The pipeline."""

    @property
    def identity(self) -> JudgeIdentity:
        """As last known."""

    async def verify(
        self, interaction: Interaction, claims: Claims, bill: Bill, *, seed: int = 0
    ) -> Verified:
        """The verdicts on these claims; nothing is extracted.

        ``seed`` chooses the order in which passages are shown; 0 is that of production.
        """

    async def judge(self, interaction: Interaction, bill: Bill) -> Judgement:
        """As in production: with the judge's own claims."""

    async def scores(self, interaction: Interaction, claims: Claims) -> Scores | None:
        """What the verdicts hang on, where the judge knows more than yes or no."""

    def order(self, interaction_id: str, passages: int, seed: int) -> Sequence[int]:
        """In which order passages are shown; empty where order means nothing."""


class OfflineSubject:
    """The judge without a model: one pipeline, no messages, no order, but scores."""

    def __init__(self, judge: OfflineJudge) -> None:
        self._judge = judge
        self.name = "offline"

    @property
    def identity(self) -> JudgeIdentity:
        """The same from the first call to the last."""
        return self._judge.identity

    async def verify(
        self, interaction: Interaction, claims: Claims, bill: Bill, *, seed: int = 0
    ) -> Verified:
        """The verdicts on these claims."""
        return Verified(await self._judge.judge(interaction, bill, claims), None)

    async def judge(self, interaction: Interaction, bill: Bill) -> Judgement:
        """With its own claims."""
        return await self._judge.judge(interaction, bill)

    async def scores(self, interaction: Interaction, claims: Claims) -> Scores:
        """By how much of a claim the texts say."""
        return await self._judge.scores(interaction, claims)

    def order(self, interaction_id: str, passages: int, seed: int) -> Sequence[int]:
        """None: it scores each passage alone."""
        return ()
