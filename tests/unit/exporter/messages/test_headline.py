"""The first line of a page: it fits a phone, and has the numbers of the record."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.exporter.messages.headline import MOST_CHARACTERS, details, headline
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.alarm import JudgeFailures, SettledMean
from tests.stages.alarm_records import DETAILS, HEADLINE, alarm, change


def test_an_open_alarm() -> None:
    """Who, what, from where to where, since when; and what it is not."""
    assert (headline(alarm()), details(alarm())) == (HEADLINE, DETAILS)


def test_one_that_has_recovered_says_where_it_is_now() -> None:
    """And after how long; it does not repeat what it rose to."""
    now = SettledMean(value=0.08, lower=0.06, upper=0.11, n=30)
    opened = alarm()
    over = {"state": "closed", "closed_because": "recovered", "recovered": now}
    closed = opened.model_copy(update={**over, "closed_at": opened.since + timedelta(minutes=14)})
    assert headline(closed) == (
        "support-bot: wrong claims from irrelevant passages back at 8 % (6–11 %) after 14 min"
    )


def test_what_is_sent_again_another_day_says_which_day_it_was() -> None:
    """A page is repeated while it is open: at noon of the next day 02:10 is not today's."""
    opened = alarm()
    today, tomorrow = (opened.opened_at + timedelta(hours=hours) for hours in (4, 24))
    assert headline(opened, today) == HEADLINE
    assert f"since {opened.since:%d %b} 02:10 UTC" in headline(opened, tomorrow)
    assert len(headline(opened, tomorrow)) <= MOST_CHARACTERS


@pytest.mark.parametrize("metric", CATALOGUE)
@pytest.mark.parametrize("application", ["hr", "support-bot", "the assistant of the night shift"])
def test_every_line_fits(metric: str, application: str) -> None:
    """With ``[cluster/namespace] `` before it, a phone shows 110 characters."""
    found = headline(alarm(metric=metric, application=application))
    assert len(found) <= MOST_CHARACTERS
    assert found.startswith(application[:7])
    assert found.endswith(" since 02:10 UTC")


def test_small_shares_have_a_decimal() -> None:
    """Where whole per cents would hide the change."""
    small = change(before=0.004, value=0.012, lower=0.008, upper=0.02)
    assert "0.4 % → 1.2 % (0.8–2.0 %)" in headline(alarm(change=small))


def test_nothing_scored_and_failures_of_the_judge() -> None:
    """Both are said in words."""
    nothing = alarm(change=change(value=None, lower=None, upper=None, n=0.0))
    assert headline(nothing).endswith("passages – nothing is scored since 02:10 UTC")
    failing = JudgeFailures(before=0.0, rate=0.4, picks=50, verdict="more")
    assert details(alarm(judge_failures=failing)).startswith(
        "Judge failures 40 % (more than before); "
    )
