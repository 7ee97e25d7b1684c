"""What is said of topics, from what a cluster tells of them."""

from __future__ import annotations

import pytest

from monitor.doctor import topics
from monitor.doctor.needs import Need
from monitor.doctor.report import CheckStatus
from monitor.kafka.cluster_state import GroupFound, TopicFound, Unanswered

EVERY = frozenset({"describe", "read", "write"})
SCORES = Need("scores.v1", "scores", EVERY)
INPUT = Need("in.v1", "interactions", frozenset({"describe", "read"}))
DEAD = Need("dead.v1", "dead_letters", frozenset({"describe", "write"}), frozenset({"read"}))
READ, WRITE = frozenset({"describe", "read"}), frozenset({"write"})
ALARMS = Need("alarms.v1", "alarms", READ, WRITE)
CONTROL = Need("control.v1", "control", READ, WRITE)
DAY_S = 86_400


def found(
    partitions: int = 3,
    rights: frozenset[str] | None = EVERY,
    *,
    leaderless: tuple[int, ...] = (),
    least_in_sync: int = 3,
) -> TopicFound:
    """A topic that exists."""
    return TopicFound(False, False, tuple(range(partitions)), leaderless, least_in_sync, rights)


MISSING = TopicFound(True, False, (), (), 0, None)
HIDDEN = TopicFound(False, True, (), (), 0, None)


@pytest.mark.parametrize("state", [MISSING, HIDDEN, found(leaderless=(1,))])
def test_a_needed_topic_must_be_usable(state: TopicFound) -> None:
    """Missing, hidden or without a leader: FAIL."""
    assert topics.existence(SCORES, state, create=False).status is CheckStatus.FAIL
    assert topics.existence(ALARMS, state, create=False).status is CheckStatus.FAIL


def test_a_topic_that_will_be_created_is_no_failure() -> None:
    """With ``create_topics`` a missing one is a warning; a hidden one still fails."""
    assert topics.existence(SCORES, MISSING, create=True).status is CheckStatus.WARN
    assert topics.existence(SCORES, HIDDEN, create=True).status is CheckStatus.FAIL


def test_the_setting_of_a_missing_topic_is_named() -> None:
    """A misspelt name is mended in the settings, so their path is said."""
    assert "kafka.topics.dead_letters" in topics.existence(DEAD, MISSING, create=False).mend


def test_scorers_without_a_partition_are_counted() -> None:
    """More members than partitions: those beyond get nothing to do."""
    line = topics.partition_hint(INPUT, found(3), GroupFound(False, 5, EVERY))
    assert line.status is CheckStatus.WARN
    assert "2 get nothing" in line.found
    for group in (None, GroupFound(False, 3, EVERY)):
        assert topics.partition_hint(INPUT, found(3), group).status is CheckStatus.OK


def test_lacking_rights_are_named_as_the_broker_names_them() -> None:
    """What the monitor cannot do without is a FAIL, what only a command needs a WARN."""
    line = topics.rights(SCORES, found(rights=frozenset({"describe", "read"})))
    assert (line.status, line.mend) == (CheckStatus.FAIL, "grant Write to this user")
    line = topics.rights(DEAD, found(rights=frozenset({"describe", "write"})))
    assert (line.status, line.mend) == (CheckStatus.WARN, "grant Read to this user")
    assert topics.rights(DEAD, found()).status is CheckStatus.OK
    line = topics.rights(ALARMS, found(rights=READ))
    assert (line.status, line.mend) == (CheckStatus.WARN, "grant Write to this user")
    assert "no alarm is explained" in line.found
    line = topics.rights(CONTROL, found(rights=frozenset({"describe"})))
    assert (line.status, line.mend) == (CheckStatus.FAIL, "grant Read to this user")
    assert "by scorers, too" in line.found
    line = topics.rights(CONTROL, found(rights=READ))
    assert (line.status, line.mend) == (CheckStatus.WARN, "grant Write to this user")
    assert "pause and resume need it" in line.found


def test_rights_that_are_not_told_are_not_guessed() -> None:
    """An old broker says nothing of rights: neither OK nor FAIL."""
    line = topics.rights(SCORES, found(rights=None))
    assert line.status is CheckStatus.WARN
    assert "only a write would show" in line.found


def test_the_group_needs_read() -> None:
    """Hidden or without READ the scorer cannot join; unknown so far is no failure."""
    assert topics.group_rights("g", GroupFound(True, None, None)).status is CheckStatus.FAIL
    without = GroupFound(False, 0, frozenset({"describe"}))
    assert topics.group_rights("g", without).status is CheckStatus.FAIL
    assert topics.group_rights("g", GroupFound(False, 2, EVERY)).status is CheckStatus.OK
    assert topics.group_rights("g", GroupFound(False, None, None)).status is CheckStatus.OK


