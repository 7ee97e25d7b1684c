"""The pages ``/alarms`` and ``/alarms/<key>``: numbers for all, texts for who asks for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup

from monitor.exporter.messages.explained import explained
from monitor.exporter.serve.score_tables import ScoreRow
from monitor.exporter.serve.templates import PAGES
from monitor.records.alarm import AlarmRecord
from monitor.records.durations import in_words

#: More than so many rows tell a person nothing.
MOST_LISTED: Final = 100
#: Open alarms in the box that a page begins with.
MOST_OPEN: Final = 5
#: Of these, alarms that it explains, and answers of each: what one reads in ten seconds.
_EXPLAINED, _ANSWERS = 2, 3
#: For so long it is said that one has ended.
_LATELY: Final = timedelta(hours=1)
#: What is said where no alarm is open: something is watched, or nothing is, or nobody knows yet.
CALM: Final = "Nothing is worse than normal."
UNWATCHED: Final = (
    "Nothing is watched yet: there is no baseline, so nothing can be said to be worse."
)
BEYOND: Final = "No alarm is open, but a number lies beyond what is normal: see below."
#: By its detector; no alarm is known of it, which may be a moment behind, or never come.
UNTOLD: Final = "A number is worse than normal: see below."
UNREAD: Final = "Whether anything is worse than normal is not known yet."
#: What a list of alarms says in the place of none, and where there may be more.
NO_ALARM: Final = "There has been no alarm."
FOLLOWS_NONE: Final = "Not known: this process follows no alarms: see the page of the exporter."
STILL_TO_READ: Final = "Not known yet: the alarms topic is still to be read."
MORE_TO_READ: Final = "Not all are known yet: the alarms topic is still to be read."


def calm_in_words(rows: Iterable[ScoreRow]) -> str:
    """What it means for these numbers that no alarm is open."""
    watched = [row for row in rows if row.normal is not None]
    if not watched:
        return UNWATCHED
    if any(row.is_worse for row in watched):
        return UNTOLD
    return BEYOND if any(row.is_beyond for row in watched) else CALM


def alarm_fragment(record: AlarmRecord, now: datetime, answers: str = "") -> Markup:
    """What a page says of an alarm; with ``answers``, where single ones are shown, also claims."""
    template = PAGES.get_template("alarm_fragment.html")
    return Markup(template.render(alarm=explained(record, now), answers=answers))


def alarm_list(records: Collection[AlarmRecord], now: datetime, empty: str) -> Markup:
    """Open ones first, then the latest; ``empty`` stands in the place of none."""
    newest = sorted(records, key=lambda one: (one.state == "open", one.opened_at), reverse=True)
    found = [explained(one, now) for one in newest[:MOST_LISTED]]
    template, more = PAGES.get_template("alarm_list.html"), max(0, len(newest) - MOST_LISTED)
    return Markup(template.render(alarms=found, more=more, empty=empty))


def alarm_status(
    records: Collection[AlarmRecord],
    now: datetime,
    calm: str,
    answers: str = "",
) -> Markup:
    """What is worse than normal, the latest first, and what was within the hour; else ``calm``.

    With ``answers``, where single ones are shown, also the worst of them, with a claim of each.
    """
    newest = sorted(records, key=lambda one: one.opened_at, reverse=True)
    still_open = [one for one in newest if one.state == "open"]
    ended = [
        (explained(one, now), in_words(max(0.0, (now - one.closed_at).total_seconds())))
        for one in newest
        if one.closed_at is not None and now - one.closed_at <= _LATELY
    ]
    template = PAGES.get_template("status.html")
    return Markup(
        template.render(
            alarms=[explained(one, now) for one in still_open[:MOST_OPEN]],
            more=max(0, len(still_open) - MOST_OPEN),
            ended=ended[:_EXPLAINED],
            answers=answers,
            most_explained=_EXPLAINED,
            most_answers=_ANSWERS,
            calm=calm,
        )
    )


def alarm_page(
    key: str, record: AlarmRecord | None, now: datetime, *, are_read: bool = True
) -> str:
    """A page of its own, without texts; it says where there is no such alarm.

    Until all alarms ``are_read`` nobody knows that there is none.
    """
    if record is None and not are_read:
        return _page("Not known yet", Markup("<p>{}</p>").format(f"{key}: {STILL_TO_READ}"))
    if record is None:
        said = Markup("<p>{}</p>").format(
            f"No alarm is known as {key}. It may be too old, or this process does not follow "
            "alarms: see the page of the exporter."
        )
        return _page("No such alarm", said)
    return _page(f"{record.metric} of {record.application}", alarm_fragment(record, now))


def alarms_so_far(records: Collection[AlarmRecord], now: datetime, *, are_read: bool) -> Markup:
    """All that are known, as links; until they ``are_read``, nobody knows that there are no more.

    >>> from datetime import UTC
    >>> print(alarms_so_far([], datetime.now(UTC), are_read=False), end="")
    <p>Not known yet: the alarms topic is still to be read.</p>
    """
    found = alarm_list(records, now, NO_ALARM if are_read else STILL_TO_READ)
    if are_read or not records:
        return found
    return Markup("<p>{}</p>\n{}").format(MORE_TO_READ, found)


def alarms_page(
    records: Mapping[str, AlarmRecord] | None, now: datetime, *, are_read: bool = True
) -> str:
    """All that are known; ``records`` is None where the process follows no alarms."""
    if records is None:
        return _page("Alarms", Markup("<p>{}</p>").format(FOLLOWS_NONE))
    return _page("Alarms", alarms_so_far(records.values(), now, are_read=are_read))


def _page(title: str, body: Markup) -> str:
    return PAGES.get_template("alarm_page.html").render(title=title, body=body)
