"""The log as the monitor configures it, in memory, for as long as a test runs."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr

import structlog

from monitor.runtime import logs


@contextmanager
def captured_log(level: str, form: str) -> Iterator[Callable[[], str]]:
    """Yields what reads all that was logged so far; afterwards logging is as it was."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, before = root.handlers[:], root.level
    root.handlers.clear()  # or `basicConfig` would close those of pytest
    with redirect_stderr(stream):
        logs.configure(level, form)
    try:
        yield stream.getvalue
    finally:
        structlog.reset_defaults()
        root.handlers[:] = handlers
        root.setLevel(before)
