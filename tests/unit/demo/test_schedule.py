"""The incident of the demo: when it is, and which seconds each phase holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.demo.mix import INCIDENT, NORMAL, Mix
from monitor.demo.schedule import Schedule

SCHEDULES = st.builds(Schedule, st.integers(0, 2**31), st.integers(0, 60), st.integers(0, 60))


@pytest.mark.parametrize(
    ("seconds", "mix"),
    [
        (0, NORMAL),
        (23.999, NORMAL),
        (24, INCIDENT),
        (33.999, INCIDENT),
        (34, NORMAL),
        (-1, NORMAL),
        (1e6, NORMAL),
    ],
)
def test_the_incident_has_a_first_moment_and_an_end(seconds: float, mix: Mix) -> None:
    """It begins 24 s after the start and lasts 10 s; its end belongs to what follows."""
    assert Schedule(1_000, 24, 10).mix_at(1_000 + seconds) == mix


@given(SCHEDULES, st.integers(-5, 130), st.floats(0, 0.999))
def test_every_moment_of_the_run_lies_in_one_phase(
    schedule: Schedule, length: int, fraction: float
) -> None:
    """The phases follow each other without gap from the start to the end, and each holds one mix:
    the one that the traffic of its moments was made with."""
    end = schedule.start + length
    phases = schedule.phases(end)
    edges = [schedule.start, *[phase.end for phase in phases]]
    assert [phase.start for phase in phases] == edges[:-1]
    assert edges[-1] == max(end, schedule.start)
    for phase in phases:
        assert phase.start < phase.end
        for moment in (phase.start, phase.start + fraction, phase.end - 1 + fraction):
            assert schedule.mix_at(moment) == phase.mix


@given(SCHEDULES, st.integers(1, 130))
def test_phases_keep_their_names(schedule: Schedule, length: int) -> None:
    """Before, incident, after: in this order, without those that have no second."""
    phases = schedule.phases(schedule.start + length)
    names = [phase.name for phase in phases]
    assert names == [name for name in ("before", "incident", "after") if name in names]
    assert [phase.name for phase in phases if phase.mix == INCIDENT] == [
        name for name in names if name == "incident"
    ]
