"""What is measured: a judge that can be given the claims, and shown passages in another order."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Protocol

from monitor.judge.llm.judge import LlmJudge
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.offline.overlap import Scores
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.pipeline.parsing import passage_order
from monitor.judge.protocol import CostMeter
from monitor.judge.verifier import VerifierJudge
from monitor.judge_check.cases import AskedPairs
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement


class Subject(Protocol):
    """One judge in one pipeline. All methods raise ``JudgeFailed``."""

    @property
    def name(self) -> str:
        """The pipeline."""

    @property
    def identity(self) -> JudgeIdentity:
        """As last known."""

    async def verify(
        self,
        interaction: Interaction,
        claims: Claims,
        cost_meter: CostMeter,
        seen: AskedPairs,
        *,
        seed: int = 0,
    ) -> Judgement:
        """The verdicts on these claims; nothing is extracted.

        ``seen`` hears the messages that are sent for them, if any. ``seed`` chooses the order in
        which passages are shown; 0 is that of production.
        """

    async def judge(self, interaction: Interaction, cost_meter: CostMeter) -> Judgement:
        """As in production: with the judge's own claims."""

    async def scores(self, interaction: Interaction, claims: Claims) -> Scores | None:
        """What the verdicts hang on, where the judge knows more than yes or no."""

    def order(self, interaction_id: str, passages: int, seed: int) -> Sequence[int]:
        """In which order passages are shown; empty where order means nothing."""

    async def prepare(self) -> None:
        """Load what the first judgement would otherwise wait for."""

    async def aclose(self) -> None:
        """Give back connections."""


class OfflineSubject:
    """A judge without a model of a server: one pipeline, no messages, no order, but scores."""

    def __init__(self, judge: OfflineJudge | VerifierJudge) -> None:
        self._judge = judge
        self.name = judge.identity.pipeline

    @property
    def identity(self) -> JudgeIdentity:
        """The same from the first call to the last."""
        return self._judge.identity

    async def verify(
        self,
        interaction: Interaction,
        claims: Claims,
        cost_meter: CostMeter,
        seen: AskedPairs,
        *,
        seed: int = 0,
    ) -> Judgement:
        """The verdicts on these claims; no message is sent."""
        return await self._judge.judge(interaction, cost_meter, claims)

    async def judge(self, interaction: Interaction, cost_meter: CostMeter) -> Judgement:
        """With its own claims."""
        return await self._judge.judge(interaction, cost_meter)

    async def scores(self, interaction: Interaction, claims: Claims) -> Scores | None:
        """By how much of a claim the texts say; None where the judgement holds its scores."""
        if isinstance(self._judge, VerifierJudge):
            return None
        return await self._judge.scores(interaction, claims)

    def order(self, interaction_id: str, passages: int, seed: int) -> Sequence[int]:
        """None: it scores each passage alone."""
        return ()

    async def prepare(self) -> None:
        """Load the verifier's model, if there is one."""
        await self._judge.prepare()

    async def aclose(self) -> None:
        """Nothing to give back."""


#: Whose messages are being sent: tasks that a judgement starts inherit it.
_SEEN: ContextVar[AskedPairs | None] = ContextVar("seen", default=None)


def _hear(message: str) -> None:
    seen = _SEEN.get()
    if seen is not None:
        seen.hear(message)


class LlmSubject:
    """A language model in one pipeline; one judge for every passage order."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._judges: dict[int, LlmJudge] = {}
        self.name: str = settings.pipeline

    @property
    def identity(self) -> JudgeIdentity:
        """With the model that answered last."""
        return self._with(0).identity

    async def verify(
        self,
        interaction: Interaction,
        claims: Claims,
        cost_meter: CostMeter,
        seen: AskedPairs,
        *,
        seed: int = 0,
    ) -> Judgement:
        """The verdicts on these claims; ``seen`` hears where each pair stands in its message."""
        before = _SEEN.set(seen)
        try:
            return await self._with(seed).judge(interaction, cost_meter, claims)
        finally:
            _SEEN.reset(before)

    async def judge(self, interaction: Interaction, cost_meter: CostMeter) -> Judgement:
        """With its own claims."""
        return await self._with(0).judge(interaction, cost_meter)

    async def scores(self, interaction: Interaction, claims: Claims) -> Scores | None:
        """None: where it says more than yes or no, its judgement holds that."""
        return None

    def order(self, interaction_id: str, passages: int, seed: int) -> Sequence[int]:
        """The judge's own permutation."""
        return passage_order(interaction_id, passages, seed)

    async def prepare(self) -> None:
        """Import the client library."""
        await self._with(0).prepare()

    async def aclose(self) -> None:
        """Close the client library's connections."""
        for judge in self._judges.values():
            await judge.aclose()

    def _with(self, seed: int) -> LlmJudge:
        if seed not in self._judges:
            settings = replace(self._settings, order_seed=seed)
            self._judges[seed] = LlmJudge(settings, listen=_hear)
        return self._judges[seed]
