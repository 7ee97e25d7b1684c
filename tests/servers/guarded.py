"""Processes that cannot outlive the tests: they are killed when whoever started them is gone."""

from __future__ import annotations

from monitor.runtime.guarded import GuardedProcess

__all__ = ["GuardedProcess"]
