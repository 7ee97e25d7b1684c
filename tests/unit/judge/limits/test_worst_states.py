"""The states of models, as the page for people shows them."""

from __future__ import annotations

import pytest

from monitor.judge.limits.provider_gates import ProviderGates, worst_states
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.provider.faults import CallFailed, Fault
from monitor.judge.provider.refusals import Action

WITHDRAWN = CallFailed(Fault("auth", "status 401", Action.STOP))


async def test_the_state_of_a_model_is_the_worst_of_all_that_ask_it() -> None:
    """With several keys, or at several addresses; models of other judges stand beside it."""
    plain, other = ProviderGates(), ProviderGates()
    first, second = LlmSettings(model="gpt"), LlmSettings(model="gpt", api_base="http://b")
    for gates, settings in ((plain, first), (other, second), (other, LlmSettings(model="mini"))):
        gates.of(settings)
    assert worst_states([plain, other]) == {"gpt": "judging", "mini": "judging"}
    for _ in range(3):
        with pytest.raises(CallFailed):
            async with other.of(second).call():
                raise WITHDRAWN
    assert worst_states([plain, other]) == {"gpt": "stopped", "mini": "judging"}
    assert worst_states([]) == {}
