"""What every judge must do; the LLM judge and the offline judge pass one contract suite."""

from __future__ import annotations

from typing import Protocol

from monitor.records import Interaction, JudgeIdentity, Judgement


class Judge(Protocol):
    """Splits texts into claims and says which text supports which claim."""

    @property
    def identity(self) -> JudgeIdentity:
        """The identity as last known: the model id is what the provider last returned."""

    async def prepare(self) -> None:
        """Load what the first judgement would otherwise wait for, within its deadline."""

    async def judge(self, interaction: Interaction) -> Judgement:
        """All verdicts on one interaction.

        Raises ``JudgeFailed`` with a ``reason`` and the usage so far. It never guesses a verdict.
        """

    async def aclose(self) -> None:
        """Give back connections."""
