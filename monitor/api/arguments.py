"""Arguments by name: one that is unknown is an error that says which one may be meant. Pure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def meant(found: str, known: Iterable[str]) -> str:
    """What may be meant by a name that is not among the known ones.

    >>> meant("respones", ["response", "reference"])
    'did you mean response?'
    >>> meant("x", ["b", "a"])
    'there are b, a'
    """
    names = list(known)
    near = get_close_matches(found, names, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def known_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which names the nearest argument where it is given one that it has not.

    Raises ``TypeError``, as a call with a wrong argument does anyway.

    >>> @known_arguments
    ... def score(*, response: str) -> str:
    ...     return response
    >>> score(respones="…")
    Traceback (most recent call last):
    TypeError: score() has no argument 'respones': did you mean response?
    """
    signature = inspect.signature(function)
    if any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
        raise ValueError(f"{function.__qualname__} takes any argument")
    known = [name for name in signature.parameters if name not in ("self", "cls")]

    def refuse(args: tuple[object, ...], given: Iterable[str]) -> None:
        for each in given:
            if each not in known:
                # Of a constructor the class is what was called.
                is_made = function.__name__ == "__init__"
                name = type(args[0]).__name__ if is_made else function.__name__
                raise TypeError(f"{name}() has no argument {each!r}: {meant(each, known)}")

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
            refuse(args, kwargs)
            return await function(*args, **kwargs)

        return awaited  # type: ignore[return-value]  # T is the coroutine that this one is, too

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        refuse(args, kwargs)
        return function(*args, **kwargs)

    return called
