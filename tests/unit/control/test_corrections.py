"""What audits say of judges: the latest of each application and judge, as the topic has it."""

from __future__ import annotations

from monitor.control.corrections import Corrections
from monitor.control.state import ControlState
from monitor.records.control import CORRECTION
from tests.stages.corrections import correction


def test_the_latest_of_each_pair_holds_until_a_tombstone() -> None:
    """Whatever else is on the topic; what cannot be read changes nothing."""
    held = Corrections()
    state = ControlState({CORRECTION: held.apply})
    first, latest, other = (
        correction(),
        correction(metrics={}),
        correction(application="shop", metrics={}),
    )
    key = first.key.encode()
    for record in (first, other, latest):
        assert state.apply(record.key.encode(), record.to_json()) is None
    assert held.of("bot", first.judge) == latest
    assert held.of("shop", first.judge) == other
    assert held.of("bot", "offline@9") is None
    refused = state.apply(key, b'{"schema": "rag.control/1"}')
    assert refused is not None
    assert refused.cause == "malformed"
    assert held.of("bot", first.judge) == latest
    assert state.apply(key, None) is None
    assert held.of("bot", first.judge) is None
    assert held.of("shop", first.judge) == other
