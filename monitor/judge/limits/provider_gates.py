"""The provider gates of a process: one for each model at an address, whoever asks it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable

from monitor.judge.limits.breaker import BreakerSettings
from monitor.judge.limits.provider_gate import ProviderGate, ProviderState, StateObserver, worst
from monitor.judge.limits.quota import LocalQuota, PerMinute, Quota
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.pipeline.model_ids import Ids


class ProviderGates:
    """Made as they are asked for; ``clock`` gives monotonic seconds.

    ``quota`` gives the limits of a model by its name; ``ids`` are those by which models answer.
    """

    def __init__(
        self,
        observe: StateObserver | None = None,
        breaker_settings: BreakerSettings | None = None,
        quota: Callable[[str], Quota] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        ids: Ids | None = None,
    ) -> None:
        self.ids = ids or Ids()
        self._observe, self._clock, self._rng = observe, clock, rng
        self._breaker_settings = breaker_settings or BreakerSettings()
        self._quota = quota or (lambda _: LocalQuota(PerMinute(), clock))
        self._made: dict[tuple[str, str | None, str | None], ProviderGate] = {}

    def of(self, settings: LlmSettings) -> ProviderGate:
        """That of the settings' first model; another key is another account."""
        key = settings.model, settings.api_base, settings.api_key
        if key not in self._made:
            self._made[key] = ProviderGate(
                settings.model,
                self._breaker_settings,
                clock=self._clock,
                rng=self._rng,
                observe=self._observe,
                quota=self._quota(settings.model),
            )
        return self._made[key]

    def made(self) -> list[ProviderGate]:
        """Those that were asked for, so far."""
        return list(self._made.values())

    async def aclose(self) -> None:
        """Give back what limits keep open."""
        for provider_gate in self._made.values():
            await provider_gate.aclose()

    def all_of(self, settings: LlmSettings) -> list[ProviderGate]:
        """Those of all models that a judge with these settings asks."""
        return [self.of(settings.of_model(model)) for model in settings.models()]


def worst_states(all_gates: Iterable[ProviderGates]) -> dict[str, str]:
    """Model → its state; the worst where it is asked with several keys, or at several addresses."""
    found: dict[str, ProviderState] = {}
    for gates in all_gates:
        for gate in gates.made():
            found[gate.model] = worst([found.get(gate.model, gate.state), gate.state])
    return {model: state.value for model, state in found.items()}
