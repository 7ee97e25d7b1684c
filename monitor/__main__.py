"""The command ``rag-monitor``; exit codes are part of its contract.

0 done · 1 a gate or check said no · 2 usage or configuration · 3 a dependency refuses · 130 second
Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from monitor.cli import app
from monitor.errors import ConfigurationError, DependencyRefused, MonitorError
from monitor.runtime.threads import any_work
from monitor.runtime.visible import visible


def main(command: Callable[[], object] = app) -> None:
    """Run a command; errors that were foreseen are one line on stderr."""
    try:
        _run(command)
    except SystemExit as end:
        _leave_threads(end.code)
        raise
    _leave_threads(0)


def _leave_threads(code: object) -> None:
    """End at once where a thread still works: it cannot be stopped, and Python would abort."""
    if any_work():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


def _run(command: Callable[[], object]) -> None:
    code = 0
    try:
        command()
    except* ConfigurationError as errors:
        code = _reported(errors, 2)
    except* DependencyRefused as errors:
        code = _reported(errors, 3)
    if code:
        sys.exit(code)  # out here: inside `except*` it would become part of a group, and exit 1


def _reported(errors: BaseExceptionGroup[MonitorError], code: int) -> int:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    print(f"rag-monitor: {visible(' '.join(str(error).split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
