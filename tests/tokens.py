"""Token counts without a network: OpenAI's cl100k_base, as it comes with litellm."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken


@cache
def _encoding() -> tiktoken.Encoding:
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        raise RuntimeError("litellm, whose tokenizer files are used, is not installed")
    # Without it tiktoken downloads the vocabulary.
    tokenizers = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(tokenizers)
    return tiktoken.get_encoding("cl100k_base")


def count_tokens(text: str) -> int:
    """The tokens of a text, in which nothing is special."""
    return len(_encoding().encode(text, disallowed_special=()))
