"""The pytest plugin: the fixture ``rag_score``, whose failures name the claims that are wrong.

It is loaded by every run of pytest where rag-monitor is installed, whatever the run is about. So it
imports nothing of ours before the fixture is called, and above all takes the name ``monitor`` from
nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rag_monitor import MetricResult

__all__ = ["rag_score"]


@pytest.fixture
def rag_score() -> Callable[..., Mapping[str, MetricResult]]:
    """Score an answer, and fail where it is worse than it may be.

    ``rag_score(user_input=…, response=…, retrieved_contexts=[…], reference=…, faithfulness=0.9,
    noise_sensitivity_irrelevant=0.0)``: bounds are metrics by name, at least where high is good,
    else at most. Without a bound no claim may be wrong. ``llm`` or ``judge`` say who judges; the
    settings do where neither is given. Returns the results by metric. Raises ``JudgeFailed``, which
    is an error and no failure, where the judge gives no judgement.
    """
    __tracebackhide__ = True

    def scored(**given: Any) -> Mapping[str, MetricResult]:
        __tracebackhide__ = True
        import rag_monitor  # noqa: F401 - finds our package whatever else is called monitor
        from monitor.api.thresholds import bounded

        results, broken = bounded(given)
        if broken:
            pytest.fail("\n".join(broken), pytrace=False)
        return results

    return scored
