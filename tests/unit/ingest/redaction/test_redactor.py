"""Tokens: one for each value however it is written, left alone when it is done again, counted."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given

from monitor.config import Settings
from monitor.errors import ConfigurationError, MessageRejected
from monitor.ingest.redaction.phones import MOST_LOOKED_UP
from monitor.ingest.redaction.redactor import OFF, RedactionRules, Redactor
from monitor.records import Interaction, Passage, Source
from tests.stages.redaction import TEXTS

REGIONS = Settings().redaction.regions
RULES = RedactionRules(regions=REGIONS)
REDACTOR = Redactor(RULES)


@pytest.mark.parametrize(
    "written",
    [
        ("+49 30 901820", "030/901820", "0049 30 901820", "+49 (0)30 901820"),
        ("+86 138-1234-5678", "138 1234 5678", "13812345678", "１３８１２３４５６７８"),
        ("Bob@Example.com", "bob@example.com", "bob%40example.com", "bob＠example.com"),
        ("4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
    ],
)
def test_a_value_has_one_token_however_it_is_written(written: tuple[str, ...]) -> None:
    """A claim of the response follows from a passage that writes the same number otherwise."""
    (token,) = {REDACTOR.text(each) for each in written}
    assert token.startswith("<")


def test_another_value_has_another_token() -> None:
    """And the same characters as another kind, too."""
    tokens = [REDACTOR.text(f"{i}@example.com") for i in range(100)]
    assert len(set(tokens)) == 100


def test_a_salt_gives_other_tokens_and_the_same_version() -> None:
    """Who does not know it cannot try values; what is found does not depend on it."""
    salted = RedactionRules(regions=REGIONS, salt="s")
    assert Redactor(salted).text("bob@example.com") != REDACTOR.text("bob@example.com")
    assert Redactor(salted).text("bob@example.com") == Redactor(salted).text("bob@example.com")
    assert salted.tag == RULES.tag
    assert "'s'" not in repr(salted)


@pytest.mark.parametrize(
    "other",
    [
        RedactionRules(kinds=("email",), regions=REGIONS),
        RedactionRules(regions=("US",)),
        RedactionRules(regions=REGIONS, patterns={"customer": "C-[0-9]+"}),
        RedactionRules(regions=REGIONS, patterns={"customer": "C-[0-9]*"}),
    ],
)
def test_other_rules_are_another_version(other: RedactionRules) -> None:
    """Scores that were computed from other texts do not mix."""
    assert len({other.tag, RULES.tag, OFF}) == 3


@given(TEXTS)
def test_done_again_it_changes_nothing(text: str) -> None:
    """So that a redacted record that comes back from the dead letters is the same interaction."""
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once


@given(TEXTS)
def test_what_is_around_a_value_stays(text: str) -> None:
    """Without its tokens the text is a part of what it was, in order."""
    signs = iter(text)
    outside = re.split("<[A-Z]+:[0-9a-f]{6}>", REDACTOR.text(text))
    assert all(sign in signs for piece in outside for sign in piece)


def test_every_replacement_is_counted_by_kind() -> None:
    """Twice where a value stands twice."""
    counts = Counter[str]()

    def count(kind: str) -> None:
        counts[kind] += 1

    Redactor(RULES, count).text("bob@example.com, 030/901820, bob@example.com, 5 euros")
    assert counts == {"email": 2, "phone": 1}


def test_without_rules_nothing_is_touched() -> None:
    """Off is off, and says so."""
    redactor = Redactor(None)
    assert redactor.text("bob@example.com") == "bob@example.com"
    assert (redactor.is_on, redactor.tag) == (False, OFF)


def test_only_the_chosen_kinds_are_found() -> None:
    """Cards alone."""
    redactor = Redactor(RedactionRules(kinds=("card",)))
    assert redactor.text("bob@example.com 4111111111111111").startswith("bob@example.com <CARD:")


def test_an_own_pattern_goes_first_and_replaces_its_group() -> None:
    """The rest of the match stays; what it took is not looked at again."""
    redactor = Redactor(
        RedactionRules(regions=REGIONS, patterns={"customer": "customer (C-[0-9]{6})"})
    )
    clean = redactor.text("customer C-123456, 客户 customer C-654321")
    first, second = clean.split(", 客户 ")
    assert first.startswith("customer <CUSTOMER:")
    assert second.startswith("customer <CUSTOMER:")
    assert first != second


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            RedactionRules(patterns={"a": r"(a)\1"}),
            r"redaction.patterns.a: found '(a)\\1', no regular",
        ),
        (
            RedactionRules(patterns={"a": "(?=a)"}),
            "redaction.patterns.a: found '(?=a)', no regular",
        ),
        (
            RedactionRules(patterns={"a": "["}),
            "redaction.patterns.a: found '[', no regular expression",
        ),
        (
            RedactionRules(patterns={"a": "x*"}),
            "redaction.patterns.a: found 'x*', it matches the empty",
        ),
        (RedactionRules(regions=("XX",)), "redaction.regions: found 'XX', expected two letters"),
    ],
)
def test_a_wrong_rule_is_said_at_the_start(rules: RedactionRules, said: str) -> None:
    """With its path, what was found, and why."""
    with pytest.raises(ConfigurationError) as caught:
        Redactor(rules)
    assert str(caught.value).startswith(said)


def test_an_own_pattern_cannot_be_made_to_run_for_ever() -> None:
    """The textbook case of exponential backtracking: an answer, and no match."""
    redactor = Redactor(RedactionRules(kinds=(), patterns={"a": "(a+)+b"}))
    text = "a" * 100_000
    assert redactor.text(text) == text


def test_half_a_character_is_no_bug() -> None:
    """A lone surrogate stays, and what stands after it is found where it is."""
    redactor = Redactor(RedactionRules(patterns={"customer": "C-[0-9]+"}))
    clean = redactor.text("\ud800 C-1 \udc00 bob@example.com")
    assert clean.startswith("\ud800 <CUSTOMER:")
    assert " \udc00 <EMAIL:" in clean


def interaction(text: str) -> Interaction:
    """An interaction with a text in every place."""
    return Interaction(
        interaction_id=text,
        event_time=datetime(2026, 11, 20, 12, tzinfo=UTC),
        application=text,
        user_input=text,
        response=text,
        retrieved_contexts=(Passage(id=text, text=text, score=0.5, relevant=True),) * 2,
        reference=text,
        attributes={"a": [text, {text: text}], "card": 4111111111111111, "n": 5, "x": [True, None]},
        source=Source(topic="t", partition=0, offset=0),
    )


def test_texts_and_attributes_are_redacted_names_and_ids_stay() -> None:
    """A number that is a value is one, too; every other value keeps its type."""
    given = interaction("bob@example.com")
    clean = REDACTOR.interaction(given)
    token = REDACTOR.text("bob@example.com")
    assert (clean.user_input, clean.response, clean.reference) == (token,) * 3
    assert [(p.id, p.text) for p in clean.retrieved_contexts] == [("bob@example.com", token)] * 2
    assert clean.attributes == {
        "a": [token, {token: token}],
        "card": REDACTOR.text("4111111111111111"),
        "n": 5,
        "x": [True, None],
    }
    assert (clean.interaction_id, clean.application) == ("bob@example.com",) * 2
    assert clean.source == given.source


def test_a_text_full_of_numbers_is_not_looked_up_without_an_end() -> None:
    """Beyond the bound the shape will do: nothing slips through, and nothing takes for ever."""
    numbers = [f"+49 30 {i:07d}" for i in range(1_000_000, 1_000_000 + 3 * MOST_LOOKED_UP)]
    clean = REDACTOR.text(", ".join(numbers))
    assert clean.count("<PHONE:") == len(numbers)


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "@", "a@", "a@b.", "1", "1 ", "(1", "+1 ", "1/", "\u00a0 ", "用@例.", "用@中国.1_"),
        *("-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaa.", "://a:", "password:", "A1b", "AB12 "),
        *("555-123-4567 ", "4111 1111 1111 1111 ", "DE89 3704 0044 0532 0130 00 "),
    ],
)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    """250 KB of what a pattern may stumble over end; at quadratic cost they would take hours."""
    text = (piece * 250_000)[:250_000]
    clean = REDACTOR.text(text)
    assert REDACTOR.text(clean) == clean


@pytest.mark.parametrize(
    ("pattern", "text", "left"),
    [
        (r"^\S+ ?", "Anna wrote this text", "wrote this text"),
        (r"\w+ *$", "文本 by Anna", "文本 by "),
        (r"^\S+ ?", "安娜 写的 text", "写的 text"),
        (r"(?m)^\w", "ab\ncd", "b\n|d"),
        (r"[^ ]+", "Anna wrote", "| |"),
    ],
)
def test_an_anchor_holds_where_the_text_was_logged(pattern: str, text: str, left: str) -> None:
    """Not behind a token: else the pattern would find the next word there, until none is left."""
    redactor = Redactor(RedactionRules(kinds=(), patterns={"own": pattern}))
    clean = redactor.text(text)
    assert re.sub("<OWN:[0-9a-f]{6}>", "|", clean).strip("|") == left.strip("|")
    assert redactor.text(clean) == clean


@pytest.mark.parametrize(
    "forged",
    [
        "<AKIAIOSFODNN7EXAMPLE:abc123>",
        "<A_4111111111111111:abc123>",
        "<EMP12345:abc123>",
        "<EMAIL:abc123 bob@example.com>",
    ],
)
def test_nothing_hides_in_brackets_that_only_look_like_a_token(forged: str) -> None:
    """What has the form of a token, but a name that no kind has, is text like any other."""
    redactor = Redactor(RedactionRules(regions=REGIONS, patterns={"staff": r"EMP\d+"}))
    clean = redactor.text(f"see {forged} here")
    assert not re.search("AKIA|4111|EMP1|bob", clean)
    assert redactor.text(clean) == clean


def test_tokens_of_all_built_in_kinds_and_of_own_ones_stay() -> None:
    """Also of kinds that are not looked for here: another monitor may have."""
    redactor = Redactor(RedactionRules(kinds=("email",), patterns={"staff": r"[0-9a-f]{6}"}))
    text = "<KEY:3f2a91><CARD:3f2a91> <IBAN:3f2a91> <PHONE:3f2a91> <EMAIL:3f2a91> <STAFF:3f2a91>"
    assert redactor.text(text) == text
    assert "3f2a91" not in redactor.text("<OTHER:3f2a91>")


def test_a_passage_without_values_is_not_copied() -> None:
    """A record may have a hundred thousand of them."""
    passages = (Passage(text="plain"), Passage(id="p", text="bob@example.com"))
    found = Interaction(
        interaction_id="i",
        event_time=datetime(2026, 1, 1, tzinfo=UTC),
        application="a",
        user_input="q",
        response="r",
        retrieved_contexts=passages,
        source=Source(topic="t", partition=0, offset=0),
    )
    clean = REDACTOR.interaction(found).retrieved_contexts
    assert clean[0] is passages[0]
    assert (clean[1].id, clean[1].text) == ("p", REDACTOR.text("bob@example.com"))


@pytest.mark.parametrize("tail", [r"EMP-\d+(?:[^\n]*;END)?", r"EMP-\d+.*?;END|EMP-\d+"])
def test_a_pattern_that_reads_on_for_ever_is_refused_by_name(tail: str) -> None:
    """Neither in square time nor without its tail; where matches are few, all is found."""
    redactor = Redactor(RedactionRules(kinds=(), patterns={"staff": tail}))
    assert re.fullmatch("see <STAFF:.{6}>", redactor.text("see EMP-1 " + "a" * 10_000 + ";END"))
    with pytest.raises(MessageRejected, match=r"redaction\.patterns\.staff: reads on") as caught:
        redactor.text("EMP-12345 " * 10_000)
    assert (caught.value.stage, caught.value.cause) == ("redact", "redaction_failed")
    assert "EMP" not in str(caught.value)
