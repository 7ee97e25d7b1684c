"""Which log each partition is read in."""

from __future__ import annotations

from aiokafka import TopicPartition

from monitor.kafka.bounded.known_logs import KnownLogs

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)
OLD, NEW = {"t": b"1"}, {"t": b"2"}


def test_what_is_begun_in_a_log_made_anew_is_not_begun_again() -> None:
    """The partition beside it is: its position is of the log before."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    known.begun([THERE], NEW)
    assert known.looked([HERE, THERE], NEW) == {"t": [HERE]}
    assert (known.is_old(HERE), known.is_old(THERE)) == (True, False)


def test_a_partition_begun_while_nobody_told_of_its_topic_is_not_begun_again() -> None:
    """Whatever its log was when it was read before: the next look learns what it is."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    known.begun([HERE], {})
    assert known.looked([HERE], NEW) == {"t": []}


def test_what_could_not_be_begun_again_is_old_until_it_is() -> None:
    """A look finds it once more, though it finds the same log."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    assert known.looked([HERE], NEW) == known.looked([HERE], NEW) == {"t": [HERE]}
    assert known.is_old(HERE)
    known.begun_again([HERE])
    assert known.looked([HERE], NEW) == {"t": []}
    assert not known.is_old(HERE)


def test_what_was_begun_anew_is_not_old_any_more() -> None:
    """Its position is of the log that there is."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    known.looked([HERE], NEW)
    known.begun([HERE], NEW)
    assert not known.is_old(HERE)


def test_a_topic_that_is_not_there_tells_nothing() -> None:
    """It is what it was when it is there again, or another one."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    assert known.looked([HERE], {}) == {}
    assert known.looked([HERE], OLD) == {"t": []}
    assert known.looked([HERE], NEW) == {"t": [HERE]}


def test_nothing_is_known_of_logs_that_another_member_may_have_read() -> None:
    """A partition that comes back is read where that member has committed."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    known.looked([HERE, THERE], NEW)
    known.revoked()
    assert not known.is_old(HERE)
    assert known.looked([HERE], {"t": b"3"}) == {"t": []}
    assert known.topics_read == {"t"}
