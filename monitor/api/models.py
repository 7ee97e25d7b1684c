"""A model as ragas users name it: with the client that asks it."""

from __future__ import annotations

from typing import Any, Final

from monitor.api.arguments import known_or_left_out
from monitor.api.judges import NamedModel

#: Arguments of ragas that a judge has settings for → what there is instead.
_OF_RAGAS: Final = {
    "max_tokens": "set judge.max_tokens",
    "temperature": "the judge asks at its own, 0 where the model takes it",
    "top_p": "the judge leaves it to the provider",
    "adapter": "litellm asks every provider; how replies are structured is judge.structured",
    "cache": "set judge.cache",
}


@known_or_left_out(_OF_RAGAS)
def llm_factory(model: str, provider: str = "openai", client: Any = None) -> NamedModel:
    """The model as a judge; of the client its address and key are taken.

    ``client`` is one like ``openai.AsyncOpenAI``, and need not be there: then provider, address and
    key are those of the settings and the environment.

    >>> llm_factory("gpt-4o-mini").flags
    {'judge.kind': 'llm', 'judge.model': 'openai/gpt-4o-mini'}
    """
    name = model if model.startswith(f"{provider}/") else f"{provider}/{model}"
    flags: dict[str, Any] = {"judge.kind": "llm", "judge.model": name}
    if getattr(client, "base_url", None) is not None:
        flags["judge.api_base"] = str(client.base_url).rstrip("/")
    if isinstance(getattr(client, "api_key", None), str) and client.api_key:
        flags["judge.api_key"] = client.api_key
    return NamedModel(flags)
