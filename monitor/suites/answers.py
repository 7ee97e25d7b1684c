"""The variables of a test → the answer, its passages and its reference. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from monitor.evaluate.noise import as_one_passage, noise_passages
from monitor.records import Passage

#: Names of the question, of the passages, and of the answer, the first that is there.
QUESTIONS: Final = ("query", "question", "user_input")
CONTEXTS: Final = ("contextChunks", "context", "retrieved_contexts")
_QUESTION_SHOWN: Final = 60
RESPONSE: Final = "response"
REFERENCE: Final = "reference"


def question_of(variables: Mapping[str, Any]) -> str:
    """The question; raises ``ValueError``."""
    name = next((name for name in QUESTIONS if name in variables), None)
    if name is None:
        raise ValueError(f"vars: found no question, expected one of {', '.join(QUESTIONS)}")
    return text_of(variables[name], f"vars.{name}")


def numbered(number: int, variables: Mapping[str, Any]) -> str:
    """The name of a test that has none, counted from 0: with its question, or its first text.

    >>> numbered(0, {"topic": "tea", "query": "Why?"}), numbered(1, {"topic": "tea"})
    ('test 1: Why?', 'test 2: tea')
    """
    asked = [str(variables[name]) for name in QUESTIONS if name in variables]
    texts = [each for each in variables.values() if isinstance(each, str)]
    shown = next(iter([*asked, *texts]), "")
    if len(shown) > _QUESTION_SHOWN:
        shown = f"{shown[:_QUESTION_SHOWN]}…"
    return f"test {number + 1}: {shown}" if shown else f"test {number + 1}"


def text_of(found: Any, path: str) -> str:
    """A text that says something; raises ``ValueError``.

    >>> text_of(["a", "b"], "vars.query")
    Traceback (most recent call last):
    ...
    ValueError: vars.query: found a list, expected a text: write a test for each
    """
    if isinstance(found, str) and found.strip():
        return found
    if isinstance(found, list):
        raise ValueError(f"{path}: found a list, expected a text: write a test for each")
    said = "an empty text" if isinstance(found, str) else f"a {type(found).__name__}"
    raise ValueError(f"{path}: found {said}, expected a text")


def passages_of(
    variables: Mapping[str, Any], config: Mapping[str, Any], transformed: Any = None
) -> tuple[Passage, ...]:
    """The passages with their labels, and the noise behind them; raises ``ValueError``.

    ``transformed``, what contextTransform gave, stands in the place of those in ``variables``. A
    context that is one text is one passage that is labelled relevant.

    >>> found = passages_of({"context": "Paris."}, {"noiseContext": "Berlin."})
    >>> [(each.text, each.relevant) for each in found]
    [('Paris.', True), ('Berlin.', False)]
    """
    path, found = "config.contextChunks", config.get("contextChunks")
    if found is None and transformed is not None:
        path, found = "contextTransform", transformed
    elif found is None:
        name = next((name for name in CONTEXTS if variables.get(name) is not None), None)
        path, found = f"vars.{name}", variables.get(name or "")
    noise = config.get("noiseContext") or []
    texts = [noise] if isinstance(noise, str) else noise
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise ValueError("config.noiseContext: expected a text, or a list of texts")
    return (*_passages(found, path), *noise_passages([each for each in texts if each.strip()]))


def _passages(found: Any, path: str) -> Sequence[Passage]:
    if found is None:
        return ()
    if isinstance(found, str):
        return (as_one_passage(found),) if found.strip() else ()
    if not isinstance(found, list):
        raise ValueError(f"{path}: found a {type(found).__name__}, expected a text or a list")
    return [_passage(each, f"{path}.{number}") for number, each in enumerate(found)]


def _passage(found: Any, path: str) -> Passage:
    if isinstance(found, str):
        return Passage(text=found)
    text = found.get("text") if isinstance(found, dict) else None
    if not isinstance(text, str):
        raise ValueError(f"{path}: expected a text, or text and relevant")
    relevant = found.get("relevant")
    if not isinstance(relevant, bool | None):
        raise ValueError(f"{path}.relevant: found {relevant!r}, expected true or false")
    return Passage(text=text, relevant=relevant)
