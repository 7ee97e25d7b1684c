"""Models in the order of preference: where one does not judge an interaction, the next one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from monitor.errors import JudgeFailed, TooLarge
from monitor.judge.limits.limits import chosen
from monitor.judge.manner import Manner
from monitor.judge.pipeline.asking import TOO_LONG
from monitor.judge.protocol import CostMeter, Judge
from monitor.judge.provider.faults import CallFailed
from monitor.records import Interaction, JudgeIdentity, Judgement
from monitor.runtime.logs import logger


class FallbackJudge:
    """A ``Judge`` of several, each with an identity of its own that stands on its judgements.

    It begins with the one that the limits have admitted. The next is asked when a provider gives
    no reply, does not want to judge this interaction, or finds it too long; not when a model's
    replies make no sense: those are counted, and not hidden. One that ``is_aside`` is not the next.
    """

    def __init__(
        self, judges: Sequence[Judge], is_aside: Callable[[int], bool] = lambda _number: False
    ) -> None:
        self.judges, self._is_aside = tuple(judges), is_aside

    @property
    def identity(self) -> JudgeIdentity:
        """That of the preferred one."""
        return self.judges[0].identity

    async def prepare(self) -> None:
        """Prepare all."""
        for judge in self.judges:
            await judge.prepare()

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        """The judgement of the first that gives one; raises the last one's ``JudgeFailed``."""
        spent = cost_meter or CostMeter()
        first = chosen()
        others = range(first + 1, len(self.judges))
        left = (first, *(number for number in others if not self._is_aside(number)))
        why: JudgeFailed | None = None
        for following, number in zip(reversed(range(len(left))), left, strict=True):
            judge = self.judges[number]
            spent.number, spent.following = number, following
            try:
                judgement = await judge.judge(interaction, spent)
            except TooLarge:
                if why is None:
                    raise
                raise why from None  # it would take what the other has used up
            except JudgeFailed as failure:
                if not following or not _is_the_models(failure):
                    raise
                logger().info(
                    "judge_fell_back",
                    interaction_id=interaction.interaction_id,
                    reason=failure.reason,
                    model=judge.identity.model,
                )
                # What the other one is, and how it was asked, says nothing of the next.
                spent.models.clear()
                spent.manner = Manner.FIXED
                why = failure
            else:
                return judgement.model_copy(update={"usage": spent.usage})
        raise AssertionError("the last judge returns or raises")

    async def aclose(self) -> None:
        """Close all."""
        for judge in self.judges:
            await judge.aclose()


def _is_the_models(failure: JudgeFailed) -> bool:
    return isinstance(failure, CallFailed) or failure.reason == TOO_LONG
