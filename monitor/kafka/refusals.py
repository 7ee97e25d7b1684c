"""What a broker's «no» means: the right that is missing, in the words of its access lists."""

from __future__ import annotations

from aiokafka import errors

from monitor.kafka.connection import Connection, principal
from monitor.kafka.problems import Problem, ProblemKind, refused

#: Answers of a broker that waiting does not heal. A refused login is none of these: whether it is
#: one, or a password that is being changed, is for ``retrying`` to find out.
REFUSALS = (
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
    errors.InvalidTopicError,
)


def refusal(
    connection: Connection, error: Exception, topic: str = "", *, operation: str = "Read"
) -> str:
    """The line for ``DependencyRefused``; the problem is said and shown from now on.

    ``operation`` is the access list's word for what was tried (``Read``, ``Write``, ``Describe``,
    ``Create``); ``topic`` is taken where the error itself names none.
    """
    finding = missing_right(connection, error, topic, operation=operation)
    connection.problems.meet(connection.name, "rights", finding)
    return refused(connection.name, finding)


def missing_right(
    connection: Connection, error: Exception, topic: str = "", *, operation: str = "Read"
) -> Problem:
    """What is not allowed to whom, and how to allow it."""
    who = principal(connection) or "clients without a login (User:ANONYMOUS)"
    if isinstance(error, errors.InvalidTopicError):
        named = _named(error) or topic
        found, mend = f"{named} is no name of a topic", "correct it in topics"
        return Problem(ProblemKind.MISSING_TOPIC, found, mend, topic=named)
    if isinstance(error, errors.GroupAuthorizationFailedError):
        what, topic, operation = f"group {_named(error)}", "", "Read"
    elif isinstance(error, errors.ClusterAuthorizationFailedError):
        what, topic = "the cluster", ""
    else:
        topic = _named(error) or topic
        what = f"topic {topic}"
    found = f"no right to {operation} {what} for {who} ({type(error).__name__})"
    mend = f"grant {operation} on {what}"
    return Problem(ProblemKind.MISSING_RIGHT, found, mend, topic=topic)


def _named(error: Exception) -> str:
    """The topics or the group in the error: a name, a partition, or a set of names in aiokafka."""
    detail = error.args[0] if error.args else ""
    detail = getattr(detail, "topic", detail)
    if isinstance(detail, (set, frozenset, list, tuple)):
        return ", ".join(sorted(str(name) for name in detail))
    return str(detail)