@pytest.mark.parametrize(
    ("configs", "status"),
    [
        ({"retention.ms": "-1"}, CheckStatus.OK),
        ({"retention.ms": str(3 * DAY_S * 1000)}, CheckStatus.OK),
        ({"retention.ms": str(3 * DAY_S * 1000 - 1)}, CheckStatus.FAIL),
        ({"cleanup.policy": "compact,delete", "retention.ms": "-1"}, CheckStatus.FAIL),
        ({"retention.ms": "-1", "retention.bytes": "1000000"}, CheckStatus.WARN),
    ],
)
def test_scores_must_outlive_a_restart(configs: dict[str, str], status: CheckStatus) -> None:
    """Shorter than asked or compacted is a FAIL; a limit by size may be too short."""
    assert topics.kept(SCORES, configs, 3 * DAY_S).status is status


@pytest.mark.parametrize(
    ("configs", "status", "said"),
    [
        ({"retention.ms": "-1"}, CheckStatus.OK, "kept for ever"),
        ({"retention.ms": str(7 * DAY_S * 1000)}, CheckStatus.OK, "kept 7 d"),
        ({"retention.ms": str(2 * DAY_S * 1000)}, CheckStatus.OK, "lag grows"),
        ({"retention.ms": str(2 * DAY_S * 1000 - 1)}, CheckStatus.WARN, "expire unread"),
        ({"retention.bytes": "1000000"}, CheckStatus.WARN, "at most 1000000 bytes"),
    ],
)
def test_what_waits_for_money_must_not_expire(
    configs: dict[str, str], status: CheckStatus, said: str
) -> None:
    """The input is kept through the day without money, and the one that makes up for it."""
    line = topics.waits(INPUT, configs)
    assert (line.check, line.target, line.status) == ("retention", "in.v1", status)
    assert said in line.found
    assert "reading pauses" in line.found
    assert bool(line.mend) == (configs != {"retention.ms": "-1"})


def test_state_is_compacted_and_events_are_not() -> None:
    """Control records are kept by key; score records and interactions by time."""
    compact, delete = {"cleanup.policy": "compact"}, {"cleanup.policy": "delete"}
    assert topics.cleanup(ALARMS, compact).status is CheckStatus.OK
    assert topics.cleanup(ALARMS, delete).status is CheckStatus.WARN
    assert topics.cleanup(SCORES, delete).status is CheckStatus.OK
    assert topics.cleanup(SCORES, compact).status is CheckStatus.FAIL
    assert topics.cleanup(INPUT, compact).status is CheckStatus.WARN


def test_a_period_that_goes_by_the_pace_only_warns() -> None:
    """What windows need is a FAIL; the evidence of a long period is cut short: WARN."""
    month = {"retention.ms": str(30 * DAY_S * 1000)}
    assert topics.kept(SCORES, month, 3 * DAY_S, 30 * DAY_S).status is CheckStatus.OK
    line = topics.kept(SCORES, month, 3 * DAY_S, 57 * DAY_S)
    assert line.status is CheckStatus.WARN
    assert line.found.startswith("kept 30 d, 57 d needed")
    assert str(57 * DAY_S * 1000) in line.mend
    assert topics.kept(SCORES, month, 31 * DAY_S, 57 * DAY_S).status is CheckStatus.FAIL


def test_sizes_are_compared_where_a_record_would_be_refused() -> None:
    """Score records against our own limit, dead letters against the input's."""
    small = {"max.message.bytes": "500000"}
    assert topics.scores_size(SCORES, small, 500_000).status is CheckStatus.OK
    assert topics.scores_size(SCORES, small, 500_001).status is CheckStatus.WARN
    assert topics.dead_letters_size(DEAD, small, 500_000).status is CheckStatus.OK
    line = topics.dead_letters_size(DEAD, small, 2_000_000)
    assert line.status is CheckStatus.WARN
    assert "2000000" in line.mend


def test_too_few_replicas_in_sync_stop_all_writes() -> None:
    """Fewer than ``min.insync.replicas``: FAIL where we write, nothing where we only read."""
    two = {"min.insync.replicas": "2"}
    line = topics.in_sync(SCORES, found(least_in_sync=1), two)
    assert line is not None
    assert line.status is CheckStatus.FAIL
    assert topics.in_sync(SCORES, found(least_in_sync=2), two) is None
    assert topics.in_sync(INPUT, found(least_in_sync=1), two) is None


def test_settings_that_are_kept_from_us_are_said_to_be_unchecked() -> None:
    """Forbidden: the right that is lacking; otherwise: look by hand."""
    line = topics.unknown_settings(SCORES, Unanswered("…", forbidden=True))
    assert (line.status, line.mend) == (CheckStatus.WARN, "grant DescribeConfigs to this user")
    assert topics.unknown_settings(SCORES, Unanswered("old")).status is CheckStatus.WARN
