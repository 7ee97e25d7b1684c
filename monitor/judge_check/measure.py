"""Run a judge over labelled interactions: verify the labelled claims, then judge as in production.

Interactions are judged next to each other, at most ``concurrency`` at a time, each within a
deadline. A judgement that fails is counted by its reason and left out: never guessed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from monitor.errors import DependencyRefused, JudgeFailed
from monitor.judge.pipeline.complaints import of_calls
from monitor.judge.pipeline.pairs import WEIGHS_ALL
from monitor.judge.protocol import CostMeter
from monitor.judge_check.cases import AskedPairs, weighed
from monitor.judge_check.labelled import Labelled
from monitor.judge_check.run import CheckCost, CheckRun, MeasuredInteraction
from monitor.judge_check.subject import Subject
from monitor.metrics.relevance import labelled as with_labels
from monitor.records import Judgement

#: Of so many seeds the first are taken that give an order not seen before: two passages have one.
_SEEDS = 64

#: After so many failures and no answer nobody needs to wait for the rest.
_ENOUGH_TRIED = 16


@dataclass(frozen=True, slots=True)
class Options:
    """``orders``: how many other passage orders; ``extraction``: whether to judge as in production.

    ``deadline_s`` is of one judgement. Where ``labels_win``, the files' labels of relevance outdo
    what follows from the reference, for judge and labels alike. ``scores_all``: the verification
    has the scores that the verdicts would hang on by any threshold.
    """

    concurrency: int = 8
    deadline_s: float = 60.0
    orders: int = 0
    extraction: bool = True
    labels_win: bool = False
    scores_all: bool = False


async def measure(
    subject: Subject,
    labelled: Sequence[Labelled],
    options: Options,
    clock: Callable[[], float],
    done: Callable[[], None] = lambda: None,
) -> CheckRun:
    """The run; ``clock`` gives seconds, ``done`` is called after each interaction.

    Raises ``DependencyRefused`` for a judge that answers nothing.
    """
    run, begun = CheckRun(subject.name, subject.identity), clock()
    places = asyncio.Semaphore(options.concurrency)

    async def one(about: Labelled) -> MeasuredInteraction:
        async with places:
            if _answers_nothing(run.verifying, _ENOUGH_TRIED):
                return MeasuredInteraction(about)
            found = await _InteractionJudgements(subject, run, about, options, clock).measured()
        done()
        return found

    run.measured = list(await asyncio.gather(*map(one, labelled)))
    if _answers_nothing(run.verifying, 1):
        failed = run.verifying.failed
        reason, n = failed.most_common(1)[0]
        wrong = of_calls(run.verifying.refused, run.verifying.usage.calls)
        raise DependencyRefused(
            f"the judge answers nothing: {n} of {failed.total()} times {reason}"
            + (f"; {wrong}; see judge.structured" if wrong else "")
        )
    run.wall_s, run.judge = clock() - begun, subject.identity
    return run


def _answers_nothing(cost: CheckCost, least: int) -> bool:
    """Whether so many judgements have been tried and all have failed."""
    return cost.failed.total() == cost.judgements >= least


def other_seeds(subject: Subject, about: Labelled, orders: int) -> list[int]:
    """Seeds of as many orders, none of them the usual one or each other's; fewer if there are."""
    passages = len(about.interaction.retrieved_contexts)
    met = [_shown(subject, about, passages, 0)]
    seeds: list[int] = []
    for seed in range(1, _SEEDS + 1):
        shown = _shown(subject, about, passages, seed)
        if len(seeds) < orders and shown not in met:
            met.append(shown)
            seeds.append(seed)
    return seeds


def _shown(subject: Subject, about: Labelled, passages: int, seed: int) -> list[int]:
    return list(subject.order(about.interaction.interaction_id, passages, seed))


def _of(about: Labelled, judgement: Judgement) -> Judgement:
    """The judgement, if it is one of the labelled claims."""
    if judgement.claims != about.claims:
        raise JudgeFailed("nothing to verify against", reason="not_judged")
    return judgement


class _InteractionJudgements:
    """The judgements of one interaction."""

    def __init__(
        self,
        subject: Subject,
        run: CheckRun,
        about: Labelled,
        options: Options,
        clock: Callable[[], float],
    ) -> None:
        self._subject, self._run, self._about = subject, run, about
        self._options, self._clock = options, clock
        self._found = MeasuredInteraction(about)

    async def measured(self) -> MeasuredInteraction:
        """Whatever could be found out."""
        if self._about.claims.response or self._about.claims.reference:
            await self._verify()
            await self._permute()
        if self._options.extraction and self._about.claims_complete:
            self._found.whole = await self._within(self._run.judging, self._whole)
        return self._found

    async def _verify(self) -> None:
        about, subject = self._about, self._subject

        async def ask(cost_meter: CostMeter) -> Judgement:
            before = WEIGHS_ALL.set(self._options.scores_all)
            try:
                verified = await subject.verify(
                    about.interaction, about.claims, cost_meter, self._found.seen
                )
            finally:
                WEIGHS_ALL.reset(before)
            self._found.scores = weighed(verified) or await subject.scores(
                about.interaction, about.claims
            )
            return _of(about, verified)

        self._found.verified = await self._within(self._run.verifying, ask)

    async def _permute(self) -> None:
        about, subject = self._about, self._subject
        if self._found.verified is None:
            return
        for seed in other_seeds(subject, about, self._options.orders):

            async def ask(cost_meter: CostMeter, seed: int = seed) -> Judgement:
                asked = about.interaction, about.claims
                return _of(about, await subject.verify(*asked, cost_meter, AskedPairs(), seed=seed))

            judgement = await self._within(self._run.permuting, ask)
            if judgement is not None:
                self._found.others.append(judgement)

    async def _whole(self, cost_meter: CostMeter) -> Judgement:
        return await self._subject.judge(self._about.interaction, cost_meter)

    async def _within(
        self, cost: CheckCost, ask: Callable[[CostMeter], Awaitable[Judgement]]
    ) -> Judgement | None:
        """The judgement with the file's labels of relevance, or None after counting why not.

        Its price is counted anyway. As in production, one that lacks only its evidence counts.
        """
        cost_meter, begun = CostMeter(), self._clock()
        found: Judgement | None = None
        try:
            async with asyncio.timeout(self._options.deadline_s):
                found = await ask(cost_meter)
        except JudgeFailed as failure:
            cost.failed[failure.reason] += 1
        except TimeoutError:
            found = cost_meter.judgement
            if found is None:
                cost.failed["deadline"] += 1
        finally:
            cost.usage += cost_meter.usage
            cost.refused += cost_meter.refused
            cost.seconds += self._clock() - begun
            cost.judgements += 1
        if found is None:
            return None
        passages = self._about.interaction.retrieved_contexts
        return with_labels(found, passages, labels_win=self._options.labels_win)
