"""When there is first evidence, what can be seen by it, and what is better where that is little."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from monitor.config import Settings, seconds
from monitor.doctor.judging import JudgedPace
from monitor.doctor.objectives import LONG_WINDOWS, can_be_known, objectives_of
from monitor.doctor.report import ReportLine, ok, warn
from monitor.metrics.catalogue import CATALOGUE
from monitor.plan.first_evidence import FirstEvidence, first_evidence
from monitor.plan.plan import SESSIONS, TOO_OFTEN, simulation
from monitor.plan.quantities import USUAL_MEAN
from monitor.plan.spend import DAY_MINUTES, Judged
from monitor.records.durations import in_words
from monitor.stats.period import DAY_S

#: Judged a day, below which only one metric should be watched, and below which a baseline that is
#: learned from them is no good start.
LITTLE: Final = 100
VERY_LITTLE: Final = 20
#: What is said of the simulated changes: smaller ones are hardly ever seen of so little.
_SAID: Final = (2.0, 3.0)
_USUAL: Final = "faithfulness"
#: To be replaced by what is normal, and by what is good enough: examples.
_NORMAL_LOSS, _WORST_LOSS = 0.08, 0.1

#: By factor: seconds until the mean is found to be so many times the usual, the median; None:
#: hardly ever.
Delays = Mapping[float, float | None]


async def examine(settings: Settings, target: str, found: JudgedPace) -> list[ReportLine]:
    """What the pace means; ``target`` is the topic that tells it."""
    if not settings.drift.metrics:
        return []
    begins = first_evidence(settings, found.per_day)
    seen: Delays | None = {}
    if found.per_day < LITTLE and begins.after_s is not None:
        # Seconds of it: the other checks go on.
        seen = await asyncio.to_thread(delays, settings, found)
    return [line(settings, target, found, begins, seen)]


def delays(settings: Settings, found: JudgedPace) -> Delays | None:
    """As ``plan`` has them; None where false alarms come too often to tell."""
    judged = Judged(found.per_day / DAY_MINUTES, "traffic", 0.0)
    simulated = simulation(settings, found.assumed(), judged)
    if simulated.alarms_too_often:
        return None
    seen = simulated.delays(_SAID)
    return {
        factor: None if one.median is None else one.median / found.per_day * DAY_S
        for factor, one in zip(_SAID, seen, strict=True)
    }


def line(
    settings: Settings, target: str, found: JudgedPace, begins: FirstEvidence, seen: Delays | None
) -> ReportLine:
    """All that there is to say; ``seen`` is empty where it was not worked out, see ``delays``."""
    shown = f"about {_number(found.per_day)} "
    shown += "a day would be judged of the traffic so far" if found.is_expected else "judged a day"
    shown += f": first evidence {_when(found, begins)}{begins.in_words()}"
    if seen is None:
        shown += f"; {TOO_OFTEN}"
    elif seen:
        shown += f"; {_seen(seen)}"
    if seen and settings.export.cluster is not None:
        shown += f"; {SESSIONS.format(cluster=settings.export.cluster)}"
    mend = "\n".join(_advice(settings, found.per_day, begins, seen))
    return warn("evidence", target, shown, mend) if mend else ok("evidence", target, shown)


def _number(per_day: float) -> str:
    """Two digits of a small one, all of a large one.

    >>> _number(0.4321), _number(1234.5)
    ('0.43', '1,234')
    """
    return f"{per_day:,.0f}" if per_day >= 10 else f"{per_day:.2g}"


def _when(found: JudgedPace, begins: FirstEvidence) -> str:
    """How far off it is, where something has been judged and a baseline is to be learned."""
    left = found.left_s(begins.after_s or 0)
    if found.is_expected or not begins.after_s or left is None:
        return ""
    if not left:
        return "by now (rag-monitor baseline show), "
    return f"in about {in_words(left)}, "


def _seen(seen: Delays) -> str:
    if not any(seen.values()):
        return f"not even a mean that rises from {USUAL_MEAN:g} to {3 * USUAL_MEAN:g} is seen by it"
    parts = []
    for factor in _SAID:
        after = seen[factor]
        how = "hardly ever" if after is None else f"after {in_words(after)}"
        parts.append(f"to {factor * USUAL_MEAN:g} {how}")
    return f"a mean that rises from {USUAL_MEAN:g} is seen: " + ", ".join(parts)


def _advice(
    settings: Settings, per_day: float, begins: FirstEvidence, seen: Delays | None
) -> list[str]:
    """What to do, in lines; the last ones may be YAML."""
    metrics, found = settings.drift.metrics, []
    if begins.stays_provisional:
        found.append(
            f"a baseline of drift.learn_for ({settings.drift.learn_for}) takes less than two "
            "periods: shorten it, or set a longer drift.period"
        )
    if per_day < LITTLE and len(metrics) > 1:
        n = len(metrics)
        found.append(
            f"watch one metric, drift.metrics: [{_metric(settings)}]: the threshold A is shared, "
            f"and with {n} metrics each has to reach {n} times that of one"
        )
    if seen is None:
        found.append("lower drift.false_alarms_per_week")
    nothing = begins.after_s is None or (seen is not None and seen != {} and not any(seen.values()))
    if per_day < VERY_LITTLE or nothing:
        start = better_start(settings, per_day)
        if not start and nothing:
            found.append("judge more: sampling.rate, limits.usd_per_day")
        found += start
    return found


def better_start(settings: Settings, per_day: float) -> list[str]:
    """YAML of what is not set yet, with a line before it; none where all is, or nothing helps."""
    baseline, objective = _baseline(settings), _objective(settings, per_day)
    names = ["a fixed baseline"] * bool(baseline) + ["an objective"] * bool(objective)
    if not names:
        return []
    return [f"what you know is the better start, {' or '.join(names)}:", *baseline, *objective]


def _baseline(settings: Settings) -> list[str]:
    metric, drift = _metric(settings), settings.drift
    if drift.baselines:
        return []
    return [
        "drift:",
        *([f"  metrics: [{metric}]"] if len(drift.metrics) > 1 else []),
        "  baselines:  # what is normal",
        '    - application: "*"',
        f"      metrics: {{{metric}: {_value(_NORMAL_LOSS, metric)}}}",
    ]


def _objective(settings: Settings, per_day: float) -> list[str]:
    """None where there is one that can be known, or where no window has enough."""
    metric, export = _metric(settings), settings.export
    window = next((each for each in LONG_WINDOWS if can_be_known(each, per_day)), None)
    if window is None or (export.metrics is not None and metric not in export.metrics):
        return []
    held = objectives_of(settings)
    if any(can_be_known(each.window, per_day, each.minimum_samples) for each in held):
        return []
    found = []
    if seconds(window) not in map(seconds, export.windows):
        found += ["export:", f"  windows: [{', '.join((*export.windows, window))}]"]
    bound = _value(_WORST_LOSS, metric)
    return [
        *found,
        "objectives:  # what is good enough",
        f"  - {{metric: {metric}, window: {window}, bound: {bound}}}",
    ]


def _metric(settings: Settings) -> str:
    """The one to watch."""
    metrics = settings.drift.metrics
    return _USUAL if _USUAL in metrics else metrics[0]


def _value(loss: float, metric: str) -> str:
    return f"{1.0 - loss if CATALOGUE[metric].higher_is_better else loss:g}"
