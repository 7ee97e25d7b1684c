"""Before anything is spent: what is unread, what it costs, and that nothing bounds it."""

from __future__ import annotations

from monitor.app.backlog import MOST_LOOKED_AT, Backlog, most_unread
from monitor.doctor.backlog import lines
from monitor.doctor.report import CheckStatus
from monitor.kafka.replay import Unread

NEW = Backlog("g", True, 3_000, 72_000.0, 24_000, 0.00047, True, has_budget=False)


def test_a_new_group_and_no_budget() -> None:
    """What the first evening costs, and each day after it."""
    first, second = lines(NEW, "horizon")
    assert first.status is CheckStatus.OK
    assert first.found == (
        "group g is new: 3,000 unread, the oldest 20 h old; judging them costs about 1.41 USD "
        "(ingest.start: horizon)"
    )
    assert (second.check, second.status) == ("budget", CheckStatus.WARN)
    assert second.found == "none: a day like the last one costs about 11.28 USD"
    assert "limits.usd_per_day" in second.mend


def test_nobody_is_warned_of_what_costs_nothing_or_is_bounded() -> None:
    """A budget, the offline judge, and a model whose price its own line asks for."""
    for fine in (
        NEW._replace(has_budget=True),
        NEW._replace(usd_each=0.0, is_asked=False),
        NEW._replace(usd_each=None, is_priced=False),
    ):
        (line,) = lines(fine, "latest")
        assert line.status is CheckStatus.OK


def test_a_topic_without_traffic_has_no_budget_either() -> None:
    """Day one: what a day costs is not known, and nothing bounds it."""
    _, second = lines(NEW._replace(unread=0, per_day=0, usd_each=None), "horizon")
    assert second.status is CheckStatus.WARN
    assert "nothing came in the last day" in second.found


def test_what_is_too_old_costs_nothing() -> None:
    """It will not be judged, and its price is no reason to fear the start."""
    (line, *_) = lines(NEW._replace(unread=120, too_old=120), "horizon")
    assert line.found == (
        "group g is new: 120 unread, the oldest 20 h old, about 120 too old to be judged "
        "(ingest.start: horizon)"
    )


def test_where_not_all_partitions_were_looked_at_it_is_said() -> None:
    """In a part of them nobody knows how old the oldest is."""
    part = NEW._replace(too_old=7, looked_at=20, behind=48)
    assert part.in_words() == (
        "group g is new: 3,000 unread, the oldest 20 h old (in the 20 of 48 partitions with the "
        "most unread), about 7 too old to be judged; judging them costs about 1.41 USD"
    )
    assert part._replace(looked_at=20, behind=20).in_words() == NEW._replace(too_old=7).in_words()
    assert "partitions" not in part._replace(oldest_s=None).in_words()


def test_the_partitions_with_the_most_unread_are_looked_at() -> None:
    """Number 40 is far behind, and the first ones are not; one without an unread record is left."""
    found = [Unread("t", number, 100, 102, True, 100) for number in range(48)]
    found[3], found[40] = found[3]._replace(start=102), found[40]._replace(start=2)
    looked = most_unread(found)
    assert [one.partition for one in looked[:5]] == [40, 0, 1, 2, 4]
    assert len(looked) == MOST_LOOKED_AT
    assert most_unread(found[3:5]) == [found[4]]
