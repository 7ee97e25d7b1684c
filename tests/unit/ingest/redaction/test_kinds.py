"""What is found of each kind, and what only looks like it: precision and recall, value by value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stages.redaction import ALL, KINDS, counts


def test_there_are_enough_strings() -> None:
    """At least 200, of each kind at least 12 with a value and 12 that only look like it."""
    assert len(ALL) >= 200
    assert {"en", "zh", "de", "fr", "es"} <= {one.language for one in ALL}
    for kind in KINDS:
        given = [bool(one.values) for one in ALL if one.kind == kind]
        assert min(sum(given), len(given) - sum(given)) >= 12, kind


@pytest.mark.parametrize("kind", KINDS)
def test_precision_and_recall(kind: str) -> None:
    """Both at least 0.95 for every kind; the figures stand in the output with -s."""
    figures = counts(kind)
    print(f"\n{kind:6} {figures} precision {figures.precision:.3f} recall {figures.recall:.3f}")
    assert figures.precision >= 0.95
    assert figures.recall >= 0.95


def test_the_page_shows_these_figures() -> None:
    """docs/redaction.md says what is measured here, and nothing better."""
    page = (Path(__file__).parents[4] / "docs/redaction.md").read_text(encoding="utf-8")
    assert f"[{len(ALL)} strings]" in page
    assert f"{sum(not one.values for one in ALL)} of them only look" in page
    for kind in KINDS:
        found = counts(kind)
        row = f"| `{kind}` | {found.right} | {found.wrong} | {found.missed} "
        assert f"{row}| {found.precision:.3f} | {found.recall:.3f} |" in page
