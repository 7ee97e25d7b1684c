"""What a model can be told beside its messages, and what it therefore is told. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from monitor.judge.pipeline.identity import Effort, Structured
from monitor.judge.ports import Task

Properties = Callable[[], Mapping[str, Mapping[str, object]]]
ReplyForm = Literal["patterns", "json_schema", "json_object", "prompt"]
"""How a model is held to JSON; ``patterns``: by a schema that allows the format, nothing else."""
_EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high")
_JSON_OBJECT: Mapping[str, Any] = {"type": "json_object"}
#: Providers' hosts, also those above. They have names of their own for the client library, too.
_PROVIDERS: Final = (
    *("openai.com", "openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"),
    *("openrouter.ai", "anthropic.com", "googleapis.com", "mistral.ai", "groq.com", "x.ai"),
    *("deepseek.com", "together.ai", "together.xyz", "fireworks.ai", "deepinfra.com"),
    *("aliyuncs.com", "moonshot.ai", "moonshot.cn", "bigmodel.cn", "siliconflow.cn"),
    *("cohere.com", "cohere.ai", "perplexity.ai", "nvidia.com", "huggingface.co", "cerebras.ai"),
)
#: Thinking costs output tokens: so much room is given to it beside that of the reply.
REASONING_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Abilities:
    """What is known of a model.

    ``json_mode``: it can be held to any JSON object; ``json_schema``: to one of given shape.
    ``own_server``: somebody serves it at an address of their own, where a schema is a grammar and
    costs no tokens. What such a server takes nobody knows before it is asked.
    ``efforts``: those of reasoning, from none up, empty for a model that does not reason, or only
    when it is asked to.
    """

    json_mode: bool = True
    json_schema: bool = False
    own_server: bool = False
    efforts: tuple[Effort, ...] = ()

    @classmethod
    def read(
        cls,
        provider: str,
        parameters: frozenset[str],
        info: Mapping[str, Any],
        api_base: str | None = None,
    ) -> Abilities:
        """From a provider's parameters and the client library's table of models.

        A model of OpenAI's at another ``api_base`` is behind a gateway, which pays for a schema.
        """
        formats = "response_format" in parameters
        # These know schemas only: the library leaves a plain json_object out without a word.
        schema_only = provider in ("anthropic", "bedrock", "bedrock_converse")
        return cls(
            json_mode=formats and not schema_only,
            json_schema=formats and bool(info.get("supports_response_schema")),
            own_server=formats
            and (
                provider == "hosted_vllm"
                or (provider == "openai" and not info and _is_ones_own(api_base))
            ),
            efforts=_efforts(provider, info) if "reasoning_effort" in parameters else (),
        )

    def forms(self, wanted: Structured) -> tuple[ReplyForm, ...]:
        """The ways to ask for JSON: as wanted, or the cheapest that the model keeps to.

        Each of the others is for a provider that refuses those before it.
        """
        if wanted == "json_schema":
            return "patterns", "json_schema"
        if wanted != "auto":
            return (wanted,)
        if self.own_server:
            return "patterns", "json_object", "prompt"
        # A schema names every claim: some 250 tokens a call.
        if self.json_mode:
            return ("json_object",)
        return ("patterns", "json_schema") if self.json_schema else ("prompt",)

    def effort(self, wanted: Effort) -> Effort | None:
        """The effort to ask for, None to ask for none; ``minimal`` is the least that there is."""
        if not self.efforts or wanted == "minimal":
            return self.efforts[0] if self.efforts else None
        return wanted


def _is_ones_own(api_base: str | None) -> bool:
    """Whether it is no provider's that is known to offer OpenAI's protocol, and sell tokens.

    >>> _is_ones_own("http://127.0.0.1:8080/v1"), _is_ones_own("https://eu.api.openai.com/v1")
    (True, False)
    """
    host = urlsplit(api_base or "").hostname
    return host is not None and not any(
        host == name or host.endswith(f".{name}") for name in _PROVIDERS
    )


def response_format(
    form: ReplyForm, task: Task, properties: Properties | None
) -> Mapping[str, Any] | None:
    """The parameter of that name, or None; no traffic text is in it.

    ``properties`` gives the keys of the reply, each with the JSON schema of its value.
    """
    if form == "json_object":
        return _JSON_OBJECT
    if form == "prompt" or properties is None:
        return None
    named = properties()
    if form == "json_schema":
        named = {key: _plain(schema) for key, schema in named.items()}
    return {
        "type": "json_schema",
        "json_schema": {"name": task, "strict": True, "schema": _schema(named)},
    }


def has_patterns(properties: Properties | None) -> bool:
    """Whether the reply has keys whose values a pattern holds: claims and quotes are free."""
    return properties is not None and any("pattern" in value for value in properties().values())


def _schema(properties: Mapping[str, Mapping[str, object]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _plain(schema: Mapping[str, object]) -> dict[str, object]:
    """The schema of a value by its type alone, which every provider takes."""
    return {key: value for key, value in schema.items() if key in ("type", "items")}


def _efforts(provider: str, info: Mapping[str, Any]) -> tuple[Effort, ...]:
    if not info.get("supports_reasoning"):
        return ()
    levels = info.get("reasoning_effort_levels")
    if levels:
        return tuple(effort for effort in _EFFORTS if effort in levels)
    # Where thinking is off until a request asks for it, the least is not to ask.
    if provider not in ("openai", "azure", "gemini", "vertex_ai") or _is_claude(info):
        return ()
    lowest = provider in ("gemini", "vertex_ai") or info.get("supports_minimal_reasoning_effort")
    none = info.get("supports_none_reasoning_effort")
    known = {"none": bool(none), "minimal": bool(lowest)}
    return tuple(effort for effort in _EFFORTS if known.get(effort, True))


def _is_claude(info: Mapping[str, Any]) -> bool:
    return "claude" in str(info.get("key", ""))
