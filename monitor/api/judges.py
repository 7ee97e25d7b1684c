"""Who judges: a judge of the user's own, a model, or whoever the settings name; once a loop."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Literal, NamedTuple
from weakref import WeakKeyDictionary

from monitor.api.callers import warn
from monitor.api.samples import ScorableTurn
from monitor.app.caches import Caches, KeptMemory
from monitor.app.judges import ConfiguredJudge, build_judges, unpriced
from monitor.app.policies import build_policies, policies_of_judge
from monitor.app.redaction import build_redactor
from monitor.config import Settings, load
from monitor.errors import ConfigurationError
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.protocol import Judge
from monitor.records import ScoreRecord
from monitor.runtime import logs
from monitor.scorer import score_records
from monitor.scorer.intake import Policies
from monitor.scorer.judging import JudgeRun, JudgingInput, all_redacted
from monitor.scorer.score_records import JudgingResult
from monitor.telemetry import ScorerTelemetry, new_registry

RelevanceBy = Literal["reference", "labels"]

#: What a judge must have, so that another object is refused where it is given.
_NEEDS: Final = ("judge", "identity", "prepare", "aclose")
_LEXICAL: Final = (
    "no model judges: the settings' judge is offline, a lexical check that compares words and "
    "numbers; name a model, as llm='openai/gpt-4o-mini', or say judge='offline' if it is meant"
)


@dataclass(frozen=True)
class NamedModel:
    """A model with its address and key, as settings; what ``llm_factory`` makes."""

    flags: dict[str, Any]


AnyJudge = Judge | NamedModel | str


@dataclass(frozen=True)
class JudgeChoice:
    """Who judges, with all that is set about judging; ``own`` is a judge of the user's."""

    settings: Settings
    own: Judge | None = None
    is_lexical_by_default: bool = False

    @classmethod
    def of(
        cls, llm: AnyJudge | None, judge: AnyJudge | None, relevance: RelevanceBy | None
    ) -> JudgeChoice:
        """Of the arguments of a metric or of ``evaluate``; raises ``ConfigurationError``."""
        if llm is not None and judge is not None:
            raise ConfigurationError("llm and judge are two names of one thing: give one of them")
        given = llm if judge is None else judge
        flags: dict[str, Any] = {} if relevance is None else {"judge.relevance": relevance}
        if given is None:
            settings = load(os.environ, None, flags)
            is_lexical = not settings.judge.asks_a_model and settings.judge.verifier is None
            return cls(settings, is_lexical_by_default=is_lexical)
        if given == "offline":
            return cls(load(os.environ, None, {**flags, "judge.kind": "offline"}))
        if isinstance(given, str):
            return cls(load(os.environ, None, {**flags, "judge.kind": "llm", "judge.model": given}))
        if isinstance(given, NamedModel):
            return cls(load(os.environ, None, {**flags, **given.flags}))
        _require_judge(given)
        return cls(load(os.environ, None, flags), own=given)

    def warn(self) -> None:
        """Say so where nobody has chosen the lexical judge."""
        if self.is_lexical_by_default:
            warn(_LEXICAL)


def _require_judge(given: object) -> None:
    missing = [name for name in _NEEDS if not hasattr(given, name)]
    if missing:
        raise ConfigurationError(
            f"llm: found a {type(given).__module__}.{type(given).__name__}, which has no "
            f"{', '.join(missing)}; expected a model by its litellm name, like "
            "'openai/gpt-4o-mini', what rag_monitor.llm_factory makes of a client, or a judge"
        )


class JudgedTurn(NamedTuple):
    """The record of a turn, and how its judging ended."""

    record: ScoreRecord
    result: JudgingResult


