"""Arguments by name: one that is unknown is an error that says which one may be meant. Pure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from types import MappingProxyType
from typing import Any, Final, ParamSpec, TypeVar

from monitor.api.callers import warn

P = ParamSpec("P")
T = TypeVar("T")
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


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
    >>> score("…")
    Traceback (most recent call last):
    TypeError: score() takes its arguments by name: response
    """
    return _checked(function, _NONE)


def known_or_left_out(
    left_out: Mapping[str, str], refused: Mapping[str, str] = _NONE
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """The same, where another library has more arguments; both say what there is instead.

    Those of ``left_out`` change no result: they are taken, with a warning. Those of ``refused``
    would give something else than was asked for: an error, unless they are empty or false.

    >>> @known_or_left_out({"pace": "set judge.concurrency"}, {"lazy": "rows are judged at once"})
    ... def evaluate(*, response: str) -> str:
    ...     return response
    >>> evaluate(response="…", lazy=False)
    '…'
    >>> evaluate(response="…", lazy=True)
    Traceback (most recent call last):
    TypeError: evaluate() knows no lazy: rows are judged at once
    """
    return lambda function: _checked(function, left_out, refused)


def _checked(
    function: Callable[P, T], left_out: Mapping[str, str], refused: Mapping[str, str] = _NONE
) -> Callable[P, T]:
    check = _Check(function, left_out, refused)

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
            return await function(*args, **check(function.__name__, args, kwargs))

        setattr(awaited, "checked", check)  # noqa: B010
        return awaited  # type: ignore[return-value]  # T is the coroutine that this one is, too

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        # Of a constructor the class is what was called.
        is_made = function.__name__ == "__init__"
        name = type(args[0]).__name__ if is_made else function.__name__
        return function(*args, **check(name, args, kwargs))

    return called


class _Check:
    """Of the arguments of a call, under the name that was called."""

    def __init__(
        self,
        function: Callable[..., Any],
        left_out: Mapping[str, str],
        refused: Mapping[str, str],
    ) -> None:
        self._signature = inspect.signature(function)
        self._left_out, self._refused = left_out, refused
        parameters = self._signature.parameters.values()
        if any(each.kind is each.VAR_KEYWORD for each in parameters):
            raise ValueError(f"{function.__qualname__} takes any argument")
        own = [each for each in parameters if each.name not in ("self", "cls")]
        self._known = [each.name for each in own]
        self._is_by_name = all(each.kind is each.KEYWORD_ONLY for each in own)

    def __call__(
        self, name: str, args: tuple[Any, ...], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The arguments without those that are left out; raises ``TypeError``."""
        elsewhere = self._left_out.keys() | self._refused.keys()
        kept = {each: value for each, value in given.items() if each not in elsewhere}
        for each in kept:
            if each not in self._known:
                raise TypeError(f"{name}() has no argument {each!r}: {meant(each, self._known)}")
        try:
            self._signature.bind(*args, **kept)
        except TypeError as error:
            if self._is_by_name and "positional" in str(error):
                names = ", ".join(self._known)
                raise TypeError(f"{name}() takes its arguments by name: {names}") from None
            raise TypeError(f"{name}(): {error}") from None
        for each, instead in self._refused.items():
            if given.get(each):
                raise TypeError(f"{name}() knows no {each}: {instead}")
        dropped = [each for each in given if each in self._left_out and given[each]]
        if dropped:
            said = "; ".join(f"{each}: {self._left_out[each]}" for each in dropped)
            warn(f"{name}() leaves out {said}")
        return kept
