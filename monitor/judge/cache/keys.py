"""Under which key something is kept: a hash of content and version, so no text stands in it. Pure.

What would be answered differently has another key: another text or question, another model, prompt
or pipeline. A new version starts with an empty cache, and the old entries run out.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from monitor.records import Interaction, JudgeIdentity

#: Part of every key: raised when values are written in another form.
FORM = "1"


def claims_key(version: Iterable[str], question: str, text: str) -> str:
    """The key of the claims of a text; ``version`` is all else that decides what they are.

    >>> claims_key(["m"], "ab", "c") == claims_key(["m"], "a", "bc")
    False
    >>> claims_key(["m"], "q", "t") == claims_key(["n"], "q", "t")
    False
    """
    return f"claims:{_hash(b'claims', [*version, question, text])}"


def judgement_key(judge: JudgeIdentity, interaction: Interaction) -> str:
    """The key of a whole judgement: all texts in their order, and which judge.

    Neither the id nor the time: the same content under another id is judged the same.
    """
    parts = [*_of(judge), interaction.user_input, interaction.response]
    parts += ["-"] if interaction.reference is None else ["+", interaction.reference]
    for passage in interaction.retrieved_contexts:
        parts += [passage.text, str(passage.relevant)]
    return f"judgement:{_hash(b'judgement', parts)}"


def judge_key(configured: JudgeIdentity) -> str:
    """The key of who answered last for a judge as it is configured."""
    return f"judge:{_hash(b'judge', _of(configured))}"


def _of(judge: JudgeIdentity) -> list[str]:
    return [judge.name, judge.version, judge.model, judge.prompts, judge.pipeline]


def _hash(purpose: bytes, parts: Iterable[str]) -> str:
    digest = blake2b(digest_size=20, person=purpose)
    for part in (FORM, *parts):
        # Half characters may stand in a text that nothing has refused yet.
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()
