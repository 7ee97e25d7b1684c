"""Values next to each other: all are found, in a few rounds, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import Settings
from monitor.errors import MessageRejected
from monitor.ingest.redaction.matches import TextMatch
from monitor.ingest.redaction.pieces import MOST_ROUNDS, Piece, Search, replaced
from monitor.ingest.redaction.redactor import RedactionRules, Redactor

REGIONS = Settings().redaction.regions
#: Digits in sixes: of a run of them each is found when the one before it is a token.
OWN = {"six": r"\b[0-9]{6}"}
#: A value and what stands before the next one. With most of them each pass over the text used to
#: find one more.
CHAINS = {
    "cards_in_csv": "4111111111111111,",
    "cards_with_dots": "4111111111111111.",
    "cards_with_blanks_in_csv": "4111 1111 1111 1111,",
    "phones_end_to_end": "+49 30 901820",
    "phones_with_brackets": "030 901820(",
    "phones_with_dots": "01 42 68 53 00.",
    "emails_with_underscores": "bob@example.com_",
    "placed_secrets": "password:" + "a1" * 100,
    "own": "123456",
    "cards_and_phones": "4111111111111111+49 30 901820,",
    "ibans": "DE89370400440532013000,",
    "keys": "sk-" + "abcDEF0123456789" * 2 + ",",
}

#: The share of values that is found, where it is not all: the local part of an address may have
#: underscores, so that it begins in the address before; and a number behind a dot is none, but for
#: those at the end.
LEAST = {"emails_with_underscores": 0.5, "phones_with_dots": 0.9}


class Counting:
    """A search that counts how often it is asked, and about how many characters."""

    def __init__(self, search: Search) -> None:
        self._search, self.kind = search, search.kind
        self.characters = 0

    def __call__(self, piece: Piece) -> Iterable[TextMatch]:
        self.characters += len(piece.text)
        return self._search(piece)

    def sure(self, piece: Piece) -> int:
        """As the search says."""
        return self._search.sure(piece)


def searched(text: str) -> tuple[str, int]:
    """The text with the kinds of its values, and how many characters all searches have seen."""
    redactor = Redactor(RedactionRules(regions=REGIONS, patterns=OWN))
    searches = [Counting(search) for search in redactor.searches()]
    clean = replaced(text, searches, lambda kind, value: f"<{kind.upper()}:000000>")
    return clean, sum(search.characters for search in searches)


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_searched_does_not_grow_faster_than_the_chain(name: str) -> None:
    """Eight times as long a chain: at most ten times as much; with a pass a value it was 64."""
    unit = CHAINS[name]
    few = max(40, 2_000 // len(unit))
    _, short = searched(unit * few)
    clean, long = searched(unit * 8 * few)
    assert long <= 10 * short
    assert clean.count(":000000>") >= LEAST.get(name, 1.0) * 8 * few


@pytest.mark.parametrize("name", CHAINS)
def test_of_a_chain_each_value_is_found(name: str) -> None:
    """And done again it stays."""
    redactor = Redactor(RedactionRules(regions=REGIONS, patterns=OWN if name == "own" else {}))
    clean = redactor.text(CHAINS[name] * 60)
    assert redactor.text(clean) == clean
    assert clean.count(">") >= LEAST.get(name, 1.0) * 60


@given(
    st.lists(
        st.sampled_from([*CHAINS.values(), "4111 1111 1111 1111", "bob@example.com", "+", "0"]),
        max_size=40,
    ).map("".join)
)
def test_mixed_chains_have_an_end(text: str) -> None:
    """In the rounds that there are; and done again they stay."""
    redactor = Redactor(RedactionRules(regions=REGIONS, patterns=OWN))
    clean = redactor.text(text)
    assert redactor.text(clean) == clean


def test_in_a_chain_a_value_has_all_of_its_tail() -> None:
    """Also where that is longer than what is looked at near a token."""
    redactor = Redactor(RedactionRules(patterns={"staff": r"\bEMP\d(?:[^\n]*;END)?"}))
    clean = redactor.text(
        "4111111111111111," * 30 + "4111111111111111EMP1 " + "secret " * 200 + ";END"
    )
    assert "secret" not in clean


class Never:
    """Finds the first sign of every piece: there is always one more."""

    kind = "never"

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, piece: Piece) -> Iterator[TextMatch]:
        self.asked += 1
        # Only of whole pieces, and not of what is looked at near a token: each round takes one.
        if len(piece.text) > 10_000:
            yield TextMatch(0, 1, piece.text[0])

    def sure(self, piece: Piece) -> int:
        """Nothing goes on."""
        return len(piece.text)


def test_a_text_without_an_end_is_refused() -> None:
    """After so many rounds, with the cause of a failed redaction and none of the text."""
    never = Never()
    with pytest.raises(MessageRejected, match="12 rounds find no end") as caught:
        replaced("secret" * 10_000, [never], lambda kind, value: "<NEVER:000000>")
    assert (caught.value.stage, caught.value.cause) == ("redact", "redaction_failed")
    assert "secret" not in str(caught.value)
    assert never.asked < 10 * MOST_ROUNDS


def test_what_holds_nothing_is_searched_once() -> None:
    """Also by a round that the others need: a text is not read again for one value in it."""
    text = "The warranty lasts 24 months. " * 100
    _, once = searched(text)
    _, twice = searched(f"{text} bob@example.com {text}")
    assert once == len(text) * len(Redactor(RedactionRules(patterns=OWN)).searches())
    assert twice <= 4.5 * once
