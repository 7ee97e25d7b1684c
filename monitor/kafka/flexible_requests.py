"""Two requests that aiokafka does not know, in Kafka's «flexible» layouts.

Metadata v10 (Kafka 2.8, KIP-516) tells the ids of topics: one that was made anew has another id.
DescribeQuorum v1 (Kafka 3.3, KIP-836) tells, beside what it is for, the time of the controller: to
its own replica it gives the time of the answer. Layouts: kafka.apache.org/protocol.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from io import BytesIO
from typing import Final

from aiokafka import errors
from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)

_NAME, _TAGS = CompactString("utf-8"), ("tags", TaggedFields)
#: The log of a cluster's own metadata.
_QUORUM = "__cluster_metadata"


class _Uuid(AbstractType[bytes]):
    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value

    @classmethod
    def decode(cls, data: BytesIO) -> bytes:
        return data.read(16)


class _IdsAnswer(Response):
    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32), ("host", _NAME), ("port", Int32), ("rack", _NAME), _TAGS
            ),
        ),
        ("cluster_id", _NAME),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("topic", _NAME),
                ("topic_id", _Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        _TAGS,
                    ),
                ),
                ("authorized_operations", Int32),
                _TAGS,
            ),
        ),
        ("cluster_authorized_operations", Int32),
        _TAGS,
    )


class _IdsAsked(RequestStruct):
    API_KEY = 3
    API_VERSION = 10
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _IdsAnswer
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _Uuid), ("topic", _NAME), _TAGS)),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
        _TAGS,
    )


#: In the place of a topic's id: there is no such topic.
GONE: Final = ""
_UNKNOWN: Final = errors.UnknownTopicOrPartitionError.errno


class TopicIdsRequest(Request[_IdsAsked]):
    """The ids of some topics, creating none of them."""

    API_KEY = 3

    def __init__(self, topics: list[str]) -> None:
        self._topics = topics

    def build(self, struct: type[_IdsAsked]) -> _IdsAsked:
        """The request as it goes out."""
        return struct([(bytes(16), topic, {}) for topic in self._topics], False, False, False, {})


_REPLICAS = CompactArray(
    ("replica_id", Int32),
    ("log_end_offset", Int64),
    ("last_fetch_ms", Int64),
    ("last_caught_up_ms", Int64),
    _TAGS,
)


class _QuorumAnswer(Response):
    API_KEY = 55
    API_VERSION = 1
    SCHEMA = Schema(
        ("error_code", Int16),
        (
            "topics",
            CompactArray(
                ("topic", _NAME),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("leader_id", Int32),
                        ("leader_epoch", Int32),
                        ("high_watermark", Int64),
                        ("voters", _REPLICAS),
                        ("observers", _REPLICAS),
                        _TAGS,
                    ),
                ),
                _TAGS,
            ),
        ),
        _TAGS,
    )


class _QuorumAsked(RequestStruct):
    API_KEY = 55
    API_VERSION = 1
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _QuorumAnswer
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(
                ("topic", _NAME), ("partitions", CompactArray(("partition", Int32), _TAGS)), _TAGS
            ),
        ),
        _TAGS,
    )


class QuorumRequest(Request[_QuorumAsked]):
    """How the controllers of a cluster are doing."""

    API_KEY = 55

    def build(self, struct: type[_QuorumAsked]) -> _QuorumAsked:
        """The request as it goes out."""
        return struct([(_QUORUM, [(0, {})], {})], {})


def topic_ids(answer: Response) -> dict[str, str]:
    """Topic → its id, or ``GONE`` where there is none; an old log without an id is left out.

    An id is ``CLUSTER/TOPIC``, both as Kafka's own tools show them.
    """
    cluster = answer.cluster_id or ""
    found = {
        topic[1]: f"{cluster}/{urlsafe_b64encode(topic[2]).rstrip(b'=').decode()}"
        for topic in answer.topics
        if topic[0] == 0 and any(topic[2])
    }
    gone = {topic[1]: GONE for topic in answer.topics if topic[0] == _UNKNOWN}
    return found | gone


def controller_ms(answer: Response) -> int | None:
    """The controller's time, in epoch milliseconds; None when it does not tell."""
    for _, partitions, _ in answer.topics or ():
        for _, error, leader, _, _, voters, *_ in partitions:
            for replica, _, fetched_ms, *_ in voters:
                if not error and replica == leader and fetched_ms > 0:
                    return int(fetched_ms)
    return None
