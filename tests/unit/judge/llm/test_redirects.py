"""A provider that redirects is an error: texts, key and headers go where they are sent."""

from __future__ import annotations

import pytest

from monitor.config import load
from monitor.errors import ConfigurationError, JudgeFailed
from monitor.judge.llm.judge import LlmClient, LlmSettings
from monitor.judge.provider.faults import CallFailed
from monitor.judge.provider.refusals import Action
from tests.stages.redirects import serving

#: OpenAI's library, Azure's, and litellm's own clients; by aiohttp_openai/ it would follow.
MODELS = (
    "openai/gpt-4o-mini",
    "some-model",
    "anthropic/claude-3-5-haiku-latest",
    "azure/gpt-4o",
    "mistral/mistral-small-latest",
    "groq/llama-3.1-8b-instant",
    "gemini/gemini-2.0-flash",
    "ollama_chat/llama3",
    "huggingface/meta/llama",
)


@pytest.mark.parametrize("model", MODELS)
async def test_nobody_is_followed(model: str) -> None:
    """One request, none to the other host; the error names the host, and nothing else of it."""
    async with serving() as gateway, serving() as other:
        gateway.status, gateway.location = 307, f"{other.url}/v1/elsewhere?token=SECRET"
        client = LlmClient(
            LlmSettings(
                model,
                api_base=f"{gateway.url}/v1",
                api_key="sk-key",
                headers={"x-gateway": "SECRET"},
                retries=0,
            )
        )
        with pytest.raises(JudgeFailed) as caught:
            await client("extract_claims", "system", "TEXTS")
        await client.aclose()
    assert (len(gateway.requests), other.requests) == (1, [])
    assert isinstance(caught.value, CallFailed)
    assert "SECRET" not in str(caught.value)
    assert (caught.value.reason, caught.value.fault.action) == ("rejected", Action.STOP)
    assert str(caught.value) == f"status 307 redirects to {other.url.removeprefix('http://')}"


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("/v1/other", "another path"),
        ("https://user:SECRET@[::1]:8080/?key=SECRET", "::1:8080"),
        ("http://a b/SECRET", "an address that is none"),
        ("http://[SECRET", "another path"),
    ],
)
async def test_the_host_is_all_that_is_said(location: str, said: str) -> None:
    """Of whatever the answer holds."""
    async with serving() as gateway:
        gateway.status, gateway.location = 302, location
        made = LlmSettings("some-model", api_base=gateway.url, api_key="k", retries=0)
        client = LlmClient(made)
        with pytest.raises(CallFailed) as caught:
            await client("extract_claims", "system", "TEXTS")
        await client.aclose()
    assert str(caught.value) == f"status 302 redirects to {said}"


@pytest.mark.parametrize("key", ["model", "extract_model", "fallback_models"])
def test_the_way_that_follows_is_no_setting(key: str) -> None:
    """The name that does the same is in the message."""
    flags = {"judge.kind": "llm", "judge.model": "openai/m", f"judge.{key}": "aiohttp_openai/x"}
    with pytest.raises(ConfigurationError, match="found 'aiohttp_openai/x', expected openai/x"):
        load({}, flags=flags)
