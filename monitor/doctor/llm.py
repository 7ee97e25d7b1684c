"""The judge: does it answer in its wire format, does it judge, and is its price known?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from monitor.doctor.report import ReportLine, fail, ok, warn
from monitor.errors import TOO_LARGE, JudgeFailed
from monitor.judge.canaries import Canary
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.pipeline.complaints import of_calls
from monitor.judge.protocol import CostMeter, Judge
from monitor.judge.provider.remedies import remedy
from monitor.judge.verifier import VerifierJudge
from monitor.records import Interaction, Passage, Source, Usage

#: Seconds; how long a judgement took is said of one that takes longer, beside what it may take.
SLOW_S = 10.0
#: As short as an interaction can be that asks both prompts: one claim, one passage, no reference.
TINY = Interaction(
    interaction_id="rag-monitor-doctor",
    event_time=datetime(2026, 1, 1, tzinfo=UTC),
    application="rag-monitor-doctor",
    user_input="How long is the warranty?",
    response="The warranty lasts two years.",
    retrieved_contexts=(Passage(text="The warranty lasts two years."),),
    source=Source(topic="none", partition=0, offset=0),
)
#: Six pairs whose verdicts are known, in one interaction: three hold. Nobody who takes turns, by
#: verdict, claim or place, is right about more than four.
KNOWN_PAIRS = Canary.of(
    {
        "language": "en, zh",
        "question": "How long is the warranty, and where is the shop? 保修多久？商店在哪里？",
        "passages": ["The warranty lasts two years and covers the battery.", "商店在火车站旁边。"],
        "response": "The warranty lasts two years. It covers the battery. 商店就在火车站旁边。",
        "claims": {
            "c1": "The warranty lasts two years.",
            "c2": "The warranty covers the battery.",
            "c3": "商店在火车站旁边。",
        },
        "verdicts": {"c1": "1y 2n", "c2": "1y 2n", "c3": "1n 2y"},
    }
)
#: Fewer right ones are no judgement: a guesser has as many or more once in nine times.
LEAST_RIGHT = 5


class JudgeTimeouts(NamedTuple):
    """How long is waited: as long as for a judgement of traffic, or a slow model is never asked.

    ``deadline_s`` is ``judge.deadline_s``, ``attempt_timeout_s`` that setting, of one call.
    """

    deadline_s: float
    attempt_timeout_s: float = 30.0

    def spent(self, *, calls: bool, answered: bool) -> str:
        """What to do where the deadline passes.

        ``calls``: it makes calls, which have a limit of their own. ``answered``: at least one of
        them was.
        """
        mend = f"raise judge.deadline_s ({self.deadline_s:g} s)"
        if calls and self.attempt_timeout_s < self.deadline_s:
            most = f"judge.attempt_timeout_s ({self.attempt_timeout_s:g} s)"
            mend += f", and {most} where one call takes longer"
        if calls and not answered:
            mend += ", or check judge.api_base"
        return f"{mend}; or take a faster model"

    def slowness(self, took_s: float) -> str:
        """How long a slow judgement took; nothing of another."""
        if took_s < SLOW_S:
            return ""
        return f" in {took_s:.0f} s (judge.deadline_s is {self.deadline_s:g} s)"


async def examine(judge: Judge, target: str, timeouts: JudgeTimeouts) -> list[ReportLine]:
    """One judgement of a made-up interaction, and one of pairs that are known.

    The judge stays open: judges share connections, so all are closed when the last has answered.
    """
    cost_meter, clock = CostMeter(), asyncio.get_running_loop().time
    try:
        await judge.prepare()
        began = clock()
        async with asyncio.timeout(timeouts.deadline_s):
            judgement = await judge.judge(TINY, cost_meter)
    except JudgeFailed as error:
        refused = of_calls(cost_meter.refused, cost_meter.usage.calls)
        return [_failed(target, error, refused, is_form=await _is_the_form(judge, error, timeouts))]
    except TimeoutError:
        answered = bool(cost_meter.models)  # calls that were cut off count, too
        mend = timeouts.spent(calls=isinstance(judge, LlmJudge), answered=answered)
        return [fail("judge", target, f"no judgement within {timeouts.deadline_s:g} s", mend)]
    took_s = clock() - began
    if isinstance(judge, VerifierJudge):
        found = f"{judgement.judge.label}, the verifier {judgement.judge.model}, answers"
        return [await _judges(judge, ok("judge", target, found), timeouts, clock)]
    if not isinstance(judge, LlmJudge):
        return [ok("judge", target, f"{judgement.judge.label}, a lexical check, answers")]
    refused = of_calls(cost_meter.refused, cost_meter.usage.calls)
    line = _answered(target, judgement.judge.model, judgement.usage, took_s, refused)
    line = line._replace(found=line.found + _refused(judge))
    return [await _judges(judge, line, timeouts, clock), _price(judge)]


async def _judges(
    judge: LlmJudge | VerifierJudge,
    answered: ReportLine,
    timeouts: JudgeTimeouts,
    clock: Callable[[], float],
) -> ReportLine:
    """The line of a judge that answers, or one that says that it judges nothing.

    A model that gives no reply here has answered before: that alone fails nothing. But nobody
    knows then whether it judges, so that it is never OK.
    """
    interaction = KNOWN_PAIRS.interaction("rag-monitor-doctor", TINY.event_time)
    asked, pipeline = KNOWN_PAIRS.verdicts, judge.identity.pipeline
    none = f"{answered.found}; no reply about {asked} pairs with known verdicts"
    began = clock()
    try:
        async with asyncio.timeout(timeouts.deadline_s):
            judgement = await judge.judge(interaction, None, KNOWN_PAIRS.claims)
    except JudgeFailed as error:
        mend = _unanswered(error.reason, pipeline)
        return warn("judge", answered.target, f"{none} ({error.reason})", mend)
    except TimeoutError:
        mend = timeouts.spent(calls=isinstance(judge, LlmJudge), answered=True)
        within = f"{none} within {timeouts.deadline_s:g} s"
        return warn("judge", answered.target, within, mend)
    right = sum(found.equal for found in KNOWN_PAIRS.graded(judgement).values())
    took = timeouts.slowness(clock() - began)
    if right < LEAST_RIGHT:
        found = f"answers, but does not judge: {right} of {asked} right{took}{_refused(judge)}"
        return fail("judge", answered.target, found, _mend(pipeline))
    found = f"{answered.found}; {right} of {asked} known pairs right{took}"
    return ok("judge", answered.target, found)


def _refused(judge: LlmJudge | VerifierJudge) -> str:
    """Of a provider that refuses some ways to hold replies to JSON; nothing of another."""
    forms = judge.refused_forms if isinstance(judge, LlmJudge) else ()
    if "json_object" in forms:
        return "; it refuses a JSON schema and JSON mode, and is asked without any format"
    if forms:  # which of the two, nobody has asked
        return "; it refuses a JSON schema or patterns in it, and is asked without"
    if isinstance(judge, LlmJudge) and judge.broken_forms:
        return (
            "; it has an error at a JSON schema or JSON mode, and is asked again without:"
            " judge.structured can say so at once"
        )
    return ""


async def _is_the_form(judge: Judge, error: JudgeFailed, timeouts: JudgeTimeouts) -> bool:
    """Whether the model judges what it has failed at, where no reply is held to JSON."""
    if not isinstance(judge, LlmJudge) or error.reason not in ("server_error", "rejected"):
        return False
    if (without := judge.without_form()) is None:
        return False
    with suppress(JudgeFailed, TimeoutError):
        async with asyncio.timeout(timeouts.deadline_s):
            await without.judge(TINY)
        return True
    return False


def _unanswered(reason: str, pipeline: str) -> str:
    """What to do where the known pairs have no verdicts for this reason."""
    if reason in ("malformed_reply", "output_limit"):
        return _mend(pipeline)
    if reason == TOO_LARGE:
        return "raise judge.max_calls and judge.max_input_tokens"
    return remedy(reason).mend


def _mend(pipeline: str) -> str:
    """A small model that does not bear several claims and documents may bear one of each."""
    less = "" if pipeline == "pairs" else "ask for less at a time (judge.pipeline: pairs), or "
    return f"{less}take another model; rag-monitor judge-check measures it"


def _failed(target: str, error: JudgeFailed, refused: str | None, *, is_form: bool) -> ReportLine:
    """The note holds status, code and ids; neither a key nor a text can stand in it."""
    what, mend = remedy(error.reason, str(error))
    # Class names of the client's own errors say nothing to who reads this.
    note = "" if error.reason in ("connection", "timeout") else f" ({error})"
    note += f"; {refused}" if refused else ""
    if is_form:
        note += "; it judges where no reply is held to JSON"
        mend = "set judge.structured: prompt, or another form that its provider supports"
    return fail("judge", target, what + note, mend)


def _answered(
    target: str, model: str, usage: Usage, took_s: float, refused: str | None
) -> ReportLine:
    tokens = usage.prompt_tokens + usage.completion_tokens + usage.reasoning_tokens
    found = f"{model} judged in {took_s:.1f} s: {usage.calls} calls, {tokens} tokens"
    return ok("judge", target, found + (f"; {refused}" if refused else ""))


def _price(judge: LlmJudge) -> ReportLine:
    target, price = judge.identity.model, judge.price_per_million()
    if price is None:
        mend = "costs count as 0 US dollars; limit this judge by requests and tokens"
        return warn("price", target, "not in the price list of litellm", mend)
    return ok("price", target, f"{price[0]:.2f} $ in, {price[1]:.2f} $ out, per million tokens")
