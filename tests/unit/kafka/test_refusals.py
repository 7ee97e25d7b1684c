"""What a broker's «no» means: operation, topic or group, and principal."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition, errors

from monitor.kafka.connection import Connection
from monitor.kafka.problems import ProblemKind
from monitor.kafka.refusals import missing_right, refusal

ME = Connection("k:1", "SASL_SSL", "PLAIN", "me")


@pytest.mark.parametrize(
    ("error", "found", "mend"),
    [
        (
            errors.TopicAuthorizationFailedError("t"),
            "no right to Write topic t for me",
            "grant Write on topic t",
        ),
        (
            errors.TopicAuthorizationFailedError({"b", "a"}),
            "no right to Write topic a, b for me",
            "grant Write on topic a, b",
        ),
        (
            errors.TopicAuthorizationFailedError(TopicPartition("t", 0)),
            "no right to Write topic t for me",
            "grant Write on topic t",
        ),
        (
            errors.TopicAuthorizationFailedError(),
            "no right to Write topic given for me",
            "grant Write on topic given",
        ),
        (
            errors.GroupAuthorizationFailedError("g"),
            "no right to Read group g for me",
            "grant Read on group g",
        ),
        (
            errors.ClusterAuthorizationFailedError(),
            "no right to Write the cluster for me",
            "grant Write on the cluster",
        ),
        (errors.InvalidTopicError("a b"), "a b is no name of a topic", "correct it in topics"),
    ],
)
def test_each_answer_has_its_sentence(error: Exception, found: str, mend: str) -> None:
    """The error's own names come before what the caller knows."""
    finding = missing_right(ME, error, "given", operation="Write")
    assert finding.found.startswith(found)
    assert finding.mend == mend


def test_a_refusal_is_shown_from_then_on() -> None:
    """It ends the process, but not at once."""
    connection = Connection("k:1")
    line = refusal(connection, errors.TopicAuthorizationFailedError("t"))
    assert "no right to Read topic t for clients without a login (User:ANONYMOUS)" in line
    assert connection.problems.lasts(ProblemKind.MISSING_RIGHT)