class ReadyJudge:
    """A judge of one event loop, with its limits and the redaction of the settings.

    ``has_price``: the price of every model that it asks is known.
    """

    def __init__(self, policies: Policies, redactor: Redactor, *, has_price: bool = True) -> None:
        self._policies, self._redactor, self.has_price = policies, redactor, has_price

    async def judged(self, turn: ScorableTurn) -> JudgedTurn:
        """All verdicts and all metrics of a turn, whatever became of it."""
        interaction = self._redactor.interaction(turn.interaction)
        found = self._policies.policy(interaction)
        policy = replace(found, metrics=None, labels_win=found.labels_win or turn.labels_win)
        judging_input = JudgingInput(interaction)
        result = all_redacted(judging_input, policy)
        if result is None:
            result = await JudgeRun(judging_input, policy, time.time).result()
        now, segment_by = datetime.now(UTC), policy.segment_by
        record = score_records.build(interaction, result, rate=1.0, segment_by=segment_by, now=now)
        return JudgedTurn(record, result)


class LoopJudges:
    """The judges of one event loop: made when first asked for, closed when the loop ends."""

    def __init__(self) -> None:
        self._made: list[tuple[JudgeChoice, asyncio.Future[ReadyJudge]]] = []
        self._stack = AsyncExitStack()
        self._end: AsyncGenerator[None, None] | None = None

    async def ready(self, choice: JudgeChoice) -> ReadyJudge:
        """The judge of a choice; equal choices have one."""
        for known, found in self._made:
            if known == choice:
                return await asyncio.shield(found)
        if self._end is None:
            # A loop has no other hook for its end: it closes the generators that were begun in it.
            self._end = self._until_the_loop_ends()
            await anext(self._end)
        making = asyncio.ensure_future(self._new(choice))
        self._made.append((choice, making))
        try:
            return await asyncio.shield(making)
        except Exception:
            self._made = [each for each in self._made if each[1] is not making]
            raise

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._made.clear()  # each holds the loop
            await self._stack.aclose()

    async def _new(self, choice: JudgeChoice) -> ReadyJudge:
        redactor = build_redactor(choice.settings, _telemetry())
        if choice.own is not None:
            await choice.own.prepare()
            return ReadyJudge(policies_of_judge(choice.settings, choice.own), redactor)
        configured_judges = await self._configured(choice.settings)
        policies = build_policies(choice.settings, configured_judges)
        return ReadyJudge(policies, redactor, has_price=not unpriced(configured_judges))

    async def _configured(self, settings: Settings) -> list[ConfiguredJudge]:
        caches = Caches(_telemetry().judge_cache, kept=_kept(settings))
        self._stack.push_async_callback(caches.aclose)
        configured_judges = build_judges(settings, _telemetry(), caches, whole=True)
        for configured in configured_judges:
            self._stack.push_async_callback(configured.judge.aclose)
            await configured.judge.prepare()
        return configured_judges


_LOCK: Final = threading.Lock()
_LOOPS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, LoopJudges]] = WeakKeyDictionary()
_KEPT: Final[list[tuple[Settings, KeptMemory]]] = []


async def ready(choice: JudgeChoice) -> ReadyJudge:
    """The judge of a choice in the running loop; raises ``ConfigurationError``."""
    loop = asyncio.get_running_loop()
    with _LOCK:
        for closed in [each for each in _LOOPS if each.is_closed()]:
            del _LOOPS[closed]
        judges = _LOOPS.get(loop)
        if judges is None:
            judges = _LOOPS[loop] = LoopJudges()
    return await judges.ready(choice)


def _kept(settings: Settings) -> KeptMemory:
    """What is cached in this process for these settings, from one call and loop to the next."""
    with _LOCK:
        for known, memory in _KEPT:
            if known == settings:
                return memory
        _KEPT.append((settings, KeptMemory()))
        return _KEPT[-1][1]


@cache
def _telemetry() -> ScorerTelemetry:
    """Counters that nobody scrapes; made once, as the log is told to whom it belongs."""
    logs.use_standard_library()
    return ScorerTelemetry(new_registry())
