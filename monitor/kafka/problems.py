"""What is wrong with a cluster, in plain words: said once, shown while it lasts, ended in the log.

Several parts of a process may meet the same problem (a writer, a reader, the check of its
availability): it is over when none of them has it any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from monitor.runtime.logs import logger

#: The same problem is said again after this long, while it lasts.
SAY_AGAIN_S = 600.0
#: A problem that comes and goes is not said more often than this.
SAY_EVERY_S = 60.0
#: An event, unlike a state, has no end of its own: it is shown for this long after the last one.
EVENT_SHOWN_S = 300.0


class ProblemKind(StrEnum):
    """The kinds of problems; a closed set, for it is a label."""

    BROKER_AWAY = "broker_away"
    DNS = "dns"
    WRONG_PROTOCOL = "wrong_protocol"
    WRONG_CA = "wrong_ca"
    WRONG_HOST = "wrong_host"
    EXPIRED_CERTIFICATE = "expired_certificate"
    CLIENT_CERTIFICATE = "client_certificate"
    UNREADABLE_FILES = "unreadable_files"
    NO_TOKEN = "no_token"
    WRONG_PASSWORD = "wrong_password"
    MISSING_RIGHT = "missing_right"
    MISSING_TOPIC = "missing_topic"
    RECORD_TOO_LARGE = "record_too_large"
    CLOCK = "clock"


#: What may end while we wait; everything else is a refusal.
PASSING = (
    ProblemKind.BROKER_AWAY,
    ProblemKind.DNS,
    ProblemKind.NO_TOKEN,
    ProblemKind.MISSING_TOPIC,
    ProblemKind.CLOCK,
)


class ClusterName(NamedTuple):
    """A cluster as the log names it: where it is, which settings reach it, and as whom.

    ``principal`` and ``mechanism`` are empty without a login.
    """

    broker: str
    settings: str
    protocol: str
    principal: str = ""
    mechanism: str = ""


class Problem(NamedTuple):
    """One problem: what was found where, and what to do about it."""

    kind: ProblemKind
    found: str
    mend: str
    broker: str = ""
    topic: str = ""


class Problems:
    """The problems that a process has with one cluster. ``clock`` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: dict[str, ProblemKind] = {}
        self._episodes: dict[ProblemKind, _Episode] = {}
        self._events: dict[ProblemKind, float] = {}
        self._logged: dict[tuple[ProblemKind, str], _LoggedProblem] = {}
        self._shown: set[ProblemKind] = set()
        self._watch: Callable[[str, Callable[[], bool]], None] = lambda _kind, _lasts: None
        #: Whether this cluster has let us in since the process began: what it refuses later may be
        #: a password or a certificate that is being changed.
        self.let_in = False

    def shown_by(self, watch: Callable[[str, Callable[[], bool]], None]) -> None:
        """``watch`` is given every kind when it first appears, and what says if it lasts."""
        self._watch = watch

    def lasts(self, kind: ProblemKind) -> bool:
        """Whether any part has this problem now, or had it with a record a moment ago."""
        event = self._events.get(kind)
        recent = event is not None and self._clock() - event < EVENT_SHOWN_S
        return recent or kind in self._episodes

    @property
    def present(self) -> bool:
        """Whether any part has a problem now."""
        return bool(self._episodes)

    @property
    def is_refused(self) -> bool:
        """Whether any part has one that waiting does not end, such as a login."""
        return any(kind not in PASSING for kind in self._episodes)

    def meet(self, cluster: ClusterName, part: str, problem: Problem) -> None:
        """The part has this problem now, and no other."""
        kind = problem.kind
        self._show(kind)
        if kind not in self._episodes:
            self._episodes[kind] = _Episode(self._clock())
        self._held[part] = kind
        if self._say(cluster, part, problem, again=self._episodes[kind].logged):
            self._episodes[kind].logged = True
        self._end(cluster)

    def happened(self, cluster: ClusterName, part: str, problem: Problem) -> None:
        """A problem with one record; the part goes on."""
        self._show(problem.kind)
        self._events[problem.kind] = self._clock()
        self._say(cluster, part, problem, again=True)

    def over(self, cluster: ClusterName, part: str) -> None:
        """The part has no problem any more."""
        if self._held.pop(part, None):
            self._end(cluster)

    def _show(self, kind: ProblemKind) -> None:
        if kind not in self._shown:
            self._shown.add(kind)
            self._watch(kind.value, lambda: self.lasts(kind))

    def _say(self, cluster: ClusterName, part: str, problem: Problem, *, again: bool) -> bool:
        """One line, unless it was said lately; ``again``: the problem as such is known already."""
        key, now = (problem.kind, problem.topic), self._clock()
        if logged := self._logged.get(key):
            same = again and logged.found == problem.found
            if now - logged.at < (SAY_AGAIN_S if same else SAY_EVERY_S):
                return False
        self._logged[key] = _LoggedProblem(now, problem.found)
        log = logger().warning if problem.kind in PASSING else logger().error
        log("kafka_problem", what=part, **described(cluster, problem))
        return True

    def _end(self, cluster: ClusterName) -> None:
        """Say once which problems nobody has any more."""
        for kind in set(self._episodes) - set(self._held.values()):
            episode = self._episodes.pop(kind)
            if episode.logged:
                logger().info(
                    "kafka_problem_over",
                    kind=kind.value,
                    broker=cluster.broker,
                    lasted_s=round(self._clock() - episode.since, 1),
                )


@dataclass
class _Episode:
    """From when nobody had the problem to when nobody has it again."""

    since: float
    logged: bool = False


class _LoggedProblem(NamedTuple):
    at: float
    found: str


def described(cluster: ClusterName, problem: Problem) -> dict[str, str]:
    """The fields of the log line; those that do not apply are left out."""
    fields = {
        "kind": problem.kind.value,
        "broker": problem.broker or cluster.broker,
        "settings": cluster.settings,
        "protocol": cluster.protocol,
        "principal": cluster.principal,
        "mechanism": cluster.mechanism,
        "topic": problem.topic,
        "found": problem.found,
        "mend": problem.mend,
    }
    return {key: value for key, value in fields.items() if value}


def refused(cluster: ClusterName, problem: Problem) -> str:
    """The same in one line, for ``DependencyRefused``: the last words of the process."""
    how = " ".join(filter(None, (cluster.protocol, cluster.mechanism)))
    who = f" as {name}" if (name := cluster.principal) else ""
    who += f", {cluster.settings}" if cluster.settings != "kafka" else ""
    return (
        f"Kafka {problem.broker or cluster.broker} "
        f"({how}{who}) refuses: {problem.found}; {problem.mend}"
    )
