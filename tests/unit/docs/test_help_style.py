"""Help texts and the meanings of settings are plain: short sentences, in the active voice."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from monitor.cli import app
from tests.prose import measured, passives, sentences, words
from tests.stages.command import rag_monitor

#: Words a sentence, on average over the help of a command, or over a section of the settings.
MOST_WORDS = 17.0
#: In the passive voice: of the sentences of all commands, and of all settings. A setting is often
#: about interactions that are judged, whoever does it.
MOST_PASSIVE_HELP, MOST_PASSIVE_SETTINGS = 0.05, 0.10
#: Of the settings: words of their longest sentence, and semicolons in all meanings together. They
#: are for lists.
LONGEST_SENTENCE, MOST_SEMICOLONS = 30, 10

#: What CONTRIBUTING.md warns of, and a dead letter called by half its name.
AVOIDED = re.compile(
    r"\b(?:nobody|somebody|whoever|stands?)\b|(?<!dead )(?<!dead-)\bletters?\b", re.IGNORECASE
)


def commands(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every command below, with all that its help says."""
    said = [command.help, *(getattr(option, "help", None) for option in command.params)]
    yield name, "\n\n".join(text for text in said if text)
    for part, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {part}")


HELP = dict(commands(typer.main.get_command(app), "rag-monitor"))


@pytest.fixture(scope="module")
def meanings() -> dict[str, str]:
    """Section of the settings → what is said of them; what entries share is said once."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for row in json.loads(rag_monitor("config", "reference", "--json").stdout):
        found[row["path"].partition(".")[0]][row["meaning"]] = None
    return {section: "\n\n".join(said) for section, said in found.items()}


@pytest.mark.parametrize("name", HELP)
def test_help_is_short(name: str) -> None:
    """Whoever asks for it has a command line half typed."""
    assert measured(HELP[name]).mean <= MOST_WORDS


def test_help_says_who_does_it() -> None:
    """Commands do something: their help says so."""
    said = "\n\n".join(HELP.values())
    assert len(passives(said)) <= MOST_PASSIVE_HELP * len(sentences(said))


def test_help_has_a_sentence_for_each_fact() -> None:
    """What follows a semicolon is a second fact; a default stands in brackets."""
    assert [each for said in HELP.values() for each in sentences(said) if ";" in each] == []


def test_settings_are_short(meanings: dict[str, str]) -> None:
    """Each section by itself."""
    assert len(meanings) > 10
    long = {section: measured(said).mean for section, said in meanings.items()}
    assert {section: mean for section, mean in long.items() if mean > MOST_WORDS} == {}


def test_settings_say_who_does_it(meanings: dict[str, str]) -> None:
    """A meaning is an instruction: what to judge, to keep, to try."""
    said = "\n\n".join(dict.fromkeys("\n\n".join(meanings.values()).split("\n\n")))
    assert len(passives(said)) <= MOST_PASSIVE_SETTINGS * len(sentences(said))


def test_no_setting_says_it_all_in_one_sentence(meanings: dict[str, str]) -> None:
    """A second fact is a second sentence, and not what follows a semicolon."""
    said = "\n\n".join(meanings.values())
    assert [each for each in sentences(said) if words(each) > LONGEST_SENTENCE] == []
    assert measured(said).semicolons <= MOST_SEMICOLONS


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Refuses letters with 3 attempts.", ["letters"]),
        ("Where the fields stand, if nobody says it.", ["stand", "nobody"]),
        ("Refuses dead letters with 3 attempts; dead-letters redrive, understands.", []),
    ],
)
def test_avoided_words_are_found(said: str, found: list[str]) -> None:
    """Whole words, and dead letters are none of them."""
    assert AVOIDED.findall(said) == found


def test_words_to_avoid_are_avoided(meanings: dict[str, str]) -> None:
    """In help and settings: those of the style page, and *letter* for a dead letter."""
    said = {**HELP, **meanings}
    assert {
        name: AVOIDED.findall(each) for name, each in said.items() if AVOIDED.search(each)
    } == {}
