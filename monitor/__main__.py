"""The command ``rag-monitor``; exit codes are part of its contract.

0 done · 1 a gate or check said no · 2 usage or configuration · 3 a dependency refuses · 130 second
Ctrl-C.
"""

from __future__ import annotations

import sys

from monitor.cli import app
from monitor.errors import ConfigurationError, DependencyRefused, MonitorError


def main() -> None:
    """Run a command; errors that were foreseen are one line on stderr."""
    try:
        app()
    except* ConfigurationError as errors:
        _exit(errors, 2)
    except* DependencyRefused as errors:
        _exit(errors, 3)


def _exit(errors: BaseExceptionGroup[MonitorError], code: int) -> None:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    print(f"rag-monitor: {error}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
