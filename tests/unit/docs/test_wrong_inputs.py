"""docs/wrong-inputs.md: each input is tried, and just that line is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.stages.wrong_inputs import BYTES, PAGE, WAYS, Row, rows

LISTED = rows(PAGE.read_text("utf-8"))
#: Who reads this at night wants to know what to do: what was expected or meant, or an order.
TO_DO = re.compile(
    r"expected|did you mean|missing|needs|no effect|lists them|no such file|not in the range|"
    r"there: |goes? with|possible|"
    r"\b(set|use|send|write|put|indent|look|check|convert|give|mend|leave|go)\b",
    re.IGNORECASE,
)
#: A line that does not fit is not read.
LONGEST = 330


def test_sixty_inputs_are_listed_each_once() -> None:
    """Of settings, records, commands, files and brokers; and all bytes that have a name."""
    assert len(LISTED) >= 60
    assert len({row.shown for row in LISTED}) == len(LISTED)
    assert {row.section for row in LISTED} == WAYS.keys()
    assert BYTES.keys() <= {row.shown for row in LISTED}


@pytest.mark.parametrize("row", LISTED, ids=lambda row: row.shown.strip("`")[:60])
def test_what_is_said_is_what_the_page_says(row: Row, tmp_path: Path) -> None:
    """One line, as it stands on the page."""
    said = WAYS[row.section](row.shown, tmp_path)
    assert said == row.said
    assert said.isprintable()


@pytest.mark.parametrize("row", LISTED, ids=lambda row: row.shown.strip("`")[:60])
def test_each_line_says_what_where_and_what_to_do(row: Row) -> None:
    """It begins with the place, or with the word that is no command; and there is a mend in it."""
    assert re.match("[^ ].*?: .|No such command '", row.said)
    assert TO_DO.search(row.said)
    assert len(row.said) <= LONGEST
