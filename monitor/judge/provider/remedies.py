"""Why a judge gave no judgement, in words, and what to do about it. Pure."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, NamedTuple

from monitor.judge.provider.faults import NO_KEY, NO_PROVIDER


class Remedy(NamedTuple):
    """What a reason means, and what to do."""

    what: str
    mend: str


#: By the reason of a failed judgement.
REMEDIES: Final = MappingProxyType(
    {
        "auth": Remedy(
            "the provider refuses this key",
            "check judge.api_key, or the provider's own variable, and the rights of the account",
        ),
        "rate_limited": Remedy(
            "the provider takes no more requests now",
            "wait, or ask the provider for a higher limit",
        ),
        "timeout": Remedy(
            "no answer in time",
            "check judge.api_base, and judge.attempt_timeout_s for a slow model",
        ),
        "deadline": Remedy("no judgement in time", "raise judge.deadline_s, or take a fast model"),
        "connection": Remedy(
            "the provider cannot be reached",
            "check judge.api_base, and that this machine may connect to it",
        ),
        "rejected": Remedy(
            "the provider refuses the request", "check judge.model and judge.api_base"
        ),
        "server_error": Remedy(
            "the provider has an error", "wait, and see its status page or its log"
        ),
        "malformed_reply": Remedy(
            "the model does not keep to the JSON format",
            "take a stronger model, or set judge.structured to a form that its provider supports",
        ),
        "verifier": Remedy(
            "judge.verifier does not give a probability for each pair",
            "call the function with one pair, as the page verifier shows",
        ),
        "output_limit": Remedy(
            "the reply is cut at the output limit", "take a model that answers only the question"
        ),
    }
)
#: Where a pair is asked about, what is said of any other malformed reply is not true.
_NO_WORD: Final = Remedy(
    "the model does not answer in one word, yes or no",
    "take another model; rag-monitor judge-check measures it",
)
#: Providers whose own variable is called after them.
_NAMED: Final = frozenset(
    ("anthropic", "cohere", "deepseek", "gemini", "groq", "mistral", "openai", "openrouter", "xai")
)


def remedy(reason: str, found: str | None = None) -> Remedy:
    """That of a reason, with what was ``found``; of one that is not known its name.

    >>> remedy("malformed_reply", "judge_pair: the reply holds no message").what
    'the model does not answer in one word, yes or no'
    """
    if reason == "malformed_reply" and found is not None and found.startswith("judge_pair:"):
        return _NO_WORD
    otherwise = Remedy(reason, "see the provider's documentation of this error")
    return REMEDIES.get(reason, otherwise)


def failure_in_words(reason: str, model: str, found: str | None) -> str:
    """The reason, what it means, what the provider said in short, and what to do.

    >>> failure_in_words("auth", "openai/gpt-4o-mini", "status 401 invalid_api_key")
    'auth: the provider refuses this key (status 401 invalid_api_key): set OPENAI_API_KEY or \
judge.api_key'
    >>> failure_in_words("rejected", "gpt-4o-mni", NO_PROVIDER)
    "rejected: no provider is known for 'gpt-4o-mni': expected a litellm name like \
openai/gpt-4o-mini"
    >>> failure_in_words("usd_per_day", "m", None)
    'usd_per_day'
    """
    if found == NO_PROVIDER:
        return f"{reason}: {found} for {model!r}: expected a litellm name like openai/gpt-4o-mini"
    if reason not in REMEDIES:
        return f"{reason} ({found})" if found else reason
    what, mend = remedy(reason, found)
    provider = model.partition("/")[0]
    if reason == "auth" and provider in _NAMED:
        mend = f"set {provider.upper()}_API_KEY or judge.api_key"
    if found == NO_KEY:
        return f"{reason}: {found}: {mend}"
    return f"{reason}: {what}{f' ({found})' if found else ''}: {mend}"
