"""Two requests that aiokafka does not know in the version that tells one's own rights.

Metadata v8 (Kafka 2.3, KIP-430) tells what the asking principal may do with a topic, and need not
create what it is asked for. DescribeGroups v3 tells the same of a group; aiokafka sends it, but
reads the answer in the shape of v2, without the rights. Layouts: kafka.apache.org/protocol.
"""

from __future__ import annotations

from aiokafka.protocol.admin import DescribeGroupsRequest_v3, DescribeGroupsResponse_v3
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Int16, Int32, Schema, String

#: Bits of «authorized operations»; org.apache.kafka.common.acl.AclOperation numbers them.
_BITS = {
    "read": 3,
    "write": 4,
    "create": 5,
    "describe": 8,
    "describe_configs": 10,
}
#: What a broker says that was not asked, or does not know.
_UNTOLD = -(2**31)


def rights(bits: int) -> frozenset[str] | None:
    """The names of the granted operations; None when the broker did not tell.

    >>> sorted(rights(1 << 3 | 1 << 8) or ())
    ['describe', 'read']
    >>> rights(-(2**31))
    """
    if bits == _UNTOLD:
        return None
    return frozenset(name for name, bit in _BITS.items() if bits >> bit & 1)


class _TopicsAnswer(Response):
    API_KEY = 3
    API_VERSION = 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            Array(
                ("node_id", Int32),
                ("host", String("utf-8")),
                ("port", Int32),
                ("rack", String("utf-8")),
            ),
        ),
        ("cluster_id", String("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("topic", String("utf-8")),
                ("is_internal", Boolean),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", Array(Int32)),
                        ("isr", Array(Int32)),
                        ("offline_replicas", Array(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("cluster_authorized_operations", Int32),
    )


class _TopicsAsked(RequestStruct):
    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = _TopicsAnswer
    SCHEMA = Schema(
        ("topics", Array(String("utf-8"))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
    )


class TopicsRequest(Request[_TopicsAsked]):
    """Partitions and own rights of some topics, creating none of them."""

    API_KEY = 3

    def __init__(self, topics: list[str]) -> None:
        self._topics = topics

    def build(self, struct: type[_TopicsAsked]) -> _TopicsAsked:
        """The request as it goes out."""
        return struct(self._topics, False, False, True)


class _GroupsAsked(RequestStruct):
    API_KEY = 15
    API_VERSION = 3
    RESPONSE_TYPE = DescribeGroupsResponse_v3
    SCHEMA = DescribeGroupsRequest_v3.SCHEMA


class GroupRequest(Request[_GroupsAsked]):
    """State, members and own rights of one group, which need not exist."""

    API_KEY = 15

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, struct: type[_GroupsAsked]) -> _GroupsAsked:
        """The request as it goes out."""
        return struct([self._group], True)
