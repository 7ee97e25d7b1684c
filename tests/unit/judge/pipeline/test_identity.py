"""The version of a judge: it changes with whatever may change a verdict, and with nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from monitor.judge.llm.abilities import Abilities, ReplyForm, response_format
from monitor.judge.manner import Manner
from monitor.judge.pipeline.identity import Effort, LlmSettings, extraction_version, identify
from monitor.judge.pipeline.parsing import ExtractRequest, VerifyRequest
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.pipeline.quoting import QuoteRequest
from monitor.judge.pipeline.relating import RelevanceRequest

SHIPPED = LlmSettings(model="openai/judge")


def version(settings: LlmSettings = SHIPPED, prompts: str = "p", models: str = "m") -> str:
    return identify(settings, prompts, tuple(models.split("+"))).version


def test_the_version_is_a_fingerprint_of_what_judges() -> None:
    """Model ids, prompt hashes, pipeline, caps, redaction, and what is unusual: all different."""
    changes: list[dict[str, Any]] = [
        {},
        {"pipeline": "single"},
        {"pipeline": "ragas"},
        {"claims_per_call": 7},
        {"passages_per_call": 7},
        {"prompt_tokens": 7_000},
        {"max_tokens": 700},
        {"redaction": "on"},
        {"reasoning_effort": "high"},
        {"structured": "prompt"},
        {"temperature": 0.5},
        {"seed": 8},
        {"order_seed": 1},
        {"evidence": "quote"},
        {"relevant_to_question": "judged"},
        {"answer_relevance": "judged"},
    ]
    versions = [version(replace(SHIPPED, **change)) for change in changes]
    versions += [version(prompts="q"), version(models="n"), version(models="m+n")]
    versions += [identify(SHIPPED, "p", ("m",), manner).version for manner in Manner if manner]
    assert len(set(versions)) == len(versions)
    assert all(len(found) == 6 for found in versions)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "openai/other"},
        {"name": "other"},
        {"api_base": "http://other"},
        {"api_key": "other"},
        {"headers": {"x": "other"}},
        {"retries": 0},
        {"attempt_timeout_s": 1.0},
    ],
)
def test_how_the_model_is_reached_is_not_in_the_version(change: dict[str, Any]) -> None:
    """The configured name is only asked for; the model is the one that answers."""
    assert version(replace(SHIPPED, **change)) == version()


@pytest.mark.parametrize(
    "change", [{"relevant_to_question": "judged"}, {"answer_relevance": "judged"}]
)
def test_claims_are_kept_whoever_judges_relevance(change: dict[str, Any]) -> None:
    """Texts are extracted alone: whether passages or responses are judged changes no claim."""
    judged = replace(SHIPPED, **change)
    assert extraction_version(judged, "i", "m") == extraction_version(SHIPPED, "i", "m")


def test_the_version_as_it_is_shipped_stays() -> None:
    """What can be asked besides, and is not, is no new judge: baselines and caches go on."""
    shipped = LlmSettings("openai/judge")
    assert identify(shipped, load_prompts().hash, ("m",)).version == "14524b"
    assert extraction_version(shipped, "i", "m") == (
        *("m", "openai/judge", "", "i"),
        *("redaction off", "None"),
    )


@pytest.mark.parametrize("more", [{"claims_per_call": 3}, {"passages_per_call": 3}])
def test_caps_of_claims_and_passages_count_where_any_are_asked_about(more: dict[str, Any]) -> None:
    """A pair has one of each; only quotes are asked for of several."""
    pairs = replace(SHIPPED, pipeline="pairs")
    assert version(replace(pairs, **more)) == version(pairs)
    related = replace(pairs, relevant_to_question="judged")
    assert version(replace(related, **more)) == version(related)
    quoted = replace(pairs, evidence="quote")
    assert version(replace(quoted, **more)) != version(quoted)
    assert version(replace(pairs, prompt_tokens=9_000)) != version(pairs)


def test_caps_beyond_the_hardest_are_the_hardest() -> None:
    """Twelve is the most: 50 claims a call are the same judge as 12."""
    assert version(replace(SHIPPED, claims_per_call=50)) == version(
        replace(SHIPPED, claims_per_call=12)
    )


@pytest.mark.parametrize(
    ("extract_model", "api_base", "key"),
    [
        ("openai/small", None, "sk"),
        ("anthropic/small", None, None),
        ("anthropic/small", "http://gateway", "sk"),
    ],
)
def test_a_key_is_for_its_own_provider(
    extract_model: str, api_base: str | None, key: str | None
) -> None:
    """It goes along to another model there or behind one gateway, and never to somebody else."""
    made = replace(
        SHIPPED, extract_model=extract_model, api_base=api_base, api_key="sk", headers={"x": "y"}
    )
    assert made.models() == ("openai/judge", extract_model)
    verify, extract = map(made.of_model, made.models())
    assert (verify.model, verify.api_key) == ("openai/judge", "sk")
    assert (extract.model, extract.api_key, bool(extract.headers)) == (
        extract_model,
        key,
        bool(key),
    )


@pytest.mark.parametrize(
    ("provider", "info", "least"),
    [
        ("openai", {}, None),
        ("openai", {"supports_reasoning": True}, "low"),
        ("openai", {"supports_reasoning": True, "supports_minimal_reasoning_effort": True},
         "minimal"),
        ("azure", {"supports_reasoning": True, "supports_none_reasoning_effort": True}, "none"),
        ("mistral", {"supports_reasoning": True, "reasoning_effort_levels": ["high", "none"]},
         "none"),
        ("gemini", {"supports_reasoning": True}, "minimal"),
        ("anthropic", {"supports_reasoning": True}, None),
        ("vertex_ai", {"supports_reasoning": True, "key": "vertex_ai/claude-x"}, None),
        ("deepseek", {"supports_reasoning": True}, None),
    ],
)  # fmt: skip
def test_minimal_is_the_least_that_a_model_has(
    provider: str, info: dict[str, Any], least: Effort | None
) -> None:
    """Nothing is asked of a model that does not reason, or thinks only when it is asked to."""
    abilities = Abilities.read(provider, frozenset(["reasoning_effort"]), info)
    assert abilities.effort("minimal") == least
    assert Abilities.read(provider, frozenset(), info).effort("high") is None


@pytest.mark.parametrize(
    ("provider", "parameters", "schema", "forms"),
    [
        ("openai", ["response_format"], True, ("json_object",)),
        ("openai", ["response_format"], False, ("json_object",)),
        ("openai", [], True, ("prompt",)),
        ("anthropic", ["response_format"], True, ("patterns", "json_schema")),
        ("bedrock", ["response_format"], False, ("prompt",)),
        ("hosted_vllm", ["response_format"], False, ("patterns", "json_object", "prompt")),
    ],
)
def test_the_cheapest_way_to_json_that_a_model_keeps_to(
    provider: str, parameters: list[str], schema: bool, forms: tuple[str, ...]
) -> None:
    """json_object, else a schema, else the prompt alone; what is configured goes before.

    On a server of one's own patterns, which cost no tokens there.
    """
    info = {"supports_response_schema": schema}
    abilities = Abilities.read(provider, frozenset(parameters), info)
    assert abilities.forms("auto") == forms
    assert abilities.forms("json_schema") == ("patterns", "json_schema")
    assert abilities.forms("prompt") == ("prompt",)


@pytest.mark.parametrize(
    ("model", "api_base", "own"),
    [
        ("judge", "http://127.0.0.1:8080/v1", True),
        ("judge", "https://llm.intern.example:8000/v1", True),
        ("gpt-4o-mini", "https://gateway.example/v1", False),
        ("ft:gpt-4o-mini:acme", "https://eu.api.openai.com/v1", False),
        ("judge", "https://acme.openai.azure.com/openai/v1/", False),
        ("qwen/qwen-2.5-72b", "https://openrouter.ai/api/v1", False),
        ("judge", None, False),
    ],
)
def test_who_serves_a_model_by_openais_protocol(
    model: str, api_base: str | None, own: bool
) -> None:
    """Somebody at an address of their own, unless host or model is a provider's.

    What such a server takes nobody knows, so that the last way is to ask for no format.
    """
    info = {"key": model} if model == "gpt-4o-mini" else {}
    abilities = Abilities.read("openai", frozenset(["response_format"]), info, api_base)
    expected = ("patterns", "json_object", "prompt") if own else ("json_object",)
    assert abilities.forms("auto") == expected


SECRET = {"1": "secret", "2": "secret", "A": "secret"}
REQUESTS: tuple[VerifyRequest | RelevanceRequest | QuoteRequest | ExtractRequest, ...] = (
    VerifyRequest(742, "secret?", SECRET, {"c9": "secret", "r2": "secret"}),
    RelevanceRequest(742, "secret?", {"1": "secret"}),
    QuoteRequest(742, "secret?", {"1": "secret"}, {"c9": "secret"}, (("c9", "1"),)),
    ExtractRequest("secret?", "secret"),
)


@pytest.mark.parametrize("form", ["patterns", "json_schema"])
def test_a_schema_holds_ids_and_no_texts(form: ReplyForm) -> None:
    """The keys of the reply in the order asked, all required, and nothing of the traffic."""
    for request, keys in zip(
        REQUESTS, (["n", "c9", "r2"], ["n", "relevant"], ["n", "c9 1"], ["claims"]), strict=True
    ):
        found = response_format(form, request.task, request.properties) or {}
        schema = found["json_schema"]["schema"]
        assert schema["required"] == list(schema["properties"]) == keys
        assert "secret" not in str(found)
        values = [set(value) for value in schema["properties"].values()]
        assert form == "patterns" or all(value <= {"type", "items"} for value in values)
        assert response_format("prompt", request.task, request.properties) is None


def test_patterns_allow_the_format_and_nothing_else() -> None:
    """One number, and of each line just the tokens asked, a ``+`` only beside no passage with y."""
    verify, relevance, *_ = (request.properties() for request in REQUESTS)
    assert verify["n"] == {"type": "integer", "enum": [742]}
    line = re.compile(str(verify["c9"]["pattern"]))
    for held in ("1y 2n Ay", "1n 2n An", "1n 2n Ay +"):
        assert line.search(held)
    for other in ("1y 2n Ay +", "2n 1n Ay", "1n Ay", "1n 2n Ay Ry", "1n 2n Ay+", "1n  2n Ay", ""):
        assert not line.search(other)
    assert relevance["relevant"]["pattern"] == "^1[yn]$"
