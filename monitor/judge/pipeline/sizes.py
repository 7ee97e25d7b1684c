"""What judging an interaction takes, before it is begun: by its texts, and by its claims. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from monitor.errors import TooLarge
from monitor.judge.ceiling import NOTHING, Demand
from monitor.judge.pipeline import plans
from monitor.judge.pipeline.material import Caps, Material, estimated_tokens, instruction_tokens
from monitor.judge.pipeline.parsing import ExtractRequest, VerifyRequest, has_words
from monitor.judge.pipeline.plans import Planner, VerifyPlan
from monitor.judge.pipeline.relating import RelevanceRequest
from monitor.judge.ports import Task
from monitor.records import Interaction

#: A judgement holds a verdict for every claim and passage, also for passages that nobody is asked
#: about since they are blank, or like another one; a tenth of a second's work on the event loop.
MOST_VERDICTS: Final = 100_000


def refuse_verdicts(claims: int, passages: int) -> None:
    """Raises ``TooLarge`` for more verdicts than a judgement may hold."""
    if claims * passages > MOST_VERDICTS:
        raise TooLarge(
            f"{claims:,} claims and {passages:,} passages make more than the {MOST_VERDICTS:,} "
            "verdicts that a judgement may hold"
        )


@dataclass(frozen=True)
class Sizes:
    """Of one judge: ``instructions`` are its longest for a task, ``verifies`` that of verification.

    None: verification asks no model.
    """

    instructions: Callable[[Task, int, int], str]
    planner: Planner
    caps: Caps
    verifies: Task | None = VerifyRequest.task

    def extraction(self, interaction: Interaction, texts: Iterable[str]) -> Demand:
        """Of the claims of these texts, each once."""
        fixed = self._fixed(ExtractRequest.task, interaction)
        asked = [fixed + estimated_tokens(text) for text in texts if has_words(text)]
        return Demand(len(asked), sum(asked))

    def least(self, interaction: Interaction) -> Demand:
        """Of any verification, before the claims are known: with one claim, and no plan made.

        Raises ``TooLarge`` for more passages than a judgement may hold verdicts.
        """
        refuse_verdicts(1, len(interaction.retrieved_contexts))
        if self.verifies is None:
            return NOTHING
        passages = [p.text for p in interaction.retrieved_contexts if has_words(p.text)]
        texts = [*passages, *filter(has_words, [interaction.response, interaction.reference or ""])]
        calls = max(1, plans.fewest(self.planner, self.caps, passages))
        # Each is shown once at least; of equal ones some pipelines show one.
        shown = sum(map(estimated_tokens, texts if self.planner is plans.joint else set(texts)))
        return Demand(calls, shown + calls * self._fixed(self.verifies, interaction))

    def whole(self, material: Material, plan: VerifyPlan) -> Demand:
        """Of a plan and all that follows from it in any case."""
        return NOTHING if self.verifies is None else plans.demand(material, plan)

    def relevance(self, requests: Iterable[RelevanceRequest]) -> Demand:
        """Of what is asked beside a plan."""
        found = NOTHING
        for request in requests:
            before = self.instructions(RelevanceRequest.task, len(request.documents), 1)
            system = instruction_tokens(before)
            found += Demand(1, system + estimated_tokens(request.message()))
        return found

    def _fixed(self, task: Task, interaction: Interaction) -> int:
        before = self.instructions(task, len(interaction.retrieved_contexts), 1)
        return instruction_tokens(before) + estimated_tokens(interaction.user_input)
