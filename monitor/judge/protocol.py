"""What every judge must do; the LLM judge and the offline judge pass one contract suite."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from monitor.judge.allowance import Allowance
from monitor.judge.manner import Manner
from monitor.records import Interaction, JudgeIdentity, Judgement, Usage


@dataclass(slots=True)
class CostMeter:
    """The running cost of one judgement, right at any moment.

    ``models`` is who answered last, by task of the wire format. ``judgement`` is the one that has
    all its verdicts and lacks only its evidence: whoever has no more time for that has it here.
    ``unasked``: a call about evidence has failed, so that some of it is unverified for no fault of
    the verdicts; the next judgement may well have it. ``allowance`` is how much may be asked.
    ``refused`` counts replies that broke the wire format, by kind of ``Complaint``. ``manner`` is
    the last one in which the judge was asked: it may go on to another in the middle of it.
    ``number`` is that of the model that judges, in order of preference, where there are several;
    ``following`` is how many may be asked after it.
    """

    usage: Usage = field(default_factory=Usage)
    models: dict[str, str] = field(default_factory=dict)
    judgement: Judgement | None = None
    unasked: bool = False
    allowance: Allowance = field(default_factory=Allowance)
    refused: Counter[str] = field(default_factory=Counter)
    manner: Manner = Manner.FIXED
    number: int | None = None
    following: int = 0

    def add(self, usage: Usage | None) -> None:
        """One more attempt has been paid for."""
        self.usage += usage or Usage()


class Judge(Protocol):
    """Splits texts into claims and says which text supports which claim."""

    @property
    def identity(self) -> JudgeIdentity:
        """The identity as last known: the model id is what the provider last returned."""

    async def prepare(self) -> None:
        """Load what the first judgement would otherwise wait for, within its deadline."""

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        """All verdicts on one interaction.

        Raises ``JudgeFailed`` with a ``reason`` and the usage so far. It never guesses a verdict.
        Whoever cuts it short finds on ``cost_meter`` what it has cost until then.
        """

    async def aclose(self) -> None:
        """Give back connections."""
