"""Pages are plain: short sentences, few semicolons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prose import cells, measured, plain, words

ROOT = Path(__file__).parents[3]
PAGES = (
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *(ROOT / name for name in ("CHANGELOG.md", "tests/README.md", "grafana/README.md")),
    *(ROOT / name for name in ("grafana/preview/README.md", "tests/data/claim_pairs/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "deploy/runbooks").glob("*.md")),
)
#: Words a sentence, on average over a page.
MOST_WORDS = 17.0
#: And semicolons in a hundred sentences: three facts joined by them are three sentences.
MOST_SEMICOLONS = 20.0
#: A runbook is read by somebody who was woken up.
MOST_IN_A_RUNBOOK = 6.0
#: Words in a cell of a table: one that holds more is two rows, or a paragraph below the table.
MOST_IN_A_CELL = 45


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_are_short(page: Path) -> None:
    """Who looks something up at night reads each sentence once."""
    found = measured(page.read_text("utf-8"))
    assert found.mean <= MOST_WORDS
    is_runbook = page.parent.name == "runbooks"
    assert found.semicolons_per_100 <= (MOST_IN_A_RUNBOOK if is_runbook else MOST_SEMICOLONS)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_cells_are_short(page: Path) -> None:
    """A table is for looking up, so none of its cells is a paragraph."""
    long = [cell for cell in cells(page.read_text("utf-8")) if words(plain(cell)) > MOST_IN_A_CELL]
    assert long == []
