"""What the pipelines ask of the outside: a model that answers, and someone who listens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from monitor.records import Usage


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered; ``text`` is empty if it answered nothing.

    ``model`` is the id that the provider gave with it. ``yes`` is the probability of that word
    against no at the beginning of the reply, None where the server does not tell it.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage = field(default_factory=lambda: Usage(calls=1))
    model: str | None = None
    yes: float | None = None


class Turn(NamedTuple):
    """A user message and the reply to it, shown to the model before what it is asked."""

    user: str
    reply: str


def _untold(_usage: Usage) -> None:
    """Nobody asks."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What goes with a question: the ``turns`` between the system and the last user message.

    ``tokens`` is how long the reply may be, None where that is not known; ``properties`` gives its
    keys with the JSON schema of each value. ``cut_off`` is told what a call has cost that is
    cancelled: it has neither a reply nor an error to say so. ``following`` models may be asked
    where there is no answer.
    """

    turns: tuple[Turn, ...] = ()
    tokens: int | None = None
    properties: Callable[[], Mapping[str, Mapping[str, object]]] | None = None
    cut_off: Callable[[Usage], None] = field(default=_untold, compare=False)
    following: int = 0


class Complete(Protocol):
    """The port to a model: a system message, turns and a user message in, one reply out.

    Raises ``ReplyRejected`` for an answer without a readable message and ``JudgeFailed`` when
    there is no answer; either may carry the usage it cost. Where it is cancelled, it tells that to
    ``terms.cut_off``.
    """

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        """Ask once; transport retries are the implementer's."""


class CallObserver(Protocol):
    """Where the judge reports its own health."""

    def call_finished(self, task: str, seconds: float, usage: Usage, error: str | None) -> None:
        """One request ended; ``error`` is None or the reason that it gave no reply."""

    def retried(self, reason: str) -> None:
        """Something is asked again: a transport reason, a reply's reason, or ``self_check``."""

    def refused(self, task: str, kind: str, complaint: str) -> None:
        """A reply broke the wire format; ``complaint`` names ids and pairs, never texts."""

    def self_check_missed(self, n: int) -> None:
        """``n`` claims of a final judgement are not supported by the text they were taken from."""


class Silent:
    """An observer that reports nothing."""

    def call_finished(self, task: str, seconds: float, usage: Usage, error: str | None) -> None:
        """Nothing."""

    def retried(self, reason: str) -> None:
        """Nothing."""

    def refused(self, task: str, kind: str, complaint: str) -> None:
        """Nothing."""

    def self_check_missed(self, n: int) -> None:
        """Nothing."""


Task = Literal["extract_claims", "verify_claims", "quote_evidence", "judge_relevance", "judge_pair"]
