"""The page at ``/`` of a process: what it does, what is paused, and where everything else stands.

Plain HTML without scripts or anything from elsewhere: what it says is made here, how it looks
stands in ``front_page.html``, which escapes every text. It says nothing that ``/metrics``,
``/healthz`` and ``/readyz`` do not say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from monitor.exporter.scores.outlook import Outlook
from monitor.exporter.serve.alarm_page import (
    CALM,
    STILL_TO_READ,
    UNTOLD,
    alarm_status,
    calm_in_words,
)
from monitor.exporter.serve.missing import MissingMetric
from monitor.exporter.serve.score_tables import BEYOND_NORMAL, ScoreRow, ScoreTable
from monitor.exporter.serve.templates import PAGES
from monitor.judge.limits.budget import CAN_JUDGE, OVER_BUDGET, BudgetStatus
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.alarm import AlarmRecord, alarm_key
from monitor.records.control import PauseRecord
from monitor.records.outcome import RecentOutcomes

#: More than so many rows tell a person nothing.
MOST_ROWS: Final = 50
#: And so many tables.
MOST_TABLES: Final = 20
#: Seconds after which a browser asks again.
REFRESH_S: Final = 3
_ARROWS: Final = {True: "↑", False: "↓", None: ""}
#: What a state means; one that is not here says it itself.
_MEANS: Final = {
    "waiting": "for its limits, or because its provider has asked for patience",
    "circuit_open": "its provider does not answer; judging waits until it does",
    "stopped": "its provider refuses: key, credit, model or address are wrong, and the "
    "log names which (judge_state). Interactions end as judge_failed until a "
    "probe, every few minutes, is answered",
    OVER_BUDGET: "today's money is spent; it is asked nothing before the next day",
}

_PAGE: Final = PAGES.get_template("front_page.html")


class Front(NamedTuple):
    """What a process knows of itself; None where its role knows nothing of it.

    ``judges`` maps the name of a judge's model, or of the offline judge, to its state. Until
    ``pauses_read`` there may be more pauses than are known. ``refused`` is what was wrong with
    replies of models. ``scores`` gives the tables, which takes a moment, ``missing`` the metrics
    that have no value any more. ``known_alarms`` are the open and the closed ones, by key. Until
    ``alarms_read`` there may be more of both.
    """

    version: str
    roles: Sequence[str] = ()
    paused: Sequence[PauseRecord] | None = ()
    judges: Mapping[str, str] | None = None
    alarms: Sequence[AlarmRecord] | None = None
    budget: BudgetStatus | None = None
    pauses_read: bool = True
    refused: str | None = None
    scores: Callable[[], Sequence[ScoreTable]] | None = None
    outcomes: RecentOutcomes | None = None
    missing: Callable[[], Sequence[MissingMetric]] = list
    known_alarms: Mapping[str, AlarmRecord] = MappingProxyType({})
    alarms_read: bool = True


class _PageRow(NamedTuple):
    """A metric of a table, as text; ``state`` is set off where it is an ``alert``."""

    metric: str
    arrow: str
    mean: str
    interval: str
    samples: str
    normal: str
    state: str
    alert: bool


class _PageTable(NamedTuple):
    """The scores of an application and judge, and what is to be said of them."""

    title: str
    note: str
    rows: Sequence[_PageRow]


class _PageLine(NamedTuple):
    """A line of text; ``alert`` is set off, between ``lead`` and ``text``."""

    text: str
    alert: str = ""
    lead: str = ""


class _PageSection(NamedTuple):
    """A heading, and below it a list of rows, or a note in their place."""

    title: str
    rows: Sequence[_PageLine] = ()
    note: _PageLine = _PageLine("")


def front_page(
    front: Front, waiting: Mapping[str, str], stuck: Mapping[str, float], now: datetime
) -> str:
    """The page as HTML; ``now`` is when it was made."""
    scores = None if front.scores is None else front.scores()
    unknown = front.alarms is None or (waiting and not front.alarms)
    sections = [
        _alarms(front, scores or ()),
        _outcomes(front.outcomes),
        _paused(front.paused, front.pauses_read),
        _health(waiting, stuck),
        _judges(front, waits=bool(waiting)),
    ]
    return _PAGE.render(
        version=front.version,
        status=None if unknown else alarm_status(_known(front), now, _calm(scores)),
        roles=", ".join(front.roles) or "none yet",
        now=now.isoformat(timespec="seconds"),
        sections=sections,
        most_rows=MOST_ROWS,
        refresh_s=REFRESH_S,
        scores=_no_scores(scores, is_waiting=bool(waiting)),
        tables=[_table(each) for each in (scores or ())[:MOST_TABLES]],
        more_tables=max(0, len(scores or ()) - MOST_TABLES),
    )


def _known(front: Front) -> list[AlarmRecord]:
    """Those that are open, and those that have ended."""
    ended = [one for one in front.known_alarms.values() if one.state == "closed"]
    return [*(front.alarms or ()), *ended]


def _calm(scores: Sequence[ScoreTable] | None) -> str:
    """What it means that no alarm is open."""
    if scores is None:
        return CALM
    if any(table.worse for table in scores):
        return UNTOLD
    return calm_in_words(row for table in scores for row in table.rows)


def _no_scores(scores: Sequence[ScoreTable] | None, *, is_waiting: bool) -> str:
    """What stands in the place of tables."""
    if scores is None:
        return "This process has no scores: see the page of the exporter."
    if is_waiting:
        return "No scores yet: this process still waits, see below."
    return "No scores yet: nothing was scored within the horizon."


def _table(found: ScoreTable) -> _PageTable:
    caution = ", a lexical check" if found.judge.startswith("offline@") else ""
    note = f"judged by {found.judge}{caution}; the last {found.window}"
    if found.learning is not None:
        note += "; the baseline is being learned: {:,} of {:,}".format(*found.learning)
        note += _outlook(found.outlook)
    worse_first = sorted(found.rows, key=lambda each: (not each.is_worse, not each.is_watched))
    return _PageTable(found.application, note, [_row(each) for each in worse_first])


def _outlook(found: Outlook | None) -> str:
    """What a week makes enough, and when; and at this pace it may come late or never."""
    until = ", no alarm until then"
    if found is None:
        return until
    if found.is_unlikely:
        until += "; at this pace it comes late or never: rag-monitor baseline set"
    return _of_a_week(found) + until


def _of_a_week(found: Outlook) -> str:
    """A day is named only where all that lacks is time, and nothing where no week is held."""
    if found.week_helps is None:
        return f", or perhaps {found.least:,} and at least a week"
    if not found.week_helps:
        return ""
    if found.comes_s is not None:
        comes = datetime.fromtimestamp(found.comes_s, UTC)
        return f", or a week (over on {comes:%Y-%m-%d %H:%M} UTC)"
    if found.is_week_over and not found.is_unlikely:
        return f", or {found.least:,}, since a week is over"
    return f", or {found.least:,} and at least a week"


def _row(found: ScoreRow) -> _PageRow:
    better = CATALOGUE[found.metric].higher_is_better
    state = "worse" if found.is_worse else "no alarm" if found.normal is not None else ""
    if found.is_beyond and not found.is_worse:
        state = BEYOND_NORMAL
    if found.normal is None and found.is_watched:
        state = "learning" if found.is_learned else "no baseline: set or freeze it"
    sign = "≥" if better else "≤"
    return _PageRow(
        found.metric,
        _ARROWS[better],
        f"{found.mean:.3f}",
        f"{found.lower:.3f}–{found.upper:.3f}",
        f"{found.samples:,.0f}",
        "" if found.normal is None else f"{sign} {found.normal:.3f}",
        state,
        found.is_worse,
    )


def _outcomes(found: RecentOutcomes | None) -> _PageSection:
    """How interactions ended lately: the commonest first."""
    if found is None:
        elsewhere = "This process reads no interactions: see the pages of the scorers."
        return _PageSection("Interactions", note=_PageLine(elsewhere))
    title = f"Interactions of the last {found.minutes} minutes"
    rows = [
        _PageLine(f"{number:,} {outcome}{f' ({reason})' if reason else ''}")
        for (outcome, reason), number in sorted(found.ended.items(), key=lambda it: (-it[1], it[0]))
    ]
    return _PageSection(title, rows, _PageLine("None has ended."))


def _paused(paused: Sequence[PauseRecord] | None, is_read: bool) -> _PageSection:
    unknown = "Not known: the control topic cannot be read, so nothing is held back; see the log."
    unread = "Not known yet: the control topic is still to be read."
    if paused is None:
        return _PageSection("Pauses", note=_PageLine("", unknown))
    note = _PageLine("Nothing is paused." if is_read else unread)
    return _PageSection("Pauses", [_PageLine(f": {one}", "Paused") for one in paused], note)


def _health(waiting: Mapping[str, str], stuck: Mapping[str, float]) -> _PageSection:
    rows = [_PageLine(f": {name}, for {s:.0f} s", "Stuck") for name, s in stuck.items()]
    rows += [_PageLine(f": {name}: {why}", "Waits") for name, why in waiting.items()]
    return _PageSection("This process", rows, _PageLine("It is ready, and nothing is stuck."))


def _judges(front: Front, *, waits: bool) -> _PageSection:
    judges, paused, budget = front.judges, front.paused or (), front.budget
    if judges is None:
        elsewhere = "This process asks no judge: see the pages of the scorers."
        return _PageSection("Judge", note=_PageLine(elsewhere))
    if not judges:
        return _PageSection("Judge", note=_PageLine("No judge yet."))
    rows = [_not_judged(paused)] if paused else []
    rows += [_state(name, state, paused, waits) for name, state in judges.items()]
    if front.refused is not None:
        rows.append(_PageLine(f": {front.refused}, since the start", "Refused"))
    if budget is not None:
        left = f"{budget.left:.4f} of {budget.per_day:.2f} USD are left today"
        rows.append(_PageLine(f"Money: {left} ({budget.timezone})"))
    return _PageSection("Judge", rows)


def _not_judged(paused: Sequence[PauseRecord]) -> _PageLine:
    """What the judges are not asked for; a pause of all is the only one that matters."""
    named = [one for one in paused if not one.application] or list(paused)
    more = f"; and {len(named) - 1} more, see above" if len(named) > 1 else ""
    return _PageLine(f": {named[0]}{more}", "Paused by hand")


def _state(name: str, state: str, paused: Sequence[PauseRecord], waits: bool) -> _PageLine:
    """A state as it is while pauses hold, or the process waits: nobody judges what is paused."""
    means = f": {_MEANS[state]}" if state in _MEANS else ""
    if state not in CAN_JUDGE:
        return _PageLine(means, alert=state, lead=f"{name}: ")
    if any(not one.application for one in paused):
        return _PageLine(f"{name}: asked nothing, since all applications are paused by hand")
    means += ", but not applications that are paused by hand" if paused else ""
    means += ", as far as this process, which waits, can" if waits else ""
    return _PageLine(f"{name}: {state}{means}")


def _alarms(front: Front, scores: Sequence[ScoreTable]) -> _PageSection:
    if front.alarms is None:
        elsewhere = "This process knows of no alarms: see the page of the exporter."
        return _PageSection("Alarms", note=_PageLine(elsewhere))
    none = "; none opens where judging is paused" if front.paused else ""
    rows = [_PageLine(f": {one.answer}", "Open") for one in front.alarms]
    rows += [_PageLine(f": {one}", "Worse") for one in _untold(front.alarms, scores)]
    rows += [_PageLine(f": {one}", "No value") for one in front.missing()]
    note = f"No alarm is open{none}." if front.alarms_read else STILL_TO_READ
    return _PageSection("Alarms", rows, _PageLine(note))


def _untold(alarms: Sequence[AlarmRecord], scores: Sequence[ScoreTable]) -> list[str]:
    """What is worse than normal by its detector, while no record says so."""
    told = {one.key for one in alarms}
    return [
        f"{metric} of {table.application} ({table.judge}), and no alarm is known of it yet"
        for table in scores
        for metric in table.worse
        if alarm_key(metric, table.application, table.judge) not in told
    ]
