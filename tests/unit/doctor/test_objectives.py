"""Which objectives stay unknown, however long one waits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.config import Settings, load
from monitor.doctor.objectives import lines, most_in


def promised(window: str, windows: str = "5m,1h,24h,7d", **fields: Any) -> Settings:
    """Settings with one objective."""
    objective = {"metric": "faithfulness", "window": window, "bound": 0.9, **fields}
    return load({}, flags={"export.windows": windows, "objectives": json.dumps([objective])})


@pytest.mark.parametrize(
    ("window", "per_day", "known"),
    [("1h", 20, False), ("24h", 20, False), ("7d", 20, True), ("7d", 4, False), ("1h", 240, True)],
)
def test_a_window_must_hold_as_many_as_are_needed(window: str, per_day: float, known: bool) -> None:
    """Thirty by default; twenty a day have them in a week, and four have not."""
    assert (lines(promised(window), per_day) == []) == known


def test_the_window_that_is_long_enough_is_named() -> None:
    """With what ``export.windows`` has to be, where it is not exported."""
    (found,) = lines(promised("1h", "5m,1h"), 20)
    assert (found.check, found.target) == ("objective", "faithfulness 1h")
    assert found.found == "stays unknown: minimum_samples is 30, and 1h holds about 2.5 at most"
    assert found.mend == "set its window to 7d, and export.windows to 5m, 1h, 7d"
    (found,) = lines(promised("1h"), 20)
    assert found.mend == "set its window to 7d"
    (found,) = lines(promised("1h"), 0.5)
    assert "judge more" in found.mend


def test_what_an_entry_of_applications_promises_is_looked_at() -> None:
    """Like what several have in common."""
    entry = {
        "application": "bot",
        "objective": {"metric": "faithfulness", "window": "1h", "bound": 0.9},
    }
    found = lines(load({}, flags={"applications": json.dumps([entry])}), 20)
    assert [one.target for one in found] == ["faithfulness 1h"]


def test_the_busy_hours_of_a_day_may_have_all_of_it() -> None:
    """So a window of an hour may hold three times its even share."""
    assert most_in("1h", 240) == pytest.approx(30)
    assert most_in("12h", 240) == 240
    assert most_in("7d", 240) == 7 * 240
