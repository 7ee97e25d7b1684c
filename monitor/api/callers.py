"""Where a call of the API came from: warnings show the line of who called, not one of ours."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, NamedTuple

_ROOT: Final = Path(__file__).parents[2]
#: Code between a call and its warning: ours, and that of event loops.
_BETWEEN: Final = (
    *(str(_ROOT / name) + os.sep for name in ("monitor", "rag_monitor", "rag_monitor_pytest")),
    str(Path(os.__file__).parent / "asyncio") + os.sep,
    str(Path(os.__file__).parent / "contextlib.py"),
)


class CallPlace(NamedTuple):
    """A line of code, and what its module has warned of already."""

    file: str
    line: int
    module: str
    registry: dict[Any, Any]


_CALLED_FROM: Final[ContextVar[CallPlace | None]] = ContextVar("called_from", default=None)


def _here() -> CallPlace:
    """The first line outside, from here upwards."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    module = str(names.get("__name__", "<unknown>"))
    return CallPlace(frame.f_code.co_filename, frame.f_lineno, module, registry)


@contextmanager
def called_here() -> Iterator[None]:
    """What is warned of inside, in whatever loop or thread, is shown at the line that called."""
    token = _CALLED_FROM.set(_CALLED_FROM.get() or _here())
    try:
        yield
    finally:
        _CALLED_FROM.reset(token)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn whoever called."""
    place = _CALLED_FROM.get() or _here()
    warnings.warn_explicit(message, category, place.file, place.line, place.module, place.registry)
