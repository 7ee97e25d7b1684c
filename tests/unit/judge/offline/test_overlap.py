"""What the best sentence of a text says of a claim."""

from __future__ import annotations

import pytest

from monitor.judge.offline.overlap import SentenceEvidence, gather
from monitor.judge.offline.sentences import read_sentence, read_text

CLAIM = "The warranty lasts 24 months for batteries."


def evidence(claim: str, text: str) -> SentenceEvidence:
    """That of a claim and a text which both say something."""
    found = gather(read_sentence(claim), read_text(text))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "between"),
    [
        ("The warranty lasts 12 months, and 24 months for batteries.", True),
        ("The warranty lasts 24 months for batteries, and 12 months for cables.", False),
        ("The warranty lasts 24 months for batteries.", False),
        # Of another kind than what the claim names.
        ("The warranty of Acme lasts 24 months for batteries.", False),
    ],
)
def test_another_number_in_the_middle_is_seen(text: str, *, between: bool) -> None:
    """Between words of the claim it may be the one that they are about; behind them it is not."""
    assert evidence(CLAIM, text).between is between


def test_a_number_without_its_unit_has_a_place_too() -> None:
    """It is looked for with its unit and without: of four words two stand side by side."""
    text = "The reservoir covers 12 square kilometres and holds 90 million cubic metres of water."
    found = evidence("The reservoir holds 90 million litres of water.", text)
    assert found.copied == 1 / 4
