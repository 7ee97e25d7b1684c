"""What score records say was spent: added up, and never believed beyond reason."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.judge.limits.budget import Budget
from monitor.scorer.spending import add
from tests.stages.score_records import at, record

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()


def line(usd: Any, rechecks_usd: Any = 0.0) -> bytes:
    """A record of today that has cost so much."""
    moment = datetime.fromtimestamp(NOON, UTC)
    found = record("1", 0.0).model_copy(update={"judged_at": moment, "event_time": at(0)})
    fields = json.loads(found.to_json())
    usage = {**fields["usage"], "usd": usd}
    return json.dumps({**fields, "usage": usage, "rechecks_usd": rechecks_usd}).encode()


@pytest.mark.parametrize(
    ("usd", "rechecks_usd", "spent"),
    [
        (-5.0, 0.0, 0.0),
        (float("inf"), 0.0, 0.0),
        (float("nan"), 0.0, 0.0),
        (1e300, 0.0, 5.0),
        (0.0, 1e300, 5.0),
        (4.0, 1e300, 5.0),
        (-3.0, 2.0, 2.0),
    ],
)
def test_what_cannot_be_true_does_not_spend_the_day(
    usd: float, rechecks_usd: float, spent: float
) -> None:
    """At most a quarter of it for one record, and nothing less than nothing; it is told."""
    budget = Budget(20.0, UTC, lambda: NOON)
    budget.recorded(NOON, ("t", 0, 99), 1.0)
    assert not add(budget, line(usd, rechecks_usd))
    assert budget.spent() == pytest.approx(1.0 + spent)
    assert not budget.is_spent()


def test_what_may_be_true_counts() -> None:
    """To the cent; what cannot be read counts elsewhere."""
    budget = Budget(20.0, UTC, lambda: NOON)
    assert add(budget, line(4.0, 0.5))
    assert add(budget, b"no record")
    assert budget.spent() == 4.5
