"""An alarm in the two lines that fit a phone: what moved and since when; what it is not.

The long sentence of the record has the same numbers; here they are in per cent, with plain names.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Final

from monitor.metrics.catalogue import CATALOGUE
from monitor.records.alarm import AlarmRecord, named_segment, released
from monitor.records.durations import in_words

#: A first line has at most 110. Cluster and namespace stand before it: the templates of
#: Alertmanager shorten them to what is left, which is 12 characters of both at least.
MOST_CHARACTERS: Final = 94
_LEAST_NAME: Final = 8
#: Why an alarm has ended, where nothing says how things are now.
_ENDED: Final = {
    "recovered": "back to normal",
    "new_baseline": "another baseline holds",
    "threshold_raised": "its threshold was raised",
    "evidence_expired": "its evidence became too old",
    "not_watched": "it is not scored, or not watched, any more",
}
_SEGMENT_CHARACTERS: Final = 40
_RELEASE_CHARACTERS: Final = 80


def headline(record: AlarmRecord, now: datetime | None = None) -> str:
    """The first line: who, what, from where to where with the interval, since when (UTC).

    It is sent again while the alarm is open: once ``now`` is another day it says which day it was.

    What does not fit loses the number of scores, and then the middle of the application's name:
    names of one company begin alike, and end alike in every environment.
    """
    known = CATALOGUE.get(record.metric)  # another program may have written it
    what = record.metric if known is None else known.plain
    found = [f": {what} {said}" for said in _moved(record, now)]
    rest = next((one for one in found if _fits(record.application, one)), found[-1])
    return _cut(record.application, max(_LEAST_NAME, MOST_CHARACTERS - len(rest))) + rest


def _fits(name: str, rest: str) -> bool:
    return len(name) + len(rest) <= MOST_CHARACTERS


def _moved(record: AlarmRecord, today: datetime | None) -> list[str]:
    """The longest first."""
    now = record.recovered or record.settled or record.change
    since = f"since {_moment(record.since, max(record.opened_at, today or record.opened_at))}"
    if record.state == "closed" and record.recovered is None:
        after = in_words(((record.closed_at or record.opened_at) - record.since).total_seconds())
        return [f"– alarm ended after {after}: {_ENDED[record.closed_because or 'recovered']}"]
    if now.value is None or now.lower is None or now.upper is None:
        return [f"– nothing is scored {since}"]
    if record.recovered is not None:
        _, value, lower, upper = _percent(1.0, now.value, now.lower, now.upper)
        after = in_words(((record.closed_at or record.opened_at) - record.since).total_seconds())
        return [f"back at {value} % ({lower}–{upper} %) after {after}"]
    before, value, lower, upper = _percent(record.change.before, now.value, now.lower, now.upper)
    moved = f"{before} % → {value} % ({lower}–{upper} %"
    return [f"{moved}, n {now.n:.0f}) {since}", f"{moved}) {since}"]


def details(record: AlarmRecord) -> str:
    """The second line: a release, or is it the judge, the mix of the traffic, one segment of it?"""
    failures = record.judge_failures
    said = {"normal": "normal", "more": "more than before", "unknown": "nothing before"}
    parts = [_cut(one, _RELEASE_CHARACTERS) for one in released(record)[:1]]
    parts.append(f"judge failures {100 * failures.rate:.0f} % ({said[failures.verdict]})")
    mix = record.change.explained_by_mix
    if mix is not None:
        parts.append(f"mix of traffic {'hides' if mix < 0 else 'explains'} {100 * abs(mix):.0f} %")
    if record.segment_by and any(one.segment for one in record.segments):
        parts.append(_segments(record))
    line = "; ".join(parts)
    return line[0].upper() + line[1:]


def _segments(record: AlarmRecord) -> str:
    found, attribute = record.stands_out, record.segment_by or ""
    if found is None:
        return f"all segments of {attribute} alike"
    own = f"{100 * found.before:.0f} % → {100 * found.value:.0f} %"
    others = f"{100 * found.others_before:.0f} % → {100 * found.others_value:.0f} %"
    segment = _cut(named_segment(attribute, found.segment), _SEGMENT_CHARACTERS)
    return f"{segment} {own}, the others {others}"


def _percent(*shares: float) -> list[str]:
    """With one decimal where whole ones would hide the change; more where a mean would be 0.

    >>> _percent(0.09, 0.351, 0.27, 0.44), _percent(0.004, 0.009, 0.006, 0.02)
    (['9', '35', '27', '44'], ['0.4', '0.9', '0.6', '2.0'])
    >>> _percent(0.0004, 0.02), _percent(0.9996, 0.91)
    (['0.04', '2.00'], ['99.96', '91.00'])
    """
    ends = [round(min(share, 1.0 - share), 12) for share in shares[:2]]
    least = min((end for end in ends if end > 0.0), default=1.0)
    is_alike = f"{100 * shares[0]:.0f}" == f"{100 * shares[1]:.0f}"
    places = max(int(is_alike), -math.floor(math.log10(100 * least)) if least < 0.01 else 0)
    return [f"{100 * share:.{places}f}" for share in shares]


def _moment(moment: datetime, today: datetime) -> str:
    found = moment.astimezone(UTC)
    form = "%H:%M UTC" if today - moment < timedelta(hours=20) else "%d %b %H:%M UTC"
    return found.strftime(form)


def _cut(name: str, most: int) -> str:
    """Without its middle.

    >>> _cut("customer-support-bot-emea", 16), _cut("hr", 16)
    ('customer…ot-emea', 'hr')
    """
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}…{name[-end:]}"
