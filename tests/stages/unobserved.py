"""An observer of a cache that reports nothing."""

from __future__ import annotations

from monitor.judge.cache.store import Result, What


class Unobserved:
    """An observer that reports nothing."""

    def looked_up(self, what: What, result: Result) -> None:
        """Nothing."""

    def store_failed(self, reason: str) -> None:
        """Nothing."""
