"""What is passed over for its shortness holds nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.ingest.redaction.kinds import BUILT_IN, too_short
from monitor.ingest.redaction.phones import phones

PIECES = ["sk-", "xoxb-", "hf_", "token=", "密码:", "Bearer ", "://", "+", "a", "Bc", " ", ".", "٣"]
TEXTS = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=8).map("".join)
FINDERS = {**BUILT_IN, "phone": phones(("US", "DE"))()}


@pytest.mark.parametrize("kind", FINDERS)
@given(text=TEXTS)
@example(text="xoxb-abcdefghi")
@example(text="://bob:secret/")
def test_nothing_is_found_in_what_is_too_short(kind: str, text: str) -> None:
    """No built-in kind has a value in such a text."""
    if too_short(text):
        assert list(FINDERS[kind](text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "xoxb-abcdefghij",
        "a@b.co",
        "a\uff20b.co",
        "a%40b.co",
        "pwd=abcdefg1",
        "+493012345",
        "a@b.de",
    ],
)
def test_the_shortest_values_are_not_passed_over(text: str) -> None:
    """The shortest key, address, password and number that there are."""
    assert not too_short(text)
