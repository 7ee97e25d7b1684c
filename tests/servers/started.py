"""Servers that a ``with`` starts and stops."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Started:
    """Runs inside its ``with``; ``start`` and ``stop`` may also be called."""

    def start(self) -> None:
        """From its return on it can be asked."""
        raise NotImplementedError

    def stop(self) -> None:
        """It has ended when this returns."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
