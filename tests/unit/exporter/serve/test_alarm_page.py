"""The pages of alarms: the sentence, the time line, the segments; texts only where asked for."""

from __future__ import annotations

from datetime import timedelta

from monitor.exporter.serve.alarm_page import (
    CALM,
    FOLLOWS_NONE,
    MORE_TO_READ,
    MOST_LISTED,
    MOST_OPEN,
    NO_ALARM,
    STILL_TO_READ,
    UNWATCHED,
    alarm_fragment,
    alarm_list,
    alarm_page,
    alarm_status,
    alarms_page,
)
from tests.stages.alarm_records import DETAILS, HEADLINE, SENTENCE, WORST, alarm
from tests.stages.records import NOON

NOW = NOON + timedelta(minutes=14)


def test_an_alarm_is_explained() -> None:
    """What, since when, in which segment, in which answers; its times with their distance."""
    page = alarm_page("key", alarm(), NOW)
    for said in (
        HEADLINE,
        SENTENCE,
        "2026-11-20 02:10:00 UTC</time>: the change began (10.1 h ago)",
        "2026-11-20 12:00:00 UTC</time>: the alarm opened (14 min ago)",
        "<strong>tenant=acme</strong> (differs)",
        "tenant=bolt",
        "50 % → 60 %",
        "30 % (20–40 %), n 40",
        "104 % of what opens an alarm",
        "i-1: 100 % wrong claims from irrelevant passages",
    ):
        assert said in page.replace("&gt;", ">"), said


def test_texts_are_only_where_asked_for() -> None:
    """The exporter's page has numbers; that of audits also claims, and links to the answers."""
    plain, whole = alarm_page("key", alarm(), NOW), alarm_fragment(alarm(), NOW, "/interactions")
    assert "secret claim" not in plain
    assert "secret claim  ← passage 1 (doc-7)" in whole
    assert 'href="/interactions/i-1"' in whole
    assert (
        "/interactions?application=support-bot&amp;metric=noise_sensitivity_irrelevant"
        "&amp;order=worst&amp;since=2026-11-20T02%3A10%3A00%2B00%3A00" in whole
    )


def test_the_first_lines_say_what_since_when_and_in_which_answers() -> None:
    """With the worst of these where single ones are shown, else without a text."""
    box = alarm_status([alarm()], NOW, CALM, "/interactions")
    for said in (
        f"<strong>WORSE</strong> {HEADLINE} (10.1 h ago)",
        DETAILS,
        "The worst answers since then:",
        '<a href="/interactions/i-1" dir="auto">secret claim  ← passage 1 (doc-7)</a>',
        "/interactions?application=support-bot&amp;metric=noise_sensitivity_irrelevant"
        "&amp;order=worst&amp;since=2026-11-20T02%3A10%3A00%2B00%3A00",
    ):
        assert said in box.replace("&gt;", ">"), said
    plain = alarm_status([alarm()], NOW, CALM)
    assert (HEADLINE in plain, "secret" in plain, "i-1" in plain) == (True, False, False)


def test_the_first_lines_stay_short() -> None:
    """In a storm two alarms are explained, five are named, and the others are counted."""
    alarms = [alarm(application=f"bot-{i}") for i in range(7)]
    box = alarm_status(alarms, NOW, CALM, "/interactions")
    assert box.count("WORSE") == MOST_OPEN
    assert box.count("The worst answers since then:") == 2
    assert "and 2 more" in box


def test_what_has_just_ended_is_told() -> None:
    """For an hour, without a claim: whoever looks a moment too late still learns of it."""
    ended = {"state": "closed", "closed_because": "recovered"}
    late = alarm(application="late", closed_at=NOW - timedelta(minutes=5), **ended)
    old = alarm(application="old", closed_at=NOW - timedelta(hours=2), **ended)
    box = alarm_status([old, late, alarm(application="open")], NOW, CALM, "/interactions")
    assert [
        box.count(f"{name}: ") + box.count(f"{name} – ") for name in ("open", "late", "old")
    ] == [
        1,
        1,
        0,
    ]
    assert "Over, 5 min ago: late" in box
    assert box.index("WORSE") < box.index("Over, ")
    calm = alarm_status([late], NOW, CALM, "/interactions")
    assert calm.index(CALM) < calm.index("Over, 5 min ago: late")
    assert "secret" not in calm


def test_where_no_alarm_is_open_it_is_said_what_that_means() -> None:
    """What the caller knows: all is well, or nothing is watched."""
    assert f"<p>{UNWATCHED}</p>" in alarm_status([], NOW, UNWATCHED)


def test_whatever_stands_on_a_record_is_text() -> None:
    """Its names come from traffic."""
    bad = "<script>alert(1)</script>"
    record = alarm(
        application=bad, worst=(WORST.model_copy(update={"interaction_id": bad, "segment": bad}),)
    )
    pages = [
        alarm_page(bad, record, NOW),
        alarm_page(bad, None, NOW),
        alarms_page({"k": record}, NOW),
        alarm_fragment(record, NOW, "/interactions"),
        alarm_status([record], NOW, CALM, "/interactions"),
    ]
    assert [bad in page for page in pages] == [False] * 5
    assert all("&lt;script&gt;" in page for page in pages)


def test_that_there_is_none_is_said_only_where_it_is_known() -> None:
    """Not by a process that follows no alarms, nor before all of them are read."""
    said = [FOLLOWS_NONE, STILL_TO_READ, MORE_TO_READ, NO_ALARM]
    for page, expected in (
        (alarms_page(None, NOW), FOLLOWS_NONE),
        (alarms_page({}, NOW, are_read=False), STILL_TO_READ),
        (alarms_page({"k": alarm()}, NOW, are_read=False), MORE_TO_READ),
        (alarms_page({}, NOW), NO_ALARM),
        (alarms_page({"k": alarm()}, NOW), None),
    ):
        assert [one for one in said if one in page] == [one for one in said if one == expected]
    assert HEADLINE in alarms_page({"k": alarm()}, NOW, are_read=False).replace("&gt;", ">")
    assert "No alarm is known as" not in alarm_page("k", None, NOW, are_read=False)
    assert STILL_TO_READ in alarm_page("k", None, NOW, are_read=False)


def test_open_alarms_come_first() -> None:
    """Then the latest; no more than a person reads; in the place of none a sentence."""
    older = NOON - timedelta(days=2)
    over = [
        alarm(application=f"over-{i}", state="closed", closed_at=NOON, closed_because="recovered",
              opened_at=NOON - timedelta(hours=i))
        for i in range(MOST_LISTED + 5)
    ]  # fmt: skip
    page = alarm_list([*over, alarm(application="open", opened_at=older)], NOW, "none")
    assert page.index("open:") < page.index("over-0") < page.index("over-1")
    assert "and 6 more" in page
    assert 'href="/alarms/noise_sensitivity_irrelevant/open/offline%403f2a91"' in page
    assert alarm_list([], NOW, "There has been no alarm.") == "<p>There has been no alarm.</p>\n"
