"""The words that carry the rules of the judge's instructions: none can change unnoticed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from monitor.judge.pipeline.parsing import VerifyRequest
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.ports import Task
from tests.stages.checklist import (
    EXTRACT,
    PAIR,
    QUOTE,
    RELEVANCE,
    VERIFY,
    Checklist,
    differences,
    split,
)

PROMPTS = load_prompts(evidence=True, relevance=True)
CHECKLISTS: dict[Task, Checklist] = {
    "verify_claims": VERIFY,
    "extract_claims": EXTRACT,
    "judge_relevance": RELEVANCE,
    "quote_evidence": QUOTE,
}
#: Of every task the instructions for one shape: those for the others are held to say the same.
HELD = {
    "verify": (VERIFY, PROMPTS.of("verify_claims", "several_reference")),
    "extract": (EXTRACT, PROMPTS.of("extract_claims", "")),
    "relevance": (RELEVANCE, PROMPTS.of("judge_relevance", "several")),
    "quote": (QUOTE, PROMPTS.of("quote_evidence", "several")),
}
VERIFIED = HELD["verify"][1]
# Changes of meaning: where, what stands there, and what somebody might put in its place.
CHANGES = [
    ("verify", "These must agree", "These need not agree"),
    (
        "verify",
        "y: the document alone supports the whole claim. n: it does not.",
        "n: the document alone supports the whole claim. y: it does not.",
    ),
    ("verify", "These count", "These do not count"),
    ("verify", "listed, then R, then A.", "listed, then A, then R."),
    ("verify", "listed, then A, then R.", "listed, then R, then A."),
    ("verify", "Never leave out, add or reorder an id or a token.", ""),
    ("verify", "The question only tells what words refer to.", "The question counts, too."),
    ("verify", "A shared topic does not", "A shared topic does"),
    ("verify", "half is n", "half is y"),
    ("verify", "whatever other documents say", "given what other documents say"),
    ("verify", "Only if every passage says n.", "Also if a passage says y."),
    ("verify", "Order means nothing.", "Mind the order."),
    ("verify", "No outside knowledge.", "No outside knowledge, but common sense."),
    ("extract", "one fact per claim", "one sentence per claim"),
    ("extract", "Split lists, conjunctions and relative clauses.", "Keep lists together."),
    ("extract", "stays with the fact it limits", "is a claim of its own"),
    ("extract", 'replace "it", "there", "the company" by the name meant', "keep pronouns"),
    ("extract", "Every statement once", "Every important statement once"),
    ("extract", "leave none out", "leave out what is minor"),
    ("extract", "do not translate", "translate into English"),
    ("extract", "never correct, complete or add", "correct them"),
    ("extract", "citation marks, ", ""),
    ("extract", "only there so that you understand the text", "part of the text"),
    ("relevance", "Right or wrong means nothing", "Right or wrong matters"),
    ("relevance", "is enough", "is not enough"),
    ("relevance", "Never leave out", "You may leave out"),
    ("quote", "Word for word", "In short"),
    ("quote", "the value is \"\"", "take the nearest words"),
]  # fmt: skip


@pytest.mark.parametrize("task", CHECKLISTS)
def test_the_instructions_for_every_shape_say_the_same(task: Task) -> None:
    """They differ in their worked examples, and in nothing else."""
    texts = list(PROMPTS.texts[task].values())
    assert len({split(text)[0] for text in texts}) == 1
    assert len(set(texts)) == len(texts)
    assert [differences(CHECKLISTS[task], text) for text in texts] == [[]] * len(texts)


@pytest.mark.parametrize("task", CHECKLISTS)
def test_emptied_instructions_fail_the_checklist(task: Task) -> None:
    """Of a file whose rules are gone every rule is missing, whatever example is left in it."""
    example = "\n".join(split(PROMPTS.longest(task))[1])
    assert differences(CHECKLISTS[task], f"\n\nExample\n{example}") == list(CHECKLISTS[task])


@pytest.mark.parametrize("name", HELD)
def test_the_instructions_say_what_the_checklist_says_and_nothing_beyond(name: str) -> None:
    """Every rule in its own words, once; and no sentence that belongs to no rule."""
    assert differences(*HELD[name]) == []


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_a_change_of_meaning_is_noticed(name: str, old: str, new: str) -> None:
    """Without a look at the hash: the rule is missing, or the new words belong to none."""
    checklist, text = HELD[name]
    assert text.count(old) == 1
    assert differences(checklist, text.replace(old, new))


@pytest.mark.parametrize("name", HELD)
def test_no_word_of_a_rule_can_go_and_none_can_come(name: str) -> None:
    """Any word that is taken out, or any "not" that is put in, is noticed."""
    checklist, text = HELD[name]
    changed = list(_without_a_word(text)) + list(_with_not(text))
    assert len(changed) > 200
    assert [one for one in changed if not differences(checklist, one)] == []


def _without_a_word(text: str) -> Iterator[str]:
    for match in re.finditer(r"[A-Za-z]+", text[: _worked_example(text)]):
        if not _in_example(text, match.start()):
            yield text[: match.start()] + text[match.end() :]


def _with_not(text: str) -> Iterator[str]:
    for match in re.finditer(r"(?<=[a-z]) (?=[a-z])", text[: _worked_example(text)]):
        if not _in_example(text, match.start()):
            yield text[: match.start()] + " not " + text[match.end() :]


def _worked_example(text: str) -> int:
    """Where it begins: the tests of the wire format hold it."""
    return len(split(text)[0])


def _in_example(text: str, at: int) -> bool:
    return any(match.start() <= at < match.end() for match in PAIR.finditer(text))


def test_the_lines_on_the_order_of_tokens_say_the_order_that_is_read() -> None:
    """Passages as listed, then the other text, then the claim's own text."""
    listed = {"2": "", "1": "", "A": "", "R": ""}
    request = VerifyRequest(100, "", listed, {})
    said = re.findall(r"^(c|r)\*: the passages as listed, then (\w), then (\w)\.$", VERIFIED,
                      re.MULTILINE)  # fmt: skip
    assert [kind for kind, *_ in said] == ["c", "r"]
    for kind, first, second in said:
        assert request.asked(f"{kind}1") == ("2", "1", first, second)


def test_the_letters_mean_in_the_examples_what_the_instructions_say() -> None:
    """``y`` supports, ``n`` does not: of a text and itself, and of half a claim."""
    assert "y: the document alone supports the whole claim. n: it does not." in VERIFIED
    assert '"Ice is hot." > "Ice is hot." y' in VERIFIED
    assert '"Ann sings." > "Ann sings and paints." n' in VERIFIED
