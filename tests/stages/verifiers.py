"""Functions that verify pairs in a model's place: a tiny one that is right, and some that fail."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from tests.stages.stub_judges import known_pairs

Pairs = Sequence[tuple[str, str]]

#: What ``tiny`` was called with: how many pairs, and the device.
CALLS: list[tuple[int, str | None]] = []
NO_FUNCTION = 3


def tiny(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """A model of two weights: 0.9 where the document holds the claim, else 0.2."""
    CALLS.append((len(pairs), device))
    return [0.9 if claim in document else 0.2 for document, claim in pairs]


def knowing(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """A good one, as far as ``doctor`` asks: it knows which of those pairs hold."""
    return [float((c, d) in known_pairs().supported or c in d) for d, c in pairs]


def constant(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """What a model that was loaded wrong may say."""
    return [0.1 for _ in pairs]


def versioned(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """The same, with a version."""
    return tiny(pairs, device=device)


versioned.version = "2.1"  # type: ignore[attr-defined]


class Scalar:
    """A number of some library."""

    def __init__(self, value: float) -> None:
        self._value = value

    def __float__(self) -> float:
        return self._value


def scalars(pairs: Pairs, *, device: str | None = None) -> tuple[Scalar, ...]:
    """As ``tiny``, as numbers of a library."""
    return tuple(map(Scalar, tiny(pairs, device=device)))


def short(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """One number too few."""
    return [0.9 for _ in pairs[1:]]


def logits(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """What no softmax has seen."""
    return [1.25 for _ in pairs]


def negative(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Below zero."""
    return [-0.1 for _ in pairs]


def undefined(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Not a number."""
    return [float("nan") for _ in pairs]


def words(pairs: Pairs, *, device: str | None = None) -> list[str]:
    """Texts, though of numbers."""
    return ["0.9" for _ in pairs]


def text(pairs: Pairs, *, device: str | None = None) -> str:
    """One text, of as many digits."""
    return "1" * len(pairs)


def nothing(pairs: Pairs, *, device: str | None = None) -> None:
    """Forgets to return."""


def raising(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Quotes the traffic in its error."""
    if pairs:
        raise ValueError(f"cannot read {pairs[0]}")
    return []


def leaving(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Wants to end the process."""
    if pairs:
        sys.exit(7)
    return []


def ending(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Looks for what is not there, with ``next``."""
    return [next(iter(())) for _ in pairs]


#: Set to let ``waiting`` go on.
GO_ON = threading.Event()


def waiting(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Takes its time."""
    if pairs:
        CALLS.append((len(pairs), device))
        GO_ON.wait()
    return [0.5 for _ in pairs]


class Panic(BaseException):
    """As a tokenizer in Rust raises it."""


def panicking(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Breaks in a library that is not written in Python."""
    if pairs:
        raise Panic(str(pairs[0]))
    return []


def without_label(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Looks for a label of the model that it does not have."""
    return [next(iter(()))]


def without_model(pairs: Pairs, *, device: str | None = None) -> list[float]:
    """Finds no weights when it loads them."""
    raise OSError("no such model")
