"""The judge: does it answer in its wire format, and is its price known?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from monitor.doctor.report import ReportLine, fail, ok, warn
from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.pipeline.complaints import in_words
from monitor.judge.protocol import CostMeter, Judge
from monitor.records import Interaction, Passage, Source, Usage

#: Seconds; a model that thinks for longer is said to be slow.
ANSWER_LIMIT_S = 30.0
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
#: Reason of a failed judgement → what it means, and what to do.
_REFUSALS = {
    "auth": (
        "the provider refuses this key",
        "check judge.api_key, or the provider's own variable, and what the account may do",
    ),
    "rate_limited": (
        "the provider takes no more requests now",
        "wait, or ask the provider for a higher limit",
    ),
    "timeout": (
        "no answer in time",
        "check judge.api_base, and judge.attempt_timeout_s for a slow model",
    ),
    "connection": (
        "the provider cannot be reached",
        "check judge.api_base, and that this machine may connect to it",
    ),
    "rejected": (
        "the provider refuses the request",
        "check judge.model and judge.api_base",
    ),
    "server_error": (
        "the provider has an error",
        "wait, and see its status page or its log",
    ),
    "malformed_reply": (
        "the model does not keep to the JSON it is told",
        "take a stronger model, or set judge.structured to what its provider knows",
    ),
    "output_limit": (
        "the reply is cut at the output limit",
        "take a model that says only what it is asked",
    ),
}


async def examine(judge: Judge, target: str, deadline_s: float) -> list[ReportLine]:
    """One judgement of a made-up interaction; ``deadline_s`` is ``judge.deadline_s``.

    The judge stays open: judges share connections, so all are closed when the last has answered.
    """
    cost_meter, loop, limit_s = (
        CostMeter(),
        asyncio.get_running_loop(),
        min(ANSWER_LIMIT_S, deadline_s),
    )
    try:
        await judge.prepare()
        began = loop.time()
        async with asyncio.timeout(limit_s):
            judgement = await judge.judge(TINY, cost_meter)
    except JudgeFailed as error:
        return [_failed(target, error, in_words(cost_meter.refused, cost_meter.usage.calls))]
    except TimeoutError:
        mend = _REFUSALS["timeout"][1]
        return [fail("judge", target, f"no judgement within {limit_s:.0f} s", mend)]
    took_s = loop.time() - began
    if not isinstance(judge, LlmJudge):
        return [ok("judge", target, f"{judgement.judge.label}, a lexical screen, answers")]
    refused = in_words(cost_meter.refused, cost_meter.usage.calls)
    answered = _answered(target, judgement.judge.model, judgement.usage, took_s, refused)
    if judge.refuses_patterns:
        found = f"{answered.found}; it refuses patterns in a JSON schema, and is asked without"
        answered = answered._replace(found=found)
    return [answered, _price(judge)]


def _failed(target: str, error: JudgeFailed, refused: str | None) -> ReportLine:
    """The note holds status, code and ids; neither a key nor a text can stand in it."""
    otherwise = (error.reason, "see the provider's documentation of this error")
    what, mend = _REFUSALS.get(error.reason, otherwise)
    # Class names of the client's own errors say nothing to who reads this.
    note = "" if error.reason in ("connection", "timeout") else f" ({error})"
    note += f"; {refused}" if refused else ""
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
