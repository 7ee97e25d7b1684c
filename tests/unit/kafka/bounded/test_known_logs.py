"""Which log each partition is read in."""

from __future__ import annotations

from aiokafka import TopicPartition

from monitor.kafka.bounded.known_logs import KnownLogs
from monitor.kafka.flexible_requests import GONE

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)
OLD, NEW, MISSING = {"t": "c/1"}, {"t": "c/2"}, {"t": GONE}


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


def test_a_topic_of_which_nothing_is_told_is_what_it_was() -> None:
    """Or another one, when it is told again."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    assert known.looked([HERE], {}) == {}
    assert not known.is_old(HERE)
    assert known.looked([HERE], NEW) == {"t": [HERE]}


def test_positions_in_a_topic_that_is_gone_are_none_of_the_next_one() -> None:
    """Until it is there again: the same one, which one broker did not know, or another one."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    assert known.looked([HERE], MISSING) == {}
    assert known.is_old(HERE)
    assert known.looked([HERE], OLD) == {"t": []}
    assert not known.is_old(HERE)
    known.looked([HERE], MISSING)
    assert known.looked([HERE], NEW) == {"t": [HERE]}


def test_what_is_assigned_while_its_topic_is_gone_is_known_by_what_the_topic_was() -> None:
    """What the group has committed was of that; where nobody had seen it nothing is known."""
    known = KnownLogs()
    known.looked([], OLD)
    known.looked([HERE], MISSING)
    assert known.looked([HERE], NEW) == {"t": [HERE]}
    fresh = KnownLogs()
    fresh.looked([HERE], MISSING)
    assert fresh.looked([HERE], NEW) == {"t": []}
    assert not fresh.is_old(HERE)


def test_what_is_begun_after_its_topic_was_gone_is_of_the_next_one() -> None:
    """Nothing of it had been read."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    known.looked([HERE], MISSING)
    known.begun([HERE], NEW)
    assert not known.is_old(HERE)
    assert known.looked([HERE], NEW) == {"t": []}


def test_a_topic_is_made_anew_for_whoever_saw_it_before() -> None:
    """Also where nothing of it was read here; one that is seen for the first time is not."""
    known = KnownLogs()
    known.begun([HERE], OLD)
    known.looked([HERE], OLD)
    assert not known.is_made_anew("t")
    known.revoked()
    known.looked([], MISSING)
    assert not known.is_made_anew("t")
    known.begun([HERE], NEW)
    assert known.is_made_anew("t")


def test_nothing_is_known_of_logs_that_another_member_may_have_read() -> None:
    """A partition that comes back is read where that member has committed."""
    known = KnownLogs()
    known.looked([HERE], OLD)
    known.looked([HERE, THERE], NEW)
    known.revoked()
    assert not known.is_old(HERE)
    assert known.looked([HERE], {"t": "c/3"}) == {"t": []}


def test_the_mark_of_a_commit_is_the_log_that_was_read() -> None:
    """Until a look has found another one; of a log that nobody told of there is none."""
    known = KnownLogs()
    assert known.mark(HERE) == ""
    known.begun([HERE], OLD)
    assert known.mark(HERE) == OLD["t"]
    known.looked([HERE], MISSING)
    assert known.mark(HERE) == OLD["t"]
    known.looked([HERE], NEW)
    assert known.mark(HERE) == NEW["t"]
