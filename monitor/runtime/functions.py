"""Functions of the user's own, which a setting names as ``module:function``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def named(path: str) -> Callable[..., Any]:
    """The function; raises ``ValueError`` that says how far the path leads.

    >>> named("json:loads")("[1]")
    [1]
    """
    where, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(where)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"{where} cannot be imported ({type(error).__name__}: {error}); it "
            "must be installed, or its folder be on PYTHONPATH"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{where} has no {name}")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"{path} is no function")
    function: Callable[..., Any] = found
    return function
