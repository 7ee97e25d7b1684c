"""Servers that a ``with`` starts and stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Started(ABC):
    """Runs inside its ``with``; ``start`` and ``stop`` may also be called."""

    @abstractmethod
    def start(self) -> None:
        """From its return on it can be asked."""

    @abstractmethod
    def stop(self) -> None:
        """It has ended when this returns."""

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
