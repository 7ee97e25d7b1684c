"""Whole judgements, made once for the same content and judge: for what is evaluated again."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError

from monitor.judge.cache.flights import Flights
from monitor.judge.cache.keys import judge_key, judgement_key
from monitor.judge.cache.store import CacheObserver, Store
from monitor.judge.protocol import CostMeter, Judge
from monitor.records import Interaction, JudgeIdentity, Judgement, Usage


class _FoundJudgement(NamedTuple):
    judgement: Judgement
    stored: bool


class CachedJudge:
    """A ``Judge`` that keeps what another one has judged; failures are never kept.

    A judgement that lacks evidence because a call failed is one, too. Which model answers is known
    from its replies only. So that all may come from the store it keeps, too, who answered last; the
    first reply tells who does now.
    """

    def __init__(self, judge: Judge, store: Store, observe: CacheObserver) -> None:
        self._judge, self._store, self._observe = judge, store, observe
        self._flights = Flights[_FoundJudgement]()
        self._configured = judge.identity
        self._answers: dict[JudgeIdentity, JudgeIdentity] = {}  # as configured → as it answered

    @property
    def asked(self) -> Judge:
        """Who judges what is not kept."""
        return self._judge

    @property
    def identity(self) -> JudgeIdentity:
        """Of the other one; before its first reply, as the store knows it."""
        now = self._judge.identity
        return self._answers.get(now, now)

    async def prepare(self) -> None:
        """Prepare the other one."""
        await self._judge.prepare()

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        """The judgement; one that has been kept, or that another has paid for, costs nothing."""
        key = judgement_key(await self._known(), interaction)
        spent = cost_meter or CostMeter()

        async def find() -> _FoundJudgement:
            stored = _read(await self._store.get(key), interaction)
            if stored is not None:
                return _FoundJudgement(stored, stored=True)
            self._observe.looked_up("judgement", "miss")
            return _FoundJudgement(await self._judge.judge(interaction, spent), stored=False)

        found, flight = await self._flights.join(key, find)
        if flight is not None:
            try:
                if not found.stored and not spent.unasked:
                    await self._keep(found.judgement, interaction)
            finally:
                self._flights.leave(key, flight)
        if flight is not None and not found.stored:
            return found.judgement
        self._observe.looked_up("judgement", "hit" if found.stored else "shared")
        return found.judgement.model_copy(update={"usage": Usage()})

    async def aclose(self) -> None:
        """Close the other one; the store belongs to whoever made it."""
        await self._judge.aclose()

    async def _known(self) -> JudgeIdentity:
        if self._configured not in self._answers:
            kept = _identity(await self._store.get(judge_key(self._configured)))
            self._answers.setdefault(self._configured, kept or self._configured)
        return self.identity

    async def _keep(self, judgement: Judgement, interaction: Interaction) -> None:
        # Of the model that has answered, which may be another than the one last known.
        key = judgement_key(judgement.judge, interaction)
        await self._store.put(key, judgement.model_dump_json().encode())
        if judgement.judge != self._answers.get(self._configured):
            self._answers[self._configured] = judgement.judge
            kept = judgement.judge.model_dump_json().encode()
            await self._store.put(judge_key(self._configured), kept)


def _read(value: bytes | None, interaction: Interaction) -> Judgement | None:
    """None also where others have written what is no judgement of this interaction's shape."""
    if value is None:
        return None
    try:
        found = Judgement.model_validate_json(value)
    except ValidationError:
        return None
    shape = (len(interaction.retrieved_contexts), interaction.reference is not None)
    return found if (found.passages, found.has_reference) == shape else None


def _identity(value: bytes | None) -> JudgeIdentity | None:
    try:
        return JudgeIdentity.model_validate_json(value) if value is not None else None
    except ValidationError:
        return None
