"""What a model is asked beside a pair, and how probable its yes was. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import takewhile
from typing import Any, Final

from monitor.judge.pipeline.pairing import WORDS, word

#: Of a reply of one word, with whatever ends it.
MOST_TOKENS: Final = 8
#: Alternatives to the first token that are asked for; the most that every server gives.
ALTERNATIVES: Final = 5
#: How SentencePiece and byte-level tokenizers write space, new line and tab.
_SPACES: Final = str.maketrans({"\u2581": " ", "\u0120": " ", "\u010a": "\n", "\u0109": "\t"})
_EVEN: Final = 0.5
_END: Final = re.compile(r"<[^<>]+>")


def arguments(told: Mapping[str, Any], usual_tokens: int, *, weighed: bool) -> dict[str, Any]:
    """The same arguments for a reply of one word, ``weighed`` with its probability.

    ``told`` holds ``max_tokens``: ``usual_tokens`` and room for reasoning, which stays.
    """
    most = told["max_tokens"] - usual_tokens + MOST_TOKENS
    logprobs = {"logprobs": True, "top_logprobs": ALTERNATIVES} if weighed else {}
    return {**told, "max_tokens": most, **logprobs}


def probability(choice: Any, reply: str, *, said: bool) -> float | None:
    """Of yes against no at the first token of a ``reply`` that has ``said`` one of them.

    Both words count in whatever case and spacing the server's alternatives have them. None where
    nothing sure is told of this word: then the word itself counts. The tokens must be the reply's
    own, since some servers tell those of its thoughts before them. Where the first one only begins
    the word, as ``N`` before ``O``, all that begin a word count for it. Nobody knows how those
    would have gone on, so that a share against the word is none.
    """
    content = _get(_get(choice, "logprobs"), "content")
    tokens = list(takewhile(_is_text, content if isinstance(content, list) else ()))
    taken = next((token for token in tokens if _text(token).strip()), None)
    if "".join(map(_text, tokens)).strip() != reply.strip() or _begun(taken) is not said:
        return None
    is_whole = word(_text(taken)) is said
    share = _share(taken, lambda token: word(_text(token)) if is_whole else _begun(token))
    return share if is_whole or share is None or (share >= _EVEN) is said else None


def _share(taken: Any, answer: Callable[[Any], bool | None]) -> float | None:
    """That of yes among all that are an answer; None where the token that was taken has none."""
    told = _get(taken, "top_logprobs")
    others = told if isinstance(told, list) else []
    # Most servers name the token that was taken among its alternatives once more. Two that are
    # written alike are two: some servers leave out the space that one of them begins with.
    is_named = any(_text(other) == _text(taken) and _weight(other) for other in others)
    tokens = others if is_named else [taken, *others]
    once = dict.fromkeys((_text(token), _weight(token), answer(token)) for token in tokens)
    yes = sum(weight for _, weight, found in once if found is True)
    no = sum(weight for _, weight, found in once if found is False)
    return yes / (yes + no) if _weight(taken) else None


def _begun(token: Any) -> bool | None:
    """Which of the words a token is, or begins."""
    letters = _text(token).strip().lower()
    found = (answer for name, answer in WORDS.items() if letters and name.startswith(letters))
    return next(found, None)


def _weight(token: Any) -> float:
    """How probable it is; nothing where what is told is no probability."""
    told = _get(token, "logprob")
    if isinstance(told, bool):
        return 0.0
    with suppress(TypeError, ValueError, OverflowError):  # a word, a list, 400 digits
        logprob = float(told)
        return math.exp(logprob) if logprob <= 0.0 else 0.0
    return 0.0


def _text(token: Any) -> str:
    """Of a token, with spaces that some servers leave as their tokenizers write them."""
    return str(_get(token, "token") or "").translate(_SPACES)


def _is_text(token: Any) -> bool:
    """Whether it is none of those that only end a reply, as ``<|im_end|>``."""
    return _END.fullmatch(_text(token).strip()) is None


def _get(found: Any, name: str) -> Any:
    """Of an object of the library, or of JSON."""
    return found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
