"""Noise that is known: passages that are appended to what was retrieved. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from monitor.errors import ConfigurationError
from monitor.records import Interaction, Passage

#: Id of the passage that is all of a context.
WHOLE_CONTEXT: Final = "whole-context"
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")


def noise_texts(text: str, name: str) -> list[str]:
    """The passages of a file: a JSON list, JSON lines, or paragraphs with blank lines between.

    In JSON a passage is a text, or an object with ``text``. Raises ``ConfigurationError``.

    >>> noise_texts('[{"text": "Rome."}, "Madrid."]', "noise.json")
    ['Rome.', 'Madrid.']
    """
    try:
        if text.lstrip().startswith("["):
            found = json.loads(text)
        elif name.endswith((".jsonl", ".ndjson")):
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            found = [each.strip() for each in _PARAGRAPHS.split(text)]
    except ValueError as error:
        raise ConfigurationError(f"--noise-context {name}: is no JSON: {error}") from None
    chosen = []
    for number, each in enumerate(found, 1):
        passage = each.get("text") if isinstance(each, dict) else each
        if not isinstance(passage, str):
            raise ConfigurationError(
                f"--noise-context {name}: passage {number}: expected a text, or an object with text"
            )
        if passage.strip():
            chosen.append(passage)
    if not chosen:
        raise ConfigurationError(f"--noise-context {name}: is empty, expected passages")
    return chosen


def noise_passages(texts: Sequence[str]) -> tuple[Passage, ...]:
    """The texts as passages that are labelled irrelevant, with ids that say what they are.

    >>> noise_passages(["Rome is famous for pasta."])[0].id
    'noise-1'
    """
    return tuple(
        Passage(id=f"noise-{number}", text=text, relevant=False)
        for number, text in enumerate(texts, 1)
    )


def with_noise(interaction: Interaction, noise: Sequence[Passage]) -> Interaction:
    """The interaction with ``noise`` behind its own passages, whose labels stay as they are."""
    if not noise:
        return interaction
    passages = (*interaction.retrieved_contexts, *noise)
    return interaction.model_copy(update={"retrieved_contexts": passages})


def as_one_passage(text: str) -> Passage:
    """A context that is a single text: one passage, and as such labelled relevant.

    >>> as_one_passage("Paris is the capital of France.").relevant
    True
    """
    return Passage(id=WHOLE_CONTEXT, text=text, relevant=True)


def is_one_passage(passages: Sequence[Passage]) -> bool:
    """Whether the context was a single text.

    >>> is_one_passage([as_one_passage("Paris.")]), is_one_passage([Passage(text="Paris.")])
    (True, False)
    """
    return len(passages) == 1 and passages[0].id == WHOLE_CONTEXT
