"""Baselines that were learned while an alarm was open: bad may be their normal.

A judge that is replaced in an incident takes its alarm along: the new one knows nothing better, and
learns what is there. Nobody can tell by its scores alone, so it is said until somebody decides.

An incident of the first day opens an alarm on the provisional baseline. That one stays while the
alarm is open, three days at most: it may be the one that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.records.alarm import AlarmRecord
from monitor.records.control import BaselineRecord
from monitor.stats.period import DAY_S

#: Of what a baseline was learned from so much must lie within the alarm.
LEAST_SHARE: Final = 0.1
#: Seconds that an alarm may have lasted that keeps its provisional baseline: a weekend.
HELD_BACK_S: Final = 3 * DAY_S


class AlarmSpan(NamedTuple):
    """When an alarm of a judge was open, in epoch seconds; ``until`` is ∞ while it is.

    Where it ended unheard (``is_unheard``) nobody knows whether what it was about has ended, too.
    """

    judge: str
    since: float
    until: float
    is_unheard: bool


#: The alarms of a metric and an application, of all judges.
AlarmsOf = Callable[[str, str], Iterable[AlarmSpan]]


def no_alarms(_metric: str, _application: str) -> Iterable[AlarmSpan]:
    """Where there is no topic of alarms."""
    return ()


def alarm_spans(
    last: Mapping[str, AlarmRecord], metric: str, application: str
) -> Iterable[AlarmSpan]:
    """As the latest records of the alarms' topic have them, in the order of their keys."""
    for _, one in sorted(last.items()):
        if (one.metric, one.application) == (metric, application):
            closed = math.inf if one.closed_at is None else one.closed_at.timestamp()
            is_unheard = one.closed_because == "not_watched"
            yield AlarmSpan(one.judge, one.since.timestamp(), closed, is_unheard)


def is_held_back(
    application: str, judge: str, metrics: Iterable[str], now: float, alarms_of: AlarmsOf
) -> bool:
    """Whether a provisional baseline stays, since an alarm on it is open and not older than that.

    >>> one = AlarmSpan("a@1", 100.0, math.inf, is_unheard=False)
    >>> [is_held_back("bot", "a@1", ["answered"], at, lambda *_: [one]) for at in (200.0, 1e6)]
    [True, False]
    """
    return any(
        span.judge == judge and span.until == math.inf and now - span.since <= HELD_BACK_S
        for metric in metrics
        for span in alarms_of(metric, application)
    )


def marked(
    record: BaselineRecord, times: Sequence[float], alarms_of: AlarmsOf, *, was_provisional: bool
) -> BaselineRecord:
    """The record with the judge on each metric that was learned in a bad time.

    ``times`` are the event times of what it was learned from, in their order. Alarms of its own
    judge tell where a provisional baseline opened them: after a reset somebody has decided.
    """
    metrics = {}
    for name, metric in record.metrics.items():
        spans = [
            span
            for span in alarms_of(name, record.application)
            if was_provisional or span.judge != record.judge
        ]
        within = next((span.judge for span in spans if _share(times, span) >= LEAST_SHARE), None)
        metrics[name] = metric.model_copy(update={"learned_in_alarm_of": within})
    return record.model_copy(update={"metrics": metrics})


def _share(times: Sequence[float], span: AlarmSpan) -> float:
    """Of the times so many lie within the alarm; one that ended unheard goes on for who was there.

    >>> span = AlarmSpan("old", 10.0, 20.0, is_unheard=False)
    >>> _share([0.0, 10.0, 20.0, 30.0], span), _share([15.0, 25.0], span._replace(is_unheard=True))
    (0.5, 1.0)
    >>> _share([21.0], span._replace(is_unheard=True))
    0.0
    """
    if not times or times[0] > span.until:
        return 0.0
    until = math.inf if span.is_unheard else span.until
    return sum(span.since <= at <= until for at in times) / len(times)
