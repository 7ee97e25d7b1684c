"""The judge: does it answer in its wire format, does it judge, and is its price known?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from monitor.doctor.report import ReportLine, fail, ok, warn
from monitor.errors import JudgeFailed
from monitor.judge.canaries import Canary
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.pipeline.complaints import in_words
from monitor.judge.protocol import CostMeter, Judge
from monitor.judge.provider.remedies import REMEDIES, remedy
from monitor.judge.verifier import VerifierJudge
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
        mend = REMEDIES["timeout"].mend
        return [fail("judge", target, f"no judgement within {limit_s:.0f} s", mend)]
    took_s = loop.time() - began
    if isinstance(judge, VerifierJudge):
        found = f"{judgement.judge.label}, the verifier {judgement.judge.model}, answers"
        return [await _judges(judge, ok("judge", target, found), limit_s)]
    if not isinstance(judge, LlmJudge):
        return [ok("judge", target, f"{judgement.judge.label}, a lexical check, answers")]
    refused = in_words(cost_meter.refused, cost_meter.usage.calls)
    answered = _answered(target, judgement.judge.model, judgement.usage, took_s, refused)
    if judge.refuses_patterns:
        found = f"{answered.found}; it refuses patterns in a JSON schema, and is asked without"
        answered = answered._replace(found=found)
    return [await _judges(judge, answered, limit_s), _price(judge)]


async def _judges(
    judge: LlmJudge | VerifierJudge, answered: ReportLine, limit_s: float
) -> ReportLine:
    """The line of a judge that answers, or one that says that it judges nothing.

    A model that gives no reply here has answered before: that alone fails nothing.
    """
    interaction = KNOWN_PAIRS.interaction("rag-monitor-doctor", TINY.event_time)
    asked, mend = KNOWN_PAIRS.verdicts, _mend(judge.identity.pipeline)
    try:
        async with asyncio.timeout(limit_s):
            judgement = await judge.judge(interaction, None, KNOWN_PAIRS.claims)
    except (JudgeFailed, TimeoutError) as error:
        why = error.reason if isinstance(error, JudgeFailed) else "timeout"
        found = f"{answered.found}; no reply about {asked} pairs with known verdicts ({why})"
        if why in ("malformed_reply", "output_limit"):
            return warn("judge", answered.target, found, mend)
        return ok("judge", answered.target, found)
    right = sum(found.equal for found in KNOWN_PAIRS.graded(judgement).values())
    if right < LEAST_RIGHT:
        found = f"answers, but does not judge: {right} of {asked} right"
        return fail("judge", answered.target, found, mend)
    return ok("judge", answered.target, f"{answered.found}; {right} of {asked} known pairs right")


def _mend(pipeline: str) -> str:
    """A small model that does not bear several claims and documents may bear one of each."""
    less = "" if pipeline == "pairs" else "ask for less at a time (judge.pipeline: pairs), or "
    return f"{less}take another model; rag-monitor judge-check measures it"


def _failed(target: str, error: JudgeFailed, refused: str | None) -> ReportLine:
    """The note holds status, code and ids; neither a key nor a text can stand in it."""
    what, mend = remedy(error.reason)
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
