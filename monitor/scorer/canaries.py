"""Canaries among the traffic: does the judge judge, or does it only answer?

Now and then, after a judgement, an interaction with known verdicts goes the same way, in a place
and within the limits and the money of any other. It is no traffic: it has no record and no outcome.
What follows from it says ``monitor.stats.guessing``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Final

from monitor.errors import JudgeFailed
from monitor.judge.canaries import KINDS, Canary, in_turn
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits, chosen
from monitor.judge.limits.provider_gate import ModelUnanswered
from monitor.judge.manner import WHOSE_TURN
from monitor.judge.pipeline.recheck_choice import Equal, MatrixKind
from monitor.judge.protocol import CostMeter
from monitor.records import JudgeIdentity, Judgement, Outcome, Reason
from monitor.runtime.logs import logger
from monitor.scorer.canary_pace import KNOWN, CanaryPace
from monitor.scorer.recheck import GRACE_S, AgreementTracker, SecondJudge
from monitor.scorer.score_records import JudgingResult
from monitor.scorer.yes_shares import YesShares
from monitor.stats.guessing import NEEDS_EXAMPLES, Guessing, after
from monitor.telemetry import CanaryTelemetry

#: Canaries that gauges are taken over: the latest ones.
LATEST: Final = 200
#: A version is shown until so many canaries in a row have gone to others: some come by turns.
TURNS: Final = 10
#: The latest judgements, which say who judges now.
LATELY: Final = 50
#: Of the places in which judgements run, so many times fewer may be canaries', and two at least:
#: while eight judgements end at once, two canaries would say too late that none of them is one.
FEWER: Final = 2
#: Judgements that run at once until something is known of who judges: of more so many would have
#: ended before canaries have said that none of them is one. And canaries that are waited for.
AT_FIRST: Final = 16
WAITED_FOR: Final = 30
#: Failures in which a model has replied, if with nothing that can be read.
UNREADABLE: Final = ("malformed_reply", "output_limit")


@dataclass(frozen=True)
class Asked:
    """One model of a judge: who is asked about canaries, and how it is called.

    ``identity`` gives the judge's name and version as of now. ``ask_for_shaped`` has it shown
    examples of the shape that is asked, and says whether that is new. ``answered`` says which
    version of the judge of the traffic has answered a canary.
    """

    judge: SecondJudge
    model: str
    identity: Callable[[], JudgeIdentity]
    ask_for_shaped: Callable[[], bool] = lambda: False
    answered: Callable[[Judgement, CostMeter], JudgeIdentity] = lambda found, _: found.judge


class FirstWord:
    """Whether canaries have said since the start that a model judges, or that it guesses.

    A restart forgets what was known. Until it is known anew, alerts hold what was known before:
    else a restart would end them.
    """

    def __init__(self, model: str, telemetry: CanaryTelemetry) -> None:
        self._gauge, self._answers = telemetry.unknown.part(model), 0
        self._gauge.set(1)
        self.is_said = False

    def heard(self, state: Guessing, kinds: GuessedKinds) -> None:
        """One more canary has led to this state."""
        self._answers += 1
        is_sure = self._answers >= KNOWN and not state.is_doubtful and kinds.are_sure
        if state.is_guessing or is_sure:
            self._gauge.set(0)
            self.is_said = True

    def forget(self) -> None:
        """It is another judge: what was not known is asked of that one."""
        self._answers = 0


class GuessedKinds:
    """The kinds of verdict that a model guesses, which may judge the others, as gauges.

    Each is tested as the whole is. It goes by model, and not by version: replies of two versions
    by turns are one judge.
    """

    def __init__(self, model: str, telemetry: CanaryTelemetry) -> None:
        self._model = model
        self._states: dict[MatrixKind, Guessing] = {}
        self._gauges = {kind: telemetry.guesses_kind.part(kind, model) for kind in KINDS}

    @property
    def are_sure(self) -> bool:
        """Whether something is known of each kind, and none is in doubt."""
        states = self._states
        return {*KINDS} <= {*states} and not any(one.is_doubtful for one in states.values())

    @property
    def any_is_guessed(self) -> bool:
        """Whether it guesses one, as far as is known."""
        return any(one.is_guessing for one in self._states.values())

    def learn(self, graded: Mapping[MatrixKind, Equal]) -> None:
        """One more canary, by kind."""
        for kind, found in graded.items():
            before = self._states.get(kind, Guessing())
            self._set(kind, before, after(before, found.equal, found.verdicts))

    def forget(self) -> None:
        """What it got wrong so far says nothing of it now."""
        for kind, before in self._states.items():
            self._set(kind, before, Guessing())
        self._states.clear()

    def _set(self, kind: MatrixKind, before: Guessing, state: Guessing) -> None:
        self._states[kind] = state
        self._gauges[kind].set(state.is_guessing)
        if state.is_guessing and not before.is_guessing:
            right, asked = (sum(column) for column in zip(*state.since, strict=True))
            found = {"kind": kind, "right": right, "verdicts": asked}
            logger().error("judge_guesses_kind", model=self._model, **found)
        elif before.is_guessing and not state.is_guessing:
            logger().warning("judge_guesses_kind_no_more", model=self._model, kind=kind)


class ShownVersions:
    """The accuracy of versions that judge, as gauges: what others got wrong is no news."""

    def __init__(self, telemetry: CanaryTelemetry, models: int) -> None:
        self._tracker = AgreementTracker(telemetry, LATEST)
        self._labels = [deque[str](maxlen=TURNS) for _ in range(models)]
        self._others = [0] * models

    def add(self, number: int, label: str, graded: Mapping[MatrixKind, Equal]) -> None:
        """One more canary of a model, of which this version has answered."""
        latest = self._labels[number]
        before = {*latest}
        latest.append(label)
        for gone in before - {*latest}:
            self._tracker.forget(gone)
        self._tracker.add(label, graded)
        self._others = [others + 1 for others in self._others]
        self._others[number] = 0

    def is_idle(self, number: int) -> bool:
        """Whether so many canaries in a row went to other models that it need not be shown."""
        return self._others[number] >= TURNS

    def forget(self, number: int) -> None:
        """All versions of a model."""
        for label in {*self._labels[number]}:
            self._tracker.forget(label)
        self._labels[number].clear()


class CanaryWatch:
    """The canaries of one judge: one in ``every`` judgements, more at its start and in doubt.

    ``models`` are in order of preference, those of ``limits``. Each is known for itself, and those
    in doubt that judge nothing now are asked seldom. With ``marks`` no traffic is judged by a model
    that guesses: others judge it, if there are any, else it is turned away. None is asked when the
    money is gone, as ``budget`` says. ``tell`` is told why whoever judges now does not judge, and
    None when all do. ``clock`` gives epoch seconds.
    """

    def __init__(
        self,
        every: int,
        models: Sequence[Asked],
        limits: Limits,
        telemetry: CanaryTelemetry,
        *,
        marks: bool = True,
        budget: Budget | None = None,
        tell: Callable[[str | None], None] = lambda _why: None,
        clock: Callable[[], float],
        rng: Random,
    ) -> None:
        self._models, self._limits, self._telemetry, self._marks = models, limits, telemetry, marks
        self._budget, self._tell, self._clock, self._rng = budget, tell, clock, rng
        self._shown = ShownVersions(telemetry, len(models))
        self._states = [Guessing() for _ in models]
        self._paces = [CanaryPace(every) for _ in models]
        self._kinds = [GuessedKinds(each.model, telemetry) for each in models]
        self._first = [FirstWord(each.model, telemetry) for each in models]
        self._shares = [YesShares(each.model, telemetry) for each in models]
        self._is_readable = [True for _ in models]
        self._lately = deque([0], maxlen=LATELY)
        self._canaries = in_turn(f"{rng.getrandbits(64):x}")
        self._tasks = set[asyncio.Task[None]]()
        limits.begin_with(AT_FIRST)
        self._ended_before = 0
        self._is_told = self._closed = False
        #: Another section may ask the same model in its own way: whether any says that it guesses.
        self._not_judging = [telemetry.not_judging.part(each.model) for each in models]
        for gauge in self._not_judging:
            gauge.set(0)

    def turns_away(self) -> bool:
        """Whether the model that a judgement was admitted for is not to be asked about traffic."""
        return self._marks and self._states[chosen()].is_guessing

    def has_a_judge(self) -> bool:
        """Whether the next interaction would go to a model that is not found out as guessing."""
        return not self._states[self._limits.next_model].is_guessing

    def judged(self, ending: JudgingResult) -> None:
        """An interaction of the traffic has ended; it may be time for a canary."""
        number = self._number_of(ending)
        if ending.judgement is not None and number is not None:
            self._shares[number].add(ending.judgement)
        answered = ending.judgement is not None and ending.usage.calls > 0
        unreadable = ending.outcome is Outcome.JUDGE_FAILED and ending.reason in UNREADABLE
        if not (answered or unreadable or ending.reason == Reason.NOT_JUDGING):
            return  # who does not answer has other alerts, and is not asked more
        self._lately.append(now := self._lately[-1] if number is None else number)
        if answered or unreadable:
            self._is_readable[now] = answered
        for each, pace in enumerate(self._paces):
            if each == now:
                pace.judged(self._states[each])
            elif self._is_in_question(each):
                pace.waited()
        self._say()
        self._begin_due()

    def _number_of(self, ending: JudgingResult) -> int | None:
        """The number of the model that has judged; None where no model is known by that name."""
        if ending.number is not None or len(self._models) == 1:
            return ending.number or 0
        known = [each.identity() for each in self._models]
        if ending.judge in known:
            return known.index(ending.judge)
        # For a while a model is asked in two manners by turns.
        names = [each.model for each in known]
        return names.index(ending.judge.model) if ending.judge.model in names else None

    def _is_in_question(self, number: int) -> bool:
        """Whether a model guesses, or may: it is asked until it is known, whoever judges."""
        state = self._states[number]
        return state.is_doubtful or state.is_guessing or self._kinds[number].any_is_guessed

    def _begin_due(self) -> None:
        for number, pace in enumerate(self._paces):
            most = max(2, self._limits.places // FEWER)
            while pace.is_due and not self._closed and len(self._tasks) < most:
                pace.begin()
                # Whoever is next anyway is waited for; another one is left alone if it is away.
                model = None if number == self._limits.next_model else number
                task = asyncio.create_task(self._counted(next(self._canaries), model))
                self._tasks.add(task)
                task.add_done_callback(partial(self._ended, pace))

    def _ended(self, pace: CanaryPace, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        pace.ended()
        self._ended_before += 1
        if self._ended_before >= WAITED_FOR or any(first.is_said for first in self._first):
            self._limits.admit_all()
        self._begin_due()

    async def aclose(self) -> None:
        """Drop what has not ended, and give back connections."""
        self._closed, tasks = True, list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_S)
        for each in self._models:
            await each.judge.aclose()

    async def _counted(self, canary: Canary, model: int | None) -> None:
        WHOSE_TURN.set("canaries")
        result = "dropped"
        try:
            result = await self._judged(canary, model)
        except ModelUnanswered:
            result = "unanswered"
        except Exception:  # noqa: BLE001 - nobody waits for this task: its bugs must show here
            result = "internal_error"
            logger().exception("canary_bug")
        finally:
            self._telemetry.results.labels(result).inc()

    async def _judged(self, canary: Canary, model: int | None) -> str:
        now = datetime.fromtimestamp(self._clock(), UTC)
        interaction = canary.interaction(f"{self._rng.getrandbits(128):032x}", now)
        cost_meter = CostMeter()
        # Before the traffic that waits: behind a backlog it would say too late what it says.
        async with self._limits.admitted(first=True, model=model):
            number = chosen()
            if self._budget is not None and not self._budget.has_money():
                return "over_budget"
            try:
                async with self._limits.deadline():
                    asked = self._models[number].judge
                    judgement = await asked.judge(interaction, cost_meter, canary.claims)
            except TimeoutError:
                return "deadline"
            except JudgeFailed as failure:
                # A model that copies its example answers nothing else, either; one that only
                # stumbles over this shape judges its traffic.
                if failure.reason in UNREADABLE and not self._is_readable[number]:
                    self._learn(number, 1, 2)
                return failure.reason
        graded = canary.graded(judgement)
        right = sum(found.equal for found in graded.values())
        version = self._models[number].answered(judgement, cost_meter)
        self._show(number, version.label, graded)
        self._kinds[number].learn(graded)
        self._learn(number, right, canary.verdicts)
        return "right" if right == canary.verdicts else "wrong"

    def _show(self, number: int, label: str, graded: Mapping[MatrixKind, Equal]) -> None:
        """A model that judges no more is not shown; one in question is asked on, and stays."""
        self._shown.add(number, label, graded)
        for each in range(len(self._models)):
            if self._shown.is_idle(each) and not self._is_in_question(each):
                self._shown.forget(each)

    def _learn(self, number: int, right: int, asked: int) -> None:
        """One more canary says how many of a model's verdicts are right."""
        before = self._states[number]
        self._states[number] = state = after(before, right, asked)
        self._first[number].heard(state, self._kinds[number])
        self._paces[number].heard(state)
        if state.evidence >= NEEDS_EXAMPLES and self._models[number].ask_for_shaped():
            # From here on it is another judge, of which nothing is known.
            self._states[number] = Guessing()
            self._paces[number].start(anew=True)
            self._forget(number)
            return
        if state.is_guessing != before.is_guessing:
            self._not_judging[number].set(state.is_guessing)
            self._changed(number, state)

    def _forget(self, number: int) -> None:
        """What a model got wrong while it guessed, or was another judge, says nothing of it now."""
        self._shown.forget(number)
        self._kinds[number].forget()
        self._first[number].forget()

    def _changed(self, number: int, state: Guessing) -> None:
        """A model guesses from here on, or judges again."""
        model = self._models[number].model
        if self._marks:
            self._limits.set_aside(number, aside=state.is_guessing)
        if state.is_guessing:
            right, asked = _found(state)
            logger().error("judge_not_judging", model=model, right=right, verdicts=asked)
            if self._marks and number == self._lately[-1]:
                self._begin_others()
        else:
            logger().warning("judge_judges_again", model=model)
            self._forget(number)
        self._say()

    def _begin_others(self) -> None:
        """Of who judges now nothing is known yet."""
        for state, pace in zip(self._states, self._paces, strict=True):
            if not state.is_guessing:
                pace.start()

    def _say(self) -> None:
        """Tell if whoever judges now guesses, and if nobody does any more."""
        if self._marks:
            # Once told it holds until another one has judged, not only until one may be tried.
            now = {self._lately[-1] if self._is_told else self._limits.next_model}
        else:
            now = {*self._lately}
        guessing = [self._states[each] for each in now if self._states[each].is_guessing]
        if bool(guessing) == self._is_told:
            return
        self._is_told = bool(guessing)
        if not guessing:
            self._tell(None)
            return
        right, asked = _found(guessing[0])
        self._tell(
            f"answers, but does not judge: {right} of {asked} verdicts on canaries are right"
        )


def _found(state: Guessing) -> tuple[int, int]:
    """Right verdicts and all, of the canaries since a doubt began."""
    return sum(right for right, _ in state.since), sum(asked for _, asked in state.since)
