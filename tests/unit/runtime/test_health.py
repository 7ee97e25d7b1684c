"""Health: which loop is stuck, and what is waited for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.runtime.health import STUCK_AFTER_S, Health

STEPS = st.tuples(st.sampled_from(["beat", "finished"]), st.sampled_from("ab"), st.floats(0, 50))


@given(st.lists(STEPS))
def test_a_loop_is_stuck_when_it_was_silent_for_a_minute(
    steps: list[tuple[str, str, float]],
) -> None:
    """Counted from its last beat; a loop that has not begun, or has ended, is never stuck."""
    now = [100.0]
    health = Health(lambda: now[0])
    last: dict[str, float] = {}
    for what, loop, wait in steps:
        now[0] += wait
        if what == "beat":
            health.beat(loop)
            last[loop] = now[0]
        else:
            health.finished(loop)
            last.pop(loop, None)
        silent = {name: now[0] - beat for name, beat in last.items()}
        assert health.stuck == {k: v for k, v in silent.items() if v > STUCK_AFTER_S}


def test_a_loop_may_have_a_limit_of_its_own() -> None:
    """Seconds of silence after which it is stuck."""
    now = [0.0]
    health = Health(lambda: now[0])
    health.beat("work", limit_s=1_000.0)
    health.beat("other")
    now[0] = 1_000.0
    assert list(health.stuck) == ["other"]
    now[0] = 1_001.0
    assert set(health.stuck) == {"work", "other"}


def test_the_time_without_a_dependency_does_not_count() -> None:
    """While it is away, and for as long after as the loop may be silent; others count on."""
    now = [0.0]
    health = Health(lambda: now[0])
    health.answers("kafka", True)
    health.beat("consumer", needs="kafka")
    health.beat("other")
    now[0] = 10.0
    health.answers("kafka", False)
    now[0] = 500.0
    assert list(health.stuck) == ["other"]
    health.answers("kafka", True)
    now[0] = 500.0 + STUCK_AFTER_S
    assert list(health.stuck) == ["other"]
    now[0] += 1
    assert health.stuck["consumer"] == now[0]
    health.beat("consumer", needs="kafka")
    assert list(health.stuck) == ["other"]


def test_a_part_waits_for_one_thing_at_a_time() -> None:
    """The latest reason stands; being ready twice is no error."""
    health = Health(lambda: 0.0)
    health.waits("scorer", "broker")
    health.waits("scorer", "topics a, b")
    assert health.waiting == {"scorer": "topics a, b"}
    health.ready("scorer")
    health.ready("scorer")
    assert health.waiting == {}


def test_what_is_said_cannot_be_changed_from_outside() -> None:
    """The answer is a copy."""
    health = Health(lambda: 0.0)
    health.waiting["x"] = "y"
    assert health.waiting == {}
