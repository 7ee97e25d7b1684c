"""When a call that failed is made again; a 429 is waited out next door, in ``retry_after``."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf

from monitor.judge.limits.deadline import seconds_left
from monitor.judge.ports import CallObserver
from monitor.judge.provider.faults import CallFailed
from monitor.judge.provider.refusals import Action

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 20.0


class Retries:
    """Whether and how long to wait: full jitter.

    That is uniform between 0 and the exponential bound (AWS Architecture Blog, 2015, "Exponential
    backoff and jitter"). What the server asks for is waited for before any next call
    (``ProviderGate``), so that only a step of jitter is added to it here, or all callers that were
    told the same second would come back together. ``may_ask`` is whether one call more is allowed.
    Where ``following`` models can be asked instead, it is made again only while what is left of the
    judgement's time holds that, taking as long as it took, and as much for each of them.
    """

    def __init__(
        self,
        retries: int,
        rng: random.Random,
        observe: CallObserver,
        may_ask: Callable[[], bool] = lambda: True,
        following: int = 0,
    ) -> None:
        self._left, self._rng, self._observe, self._may_ask = retries, rng, observe, may_ask
        self._bound_s = _FIRST_WAIT_S
        self._following, self._began_with_s = following, seconds_left()

    def __call__(self, error: Exception) -> bool | float:
        """Seconds until the next attempt; False for none."""
        if not isinstance(error, CallFailed) or not error.fault.retriable or not self._left:
            return False
        if self._following and not self._fits():
            return False
        if not self._may_ask():
            return False
        self._left -= 1
        self._observe.retried(error.reason)
        wait_s = self._wait_s(error.fault.action)
        self._began_with_s = seconds_left() - wait_s
        return wait_s

    def _fits(self) -> bool:
        """Whether there is time for an attempt of each model, as long as the last one."""
        left_s = seconds_left()
        took_s = self._began_with_s - left_s
        return left_s == inf or left_s >= (1 + self._following) * took_s

    def _wait_s(self, action: Action) -> float:
        if action is Action.WAIT:
            return self._rng.uniform(0.0, _FIRST_WAIT_S)
        bound = self._bound_s
        self._bound_s = min(_LONGEST_WAIT_S, 2 * bound)
        return self._rng.uniform(0.0, bound)
