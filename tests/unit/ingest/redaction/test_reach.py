"""Matches in windows: the same as in the whole text, or none at all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.ingest.redaction import reach
from monitor.ingest.redaction.reach import Found, Reach, ReadTooFar
from monitor.runtime import patterns

#: Of all syntax that RE2 has.
PATTERNS = (
    r"EMP-\d+(?:[^\n]*;END)?",
    r"secret.*?end|secret",
    r"\b[0-9]{6}",
    r"ab*?c?|b+$",
    r"^a+|b\b",
    r"(?m)^a.*$",
    r"(?s)a.*b|a",
    r"(a|ab)(c|bcd)(d*)",
    r"a{2,3}?(b+)?\B",
    r"[]a]+|b[[:alpha:]]|[^\]a]+b",
    r"\Qa.b\E*c|\x61\pL*;|\x{62}|\142+",
    r"(?i)A(?U:b*)c|(?P<n>a)+(?:b|$)",
    r"a\z|ab*\b c?|(?:a*b)*c",
)
WORDS = (
    "EMP-1",
    "12345",
    ";END",
    "secret",
    "end",
    "a",
    "b",
    "ab",
    "c",
    "d",
    "]",
    ".",
    " ",
    "\n",
    "中",
    "é",
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=25).map("".join)


def spans(found: Iterable[Found], groups: int) -> list[list[tuple[int, int]]]:
    """Where the groups of matches stand that are not empty."""
    every = [[one.span(group) for group in range(groups + 1)] for one in found]
    return [one for one in every if one[0][0] < one[0][1]]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS, size=st.integers(1, 5), around=st.sampled_from([(0, 0), (1, 1), (0, 2)]))
def test_windows_find_what_the_whole_text_has(
    pattern: str, text: str, size: int, around: tuple[int, int]
) -> None:
    """However small they are: a window grows until nothing can go on behind it."""
    made = Reach(pattern)
    start, end = around[0], max(around[0], len(text) - around[1])
    whole = [Found(match, 0) for match in made.compiled.finditer(text, start, end)]
    in_windows = list(made.in_windows(text, start, end, smallest=size, most_read=10**9))
    groups = made.compiled.groups
    assert spans(in_windows, groups) == spans(whole, groups)


def test_many_matches_that_end_soon_are_all_found() -> None:
    """More than are read in one go, with and without a tail that they need not have."""
    for pattern in (r"EMP-\d+", r"EMP-\d+(?:.{0,200};END)?", r"EMP-\d+(?:.*;END)?"):
        found = list(Reach(pattern).matches("EMP-1 EMP-23\n" * 2_000, 0, 26_000))
        assert len(found) == 4_000


def test_a_pattern_that_reads_on_for_ever_has_an_end() -> None:
    """After what is a few matches for it; whoever searches is told, and not left with those."""
    found = Reach(r"EMP-\d+(?:[^\n]*;END)?").matches("EMP-1 " * 20_000, 0, 120_000)
    with pytest.raises(ReadTooFar):
        list(found)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_all_syntax_can_be_unfinished(pattern: str) -> None:
    """Else every window would have to be the whole text."""
    open_ended = reach.unfinished(pattern)
    assert open_ended.endswith(r"\z")
    patterns.compiled(open_ended)  # raises where it cannot be
