"""Looking only where a hint stands finds what looking everywhere finds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from monitor.ingest.redaction import keys

PIECES = (
    *(
        "sk-",
        "xoxb-",
        "-",
        "-----",
        "------BEGIN ",
        "BEGIN RSA PRIVATE KEY-----",
        "sk_live_",
        "SG.",
    ),
    *(
        "AKIA",
        "ya29.",
        "eyJ",
        "gh",
        "p_",
        "0123456789ABCDEF",
        "abcdefghijklmnopqrstuvwxyz0123456789",
    ),
    *("key", "Token", "secret", "api_", "access ", "passWord", "密码", "是", "=", ":", " ", "\n"),
    *("://", "u:p@", "@", "Bearer ", "abcdefg12", "a", "B3", "İ", "ſ"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


def spans(matches: Iterator[re.Match[str]]) -> list[tuple[int, int]]:
    """Where they are."""
    return [match.span() for match in matches]


@given(TEXTS)
@example("------BEGIN PRIVATE KEY-----")
@example("İİ client access key = abcdefg12")
@example("https://u:p@host, secret_access_key: 'abcdefg12")
def test_hints_lose_nothing(text: str) -> None:
    """Keys of known makes, and secrets by their place."""
    assert spans(keys.known_makes(text)) == spans(keys.KNOWN_MAKE.finditer(text))
    placed = keys.secret_places(text, keys.in_lower_case(text))
    assert spans(placed) == spans(keys.PLACED.finditer(text))
