"""The control topic: any number of keys may be written there, and so many are held."""

from __future__ import annotations

from monitor.control.bursts import Bursts
from monitor.control.pauses import Pauses
from monitor.control.state import MOST_KEYS, ControlState
from monitor.records.control import BURST, PAUSE, PauseRecord, pause_key


def test_keys_beyond_the_bound_are_left_out_until_one_goes() -> None:
    """Each is told; those that are held go on, and may change. Another kind has its own bound."""
    pauses = Pauses()
    state = ControlState({PAUSE: pauses.apply, BURST: Bursts().apply})

    def written(name: str) -> str | None:
        record = PauseRecord(application=name)
        skipped = state.apply(record.key.encode(), record.to_json())
        return None if skipped is None else skipped.cause

    assert {written(f"bot{n}") for n in range(MOST_KEYS)} == {None}
    assert written("one more") == "too_many"
    assert written("bot7") is None
    assert len(pauses.records(0.0)) == MOST_KEYS
    assert not pauses.is_paused("one more", 0.0)
    assert state.apply(pause_key("bot7").encode(), None) is None
    assert written("one more") is None
    assert pauses.is_paused("one more", 0.0)
