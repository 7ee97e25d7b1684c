"""What a model is asked beside a pair, and how probable its yes was. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from monitor.judge.pipeline.pairing import word

#: Of a reply of one word, with whatever ends it.
MOST_TOKENS: Final = 8
#: Alternatives to the first token that are asked for; the most that every server gives.
ALTERNATIVES: Final = 5


def arguments(told: Mapping[str, Any], usual_tokens: int, *, weighed: bool) -> dict[str, Any]:
    """The same arguments for a reply of one word, ``weighed`` with its probability.

    ``told`` holds ``max_tokens``: ``usual_tokens`` and room for reasoning, which stays.
    """
    most = told["max_tokens"] - usual_tokens + MOST_TOKENS
    logprobs = {"logprobs": True, "top_logprobs": ALTERNATIVES} if weighed else {}
    return {**told, "max_tokens": most, **logprobs}


def probability(choice: Any) -> float | None:
    """Of yes against no at the first word of a completion's choice; None where nothing is told.

    Both words count in whatever case and spacing the server's alternatives have them.
    """
    content = _get(_get(choice, "logprobs"), "content")
    for token in content if isinstance(content, list) else ():
        if str(_get(token, "token") or "").strip():
            told = _get(token, "top_logprobs")
            return _of([token, *(told if isinstance(told, list) else ())])
    return None


def _of(tokens: Iterable[Any]) -> float | None:
    weights = {True: 0.0, False: 0.0}
    # Most servers name the token that was taken among its alternatives once more.
    for text, logprob in {str(_get(t, "token")): _get(t, "logprob") for t in tokens}.items():
        answer = word(text)
        if answer is not None and isinstance(logprob, int | float) and logprob <= 0:
            weights[answer] += math.exp(logprob)
    total = weights[True] + weights[False]
    return weights[True] / total if total > 0 else None


def _get(found: Any, name: str) -> Any:
    """Of an object of the library, or of JSON."""
    return found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
