"""What an LLM judge is made of, and the fingerprint of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal

from monitor.judge.ceiling import Ceiling
from monitor.judge.manner import Examples, Manner
from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.pairing import THRESHOLD
from monitor.judge.pipeline.plans import PipelineName
from monitor.records import JudgeIdentity

Structured = Literal["auto", "json_object", "json_schema", "prompt"]
Effort = Literal["none", "minimal", "low", "medium", "high"]

_SELDOM_CHANGED = (
    *("structured", "reasoning_effort", "temperature", "seed", "order_seed", "evidence"),
    *("relevant_to_question", "answer_relevance"),
)


@dataclass(frozen=True, slots=True)
class VerifierSettings:
    """A function that verifies in a model's place: ``path`` is ``module:function``.

    It is given ``batch`` pairs at a time, and the name of a ``device`` as it is configured.
    """

    path: str
    batch: int = 32
    device: str | None = None


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """How to reach the model, and how it is asked; times are seconds.

    ``retries`` are per call, within ``retries_s``.
    ``extract_model`` takes the claims out of the texts, ``model`` if it is None; at another
    provider it is reached with the key in the environment. ``max_tokens`` is of one reply without
    reasoning, None: by what is asked. ``examples``: whether turns of a request's very shape go
    before it. ``order_seed`` other than 0 shows the passages in another order.
    ``price`` (US dollars for a million tokens of prompts, of replies) goes before the library's.
    ``redaction`` names what is done to texts before they are judged. All calls about one
    interaction are at most ``max_calls`` with prompts of ``max_input_tokens`` by estimate, and
    ``calls_at_once`` at a time. ``version_from`` says whose name of the model the version holds.
    With the pipeline ``pairs`` a claim is supported from the probability ``threshold`` on. A
    ``verifier`` verifies in the place of ``model``, pair by pair.
    """

    model: str
    name: str = "llm"
    pipeline: PipelineName = "joint"
    extract_model: str | None = None
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    claims_per_call: int = 8
    passages_per_call: int = 12
    prompt_tokens: int = 16_000
    attempt_timeout_s: float = 30.0
    retries: int = 4
    retries_s: float = 60.0
    price: tuple[float, float] | None = None
    max_tokens: int | None = None
    structured: Structured = "auto"
    examples: Examples = "auto"
    reasoning_effort: Effort = "minimal"
    temperature: float = 0
    seed: int | None = 7
    order_seed: int = 0
    redaction: str = "off"
    evidence: Literal["off", "quote"] = "off"
    relevant_to_question: Literal["labels", "judged"] = "labels"
    answer_relevance: Literal["off", "judged"] = "off"
    max_calls: int = 64
    max_input_tokens: int = 256_000
    calls_at_once: int = 8
    version_from: Literal["reply", "configured"] = "reply"
    threshold: float = THRESHOLD
    verifier: VerifierSettings | None = None

    @property
    def caps(self) -> Caps:
        """What one verify call may hold."""
        return Caps(self.claims_per_call, self.passages_per_call, self.prompt_tokens)

    @property
    def ceiling(self) -> Ceiling:
        """What may be asked about one interaction."""
        return Ceiling(self.max_calls, self.max_input_tokens)

    @property
    def relevance_caps(self) -> Caps:
        """What one call about relevance may hold: one document with one a call."""
        alone = self.pipeline in ("single", "pairs")
        return replace(self.caps, passages=1) if alone else self.caps

    @property
    def quotes(self) -> bool:
        """Whether it is asked for the words that support a claim."""
        return self.evidence == "quote"

    @property
    def relates(self) -> bool:
        """Whether it is asked which passages are relevant to the question."""
        return self.relevant_to_question == "judged"

    @property
    def asks_answer(self) -> bool:
        """Whether it is asked if the response addresses the question; a pair has no room for it."""
        return self.answer_relevance == "judged" and self.pipeline != "pairs"

    def models(self) -> tuple[str, ...]:
        """The model of verification and, if it is another, that of extraction."""
        other = self.extract_model not in (None, self.model)
        return (self.model, self.extract_model or "") if other else (self.model,)

    def of_model(self, model: str) -> LlmSettings:
        """The same for one of its models; another provider does not get the key of the first."""
        if self.api_base is not None or _provider(model) == _provider(self.model):
            return replace(self, model=model)
        return replace(self, model=model, api_key=None, headers={})


def identify(
    settings: LlmSettings,
    prompts: str,
    models: tuple[str, ...],
    manner: Manner = Manner.FIXED,
) -> JudgeIdentity:
    """The identity of a judge; ``prompts`` is the hash of its instructions.

    ``models`` are the ids as the providers last gave them: that of verification and, if it is
    another one, that of extraction. Whatever may change a verdict is in the version.
    """
    model = "+".join(models)
    parts = (model, prompts, settings.pipeline, *_caps(settings), f"redaction {settings.redaction}")
    digest = blake2b("\0".join((*parts, *_unusual(settings), *_asked(settings)[:manner])).encode())
    return JudgeIdentity(
        name=settings.name,
        version=digest.hexdigest()[:6],
        model=model,
        prompts=prompts,
        pipeline=settings.pipeline,
    )


def _provider(model: str) -> str:
    return model.rpartition("/")[0]


def extraction_version(settings: LlmSettings, instructions: str, model: str) -> tuple[str, ...]:
    """All but question and text that may change the claims of a text.

    Not the pipeline nor the order of passages: texts are extracted alone, whatever follows.
    """
    asked, where = settings.models()[-1], settings.api_base or ""
    fixed = (model, asked, where, instructions, f"redaction {settings.redaction}")
    alone = replace(
        settings,
        order_seed=0,
        relevant_to_question="labels",
        answer_relevance="off",
        pipeline="joint",
    )
    return (*fixed, str(settings.max_tokens), *_unusual(alone))


def _asked(settings: LlmSettings) -> tuple[str, ...]:
    """What each manner after the first adds; by the ceiling goes how many claims are not alone."""
    most = f"{settings.max_calls} calls, {settings.max_input_tokens} tokens at most"
    return ("examples shaped alone", f"one claim a call, {most}")


def _caps(settings: LlmSettings) -> tuple[str, ...]:
    caps = settings.caps
    if settings.pipeline == "pairs" and not settings.quotes:
        # Nothing has several claims or passages: whatever the caps of those say, it is the same.
        caps = Caps(prompt_tokens=caps.prompt_tokens)
    return tuple(map(str, (caps.claims, caps.passages, caps.prompt_tokens, settings.max_tokens)))


def _unusual(settings: LlmSettings) -> Iterator[str]:
    """What changes verdicts and is seldom changed: absent from the version as it is shipped."""
    for name in _SELDOM_CHANGED:
        value = getattr(settings, name)
        if value != LlmSettings.__dataclass_fields__[name].default:
            yield f"{name} {value}"
    if settings.pipeline == "pairs" and settings.threshold != THRESHOLD:
        yield f"threshold {settings.threshold!r}"
