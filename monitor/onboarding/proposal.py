"""A guess as the text of a ``monitor.yaml``: beside each line an example, and how many have it.

Pure. What was not found stands there as a line to fill in.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from monitor.evaluate.rows import STDIN
from monitor.onboarding.guess import Guess, GuessedPlace
from monitor.onboarding.names import NAMES, REQUIRED
from monitor.onboarding.trial import quoted
from monitor.runtime.visible import visible

#: Columns before the examples, and characters of one.
_WIDTH, _EXAMPLE = 58, 40
#: Without them there is nothing to judge: they are never marked as what may be absent.
_NEEDED: Final = ("user_input", "response")
#: What YAML reads as a text without quotes.
_BARE = re.compile(r"[A-Za-z_][\w.\[\]-]*", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_MEANT: Final = {
    "user_input": "what the user asked",
    "response": "what the application answered",
    "retrieved_contexts": "the passages that the answering model saw",
    "reference": "a right answer: metrics that need one have no value without",
    "interaction_id": "without one: topic/partition/offset",
    "timestamp": "without one: the broker's time",
    "application": "without one: default",
}

Redact = Callable[[str], str]


class GuessedOf(NamedTuple):
    """What the records are of: a topic, or the file of this ``path`` (``-``: standard input)."""

    topic: str
    path: str | None = None

    @property
    def name(self) -> str:
        """As a comment says it."""
        if self.path is None:
            return self.topic
        return "standard input" if self.path == STDIN else visible(Path(self.path).name)

    @property
    def trial(self) -> str:
        """The command that shows what becomes of them."""
        if self.path is None:
            what = f"--topic {self.topic}"
        else:
            what = "FILE" if self.path == STDIN else visible(shlex.quote(self.path))
        return f"rag-monitor ingest try {what} --config monitor.yaml"


def proposal(guess: Guess, of: GuessedOf, redact: Redact, registry: str | None = None) -> str:
    """The file; ``redact`` cleans an example, ``registry`` is where the schemas are, if anywhere.

    It is read as it is where nothing is missing.
    """
    lines = [
        f"# Guessed from {guess.records} records of {of.name}. Look at each line, then:",
        f"#   {of.trial}",
        "kafka:",
        "  topics:",
        f"    interactions: {_scalar(of.topic)}",
        "ingest:",
        *(["  format: json"] if registry is None else _registered(registry)),
        "  mapping:",
        *_steps(guess),
    ]
    if guess.needs_zone:
        lines.append(_commented("    timezone: UTC", "of times without an offset: check it"))
    for name in NAMES:
        lines += _field(name, guess, redact)
    lines.append(_commented('    # attributes: "*"', "all other fields; or {name: place}"))
    return "\n".join(lines) + "\n"


def _registered(url: str) -> list[str]:
    return ["  format: registry", "  registry:", f"    url: {_scalar(url)}"]


def span_proposal(span_format: str, of: GuessedOf) -> str:
    """The file of a topic of spans, which need no mapping."""
    return (
        f"# Look at the traces: {of.trial}\n"
        f"kafka:\n  topics:\n    interactions: {_scalar(of.topic)}\n"
        f"ingest:\n  format: {span_format}\n"
    )


def _steps(guess: Guess) -> Iterator[str]:
    if guess.parse:
        listed = ", ".join(f'"{path}"' for path in guess.parse)
        yield _commented(f"    parse: [{listed}]", "JSON within texts")
    if guess.unflatten is not None:
        yield _commented(f'    unflatten: "{guess.unflatten}"', "names with dots")


def _field(name: str, guess: Guess, redact: Redact) -> list[str]:
    choice = guess.fields.get(name)
    if choice is None:
        if name in REQUIRED:
            perhaps = ", ".join(guess.perhaps.get(name, ()))
            named = f"; perhaps {perhaps}" if perhaps else ""
            why = f"NOT FOUND, fill in: {_MEANT[name]}{named}"
            return [_commented(f"    {name}:", visible(why))]
        if name in _MEANT:
            why = f"not found; {_MEANT[name]}"
            if name == "interaction_id" and guess.repeated is not None:
                of, distinct = guess.repeated.expression, guess.repeated.found
                why = f"{of} is none, its values repeat ({distinct} distinct); {_MEANT[name]}"
            return [_commented(f"    # {name}:", visible(why))]
        return []
    lacking = guess.records - choice.found
    key = f"{name}?" if lacking and name not in _NEEDED else name
    also = _beside(guess.also) if name == "retrieved_contexts" else []
    return [*also, *_noted(name, lacking, guess.records), *_written(name, key, guess, redact)]


def _beside(places: list[str]) -> list[str]:
    """A choice between names alone is somebody's to look at."""
    if not places:
        return []
    said = f"Passages stand at {', '.join(places)}, too. Which did the answering model see?"
    return [f"    # {visible(said)}"]


def _noted(name: str, lacking: int, records: int) -> Iterator[str]:
    """What it means that some records lack a field."""
    if lacking and name in _NEEDED:
        yield f"    # {lacking} of {records} have no such field, and would be dead letters. Are"
        yield "    # they interactions? Records of another kind belong on a topic of their own."
    elif lacking and name == "retrieved_contexts":
        yield f"    # {lacking} of {records} have no such field: with the ? they count as nothing"
        yield "    # retrieved, and so does every record if the field is moved one day."


def _written(name: str, key: str, guess: Guess, redact: Redact) -> list[str]:
    choice = guess.fields[name]
    if name == "retrieved_contexts" and guess.within:
        first = f"    {key}:"
        from_line = f"      from: {_scalar(choice.expression)}"
        return [
            first,
            _commented(from_line, _example(choice, guess.records, redact)),
            *_within(guess, redact),
        ]
    return [
        _commented(
            f"    {key}: {_scalar(choice.expression)}", _example(choice, guess.records, redact)
        )
    ]


def _within(guess: Guess, redact: Redact) -> Iterator[str]:
    for name, choice in guess.within.items():
        # One passage of each record was looked at, so what all have may still lack in another.
        key = name if name == "text" else f"{name}?"
        example = f"like {_shown(choice.example, redact)}"
        yield _commented(f"      {key}: {_scalar(choice.expression)}", example)
    if "text" not in guess.within:
        yield _commented("      text:", "NOT FOUND, fill in: the text of a passage")


def _example(choice: GuessedPlace, records: int, redact: Redact) -> str:
    return f"in {choice.found} of {records}, like {_shown(choice.example, redact)}"


def _shown(value: Any, redact: Redact) -> str:
    if isinstance(value, str):
        # Digits of a UUID may look like a telephone's.
        text = value if _UUID.fullmatch(value) else redact(value)
        return visible(quoted(text, _EXAMPLE))
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    return visible(redact(json.dumps(value)))


def _scalar(text: str) -> str:
    if _BARE.fullmatch(text) and text.lower() not in _WORDS:
        return text
    quoted_text = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in quoted_text)


def _commented(line: str, comment: str) -> str:
    return f"{line:<{_WIDTH}}  # {comment}"
