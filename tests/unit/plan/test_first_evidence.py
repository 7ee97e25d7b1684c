"""When a plan says that there is a baseline, beside when an exporter learns one."""

from __future__ import annotations

import pytest

from monitor.config import Settings
from monitor.plan.first_evidence import first_evidence
from tests.benchmarks.promising.installation import Installation, picks, settings
from tests.benchmarks.promising.worlds import HOUR, RATES, Cell, Traffic

CELL = Cell("10/min", "i.i.d.", "claims 0.08")
#: Judged interactions a baseline, and seconds until they are old enough.
SLOTS, WAIT_S = 100, 60
HOURS = 5


def chosen(**flags: str) -> Settings:
    """An hour is what a day is as shipped."""
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return settings(
        **{
            "drift.learn_slots": SLOTS,
            "drift.learn_wait": f"{WAIT_S}s",
            "drift.period": "1h",
            "export.windows": "5m",
            **named,
        }
    )


def learned(flags: Settings, begins_s: float) -> dict[bool, float]:
    """Seconds until a provisional baseline (True) and a whole one, of traffic from then on."""
    traffic, found = Traffic(CELL, 5, 0), dict[bool, float]()
    made = Installation(flags, traffic.start)
    first = traffic.start + begins_s
    for pick in picks(traffic.day(0), 0):
        if first <= pick.at < first + HOURS * HOUR:
            for look in made.play(pick):
                for record in made.exporter.baselines.values():
                    found.setdefault(record.provisional, look.now - first)
    return found


@pytest.mark.parametrize(
    ("learn_for", "begins_min"),
    [("0s", 0), ("50m", 0), ("50m", 30), ("90m", 0), ("90m", 45), ("2h", 30), ("3h", 0)],
)
def test_it_is_as_an_exporter_learns(learn_for: str, begins_min: int) -> None:
    """Whenever traffic begins: at the latest then, and never where it never comes."""
    flags = chosen(drift__learn_for=learn_for)
    said, found = first_evidence(flags, RATES[CELL.rate]), learned(flags, 60 * begins_min)
    whole_s = None if said.stays_provisional else said.after_s
    for told, seen in ((said.provisional_s, found.get(True)), (whole_s, found.get(False))):
        assert (told is None) == (seen is None)
        # A minute between two looks at learning, and scores that come by chance.
        assert (seen or 0.0) <= (told or 0.0) + 300


def test_a_window_holds_what_a_period_does_not() -> None:
    """Three hours of learning take a window of four."""
    flags = chosen(drift__learn_for="3h", export__windows="5m,4h")
    assert first_evidence(flags, RATES[CELL.rate]).after_s == 3 * HOUR + WAIT_S
    assert learned(flags, 0.0)[False] == pytest.approx(3 * HOUR + WAIT_S, abs=300)
