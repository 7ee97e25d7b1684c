"""Settings → one judge: how its model is asked, or that none is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.config import JudgeSettings as JudgeSettings
from monitor.ingest.redaction.redactor import OFF
from monitor.judge.llm.judge import LlmSettings
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.pipeline.identity import VerifierSettings
from monitor.judge.pipeline.pairing import THRESHOLD
from monitor.judge.verifier import VerifierJudge, verifier_of


def in_order(preferred: LlmSettings, others: Sequence[str]) -> list[LlmSettings]:
    """One judge for each model; another one has no extraction and no price of its own."""
    return [
        preferred,
        *(replace(preferred.of_model(m), extract_model=None, price=None) for m in others),
    ]


def labels_win(judge: JudgeSettings) -> bool:
    """Whether the log's labels of relevance outdo what follows from the reference."""
    return judge.relevance == "labels"


def handling(judge: JudgeSettings, redaction_tag: str) -> str:
    """What is done with an interaction around its judge, for the version of the judge."""
    return f"{redaction_tag}, labels win" if labels_win(judge) else redaction_tag


def local_judge(judge: JudgeSettings, handled: str = OFF) -> OfflineJudge | VerifierJudge:
    """The judge of a section of kind ``offline``; raises ``ConfigurationError``."""
    settings = llm_settings(judge, handled)
    if (verifier := verifier_of(settings)) is not None:
        return VerifierJudge(settings, verifier)
    return OfflineJudge(judge.label_name, redaction=handled, threshold=judge.threshold)


def llm_settings(judge: JudgeSettings, handled: str = OFF) -> LlmSettings:
    """How the section of an LLM judge says that the model is asked."""
    verifier, extracts = None, judge.extract_model
    if judge.verifier is not None:
        # One model is left to be asked, and what is verified is pairs.
        verifier = VerifierSettings(judge.verifier, judge.verifier_batch, judge.verifier_device)
        extracts = None
    return LlmSettings(
        model=(judge.extract_model if verifier else None) or judge.model or "",
        name=judge.label_name,
        api_base=judge.api_base,
        api_key=judge.api_key.get_secret_value() if judge.api_key else None,
        headers={key: value.get_secret_value() for key, value in judge.headers.items()},
        pipeline="pairs" if verifier else judge.pipeline,
        verifier=verifier,
        threshold=THRESHOLD if judge.threshold is None else judge.threshold,
        extract_model=extracts,
        claims_per_call=judge.claims_per_call,
        passages_per_call=judge.passages_per_call,
        prompt_tokens=judge.prompt_tokens,
        structured=judge.structured,
        examples=judge.examples,
        max_tokens=judge.max_tokens,
        reasoning_effort=judge.reasoning_effort,
        evidence=judge.evidence,
        relevant_to_question=judge.relevant_to_question,
        answer_relevance=judge.answer_relevance,
        attempt_timeout_s=judge.attempt_timeout_s,
        retries_s=judge.deadline_s,
        max_calls=judge.max_calls,
        max_input_tokens=judge.max_input_tokens,
        calls_at_once=judge.concurrency,
        version_from=judge.version_from,
        price=judge.price.pair,
        redaction=handled,
    )
