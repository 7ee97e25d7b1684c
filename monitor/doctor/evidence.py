"""When there is first evidence, what can be seen by it, and what is better where that is little."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from monitor.config import Settings, seconds
from monitor.doctor.applications import SeenApplication
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

#: Score records that teach no baseline are told of from such a share of the others on.
_FEW: Final = 0.05
#: What they are.
OTHERS: Final = "over budget, forced, failed, unscorable, or without a value of drift.metrics"

#: Of several applications, so many are named.
_NAMED: Final = 2
_SHOW: Final = " (rag-monitor baseline show)"

#: By factor: seconds until the mean is found to be so many times the usual, the median; None:
#: hardly ever.
Delays = Mapping[float, float | None]


async def examine(settings: Settings, target: str, found: JudgedPace) -> list[ReportLine]:
    """What the pace means; ``target`` is the topic that tells it."""
    if not settings.drift.metrics:
        return []
    if not found.per_day:
        return [_nothing(target, found)]
    seen: Delays | None = {}
    if (one := told_of(settings, found)) is not None:
        # Seconds of it: the other checks go on.
        seen = await asyncio.to_thread(delays, settings, found, one)
    return [line(settings, target, found, seen)]


def _nothing(target: str, found: JudgedPace) -> ReportLine:
    shown = f"none of about {_number(found.others_per_day)} score records a day is evidence"
    if found.seen.share_read < 1.0:
        shown += f", as far as {_number(100 * found.seen.share_read)} % of them tell"
    shown += f": {OTHERS}"
    return warn("evidence", target, shown, "see their outcome and reason, and the limits")


def told_of(settings: Settings, found: JudgedPace) -> SeenApplication | None:
    """Of which one it is worked out what it sees; None where all that get a baseline have enough.

    The largest, where even that has little; else the smallest that gets a baseline.
    """
    known = _known(found)
    some = [one for one in known if evidence_of(settings, found, one).after_s is not None]
    if not some:
        return None
    largest, least = some[0], some[-1]
    if largest.per_day < LITTLE:
        return largest
    return least if least.per_day < LITTLE else None


def _known(found: JudgedPace) -> Sequence[SeenApplication]:
    """The largest first; where none is known all are taken for one."""
    if len(found.seen.found) == 1:
        return [found.seen.found[0]._replace(per_day=found.per_day)]
    return found.seen.found or [SeenApplication("", "", found.per_day, None)]


def evidence_of(settings: Settings, found: JudgedPace, one: SeenApplication) -> FirstEvidence:
    """Of one application and judge, beside the others."""
    is_given = one.is_given if found.seen.found else None
    return first_evidence(settings, one.per_day, found.per_day, is_given=is_given, span=found.span)


def _are_several(found: JudgedPace) -> bool:
    return len(found.seen.found) > 1


def delays(settings: Settings, found: JudgedPace, one: SeenApplication) -> Delays | None:
    """As ``plan`` has them; None where false alarms come too often to tell.

    The threshold and the period go by what is judged of all applications together.
    """
    judged = Judged(one.per_day / DAY_MINUTES, "traffic", 0.0)
    is_given = one.is_given if found.seen.found else None
    simulated = simulation(
        settings, found.assumed(), judged, found.per_day, is_given=is_given, span=found.span
    )
    if simulated.alarms_too_often:
        return None
    seen = simulated.delays(_SAID)
    return {
        factor: None if delay.median is None else delay.median / one.per_day * DAY_S
        for factor, delay in zip(_SAID, seen, strict=True)
    }


def line(settings: Settings, target: str, found: JudgedPace, seen: Delays | None) -> ReportLine:
    """All that there is to say; ``seen`` is empty where it was not worked out, see ``delays``."""
    shown = f"about {_number(found.per_day)} "
    shown += "a day would be judged of the traffic so far" if found.is_expected else "judged a day"
    if notes := _notes(found):
        shown += f" ({'; '.join(notes)})"
    several = _are_several(found)
    shown += _of_several(settings, found) if several else _of_one(settings, found)
    if seen is None:
        shown += f"; {TOO_OFTEN}"
    elif seen:
        shown += f"; {_seen(seen)}" + (_named(settings, found) if several else "")
    if seen and settings.export.cluster is not None:
        shown += f"; {SESSIONS.format(cluster=settings.export.cluster)}"
    mend = "\n".join(_advice(settings, found, seen))
    return warn("evidence", target, shown, mend) if mend else ok("evidence", target, shown)


def _number(per_day: float) -> str:
    """Two digits of a small one, all of a large one.

    >>> _number(0.4321), _number(1234.5)
    ('0.43', '1,234')
    """
    return f"{per_day:,.0f}" if per_day >= 10 else f"{per_day:.2g}"


def _notes(found: JudgedPace) -> list[str]:
    """What is not counted, and of what it is known which applications there are, where both matter.

    Where all is read of a day or more nothing is to be said of that.
    """
    seen, notes = found.seen, list[str]()
    if found.first_s is not None:
        notes.append(f"by the first {in_words(found.first_s)}")
    if found.others_per_day > _FEW * found.per_day:
        notes.append(f"{_number(found.others_per_day)} more are no evidence: {OTHERS}")
    if seen.share_read < 1.0:
        share = f"{_number(100 * seen.share_read)} %"
        back_s = seen.looked_back_s
        of = "the last day" if back_s <= DAY_S else f"the last {in_words(back_s)}"
        notes.append(f"by {share} of the records of {of}: small applications may be missing")
    elif seen.found and seen.looked_back_s < min(DAY_S, found.first_s or DAY_S):
        notes.append(f"by the last {in_words(seen.looked_back_s)}")
    return notes


def _of_one(settings: Settings, found: JudgedPace) -> str:
    (one,) = _known(found)
    begins = evidence_of(settings, found, one)
    if one.has_baseline and begins.after_s is None:  # it was set
        return f": first evidence by now{_SHOW}; {begins.counts_in_words()}"
    shown = f": first evidence {_when(one, begins)}{begins.in_words()}"
    if not found.is_expected and not found.seen.found:
        shown += ". All are taken for one application: "
        looked_s = found.seen.looked_back_s
        shown += (
            "none of them is scored any more"
            if looked_s
            else "which they are of is not known, nor how many of them are scored"
        )
    return shown


def _when(one: SeenApplication, begins: FirstEvidence) -> str:
    """How far off it is, where something has been judged and a baseline is to be learned."""
    if not begins.after_s:
        return ""
    if one.has_baseline:
        return f"by now{_SHOW}, "
    left = one.left_s(begins.after_s)
    if left is None:
        return ""
    return f"in about {in_words(left)}, " if left else f"is due{_SHOW}, "


def _of_several(settings: Settings, found: JudgedPace) -> str:
    """How many have a baseline, how many learn one and until when, and which hardly get one."""
    pairs, none = found.seen.found, _hardly(settings, found)
    have = [one for one in pairs if one.is_given or one.has_baseline]
    learning = [
        (one, after_s)
        for one in pairs
        if one not in have and (after_s := evidence_of(settings, found, one).after_s) is not None
    ]
    shown = f" of {len(pairs)} applications and judges"
    shown += f": {len(have)} of {len(pairs)} have a baseline by now{_SHOW}"
    if learning:
        shown += f", {len(learning)} learn one, {_due(learning)}"
    held = first_evidence(settings, found.per_day, span=found.span)
    if none:
        named = ", ".join(f"{one.application} ({_number(one.per_day)})" for one in none[:_NAMED])
        more = f" and {len(none) - _NAMED} more" if len(none) > _NAMED else ""
        least = f"{held.least_per_day:,} a day"
        shown += f", {len(none)} late or never, with fewer than {least}: {named}{more}"
    if new := sum(
        one.is_new for one in pairs if one not in have and _is_never(settings, found, one)
    ):
        shown += f", {new} too new to tell"
    return f"{shown}; {held.counts_in_words()}"


def _due(learning: Sequence[tuple[SeenApplication, int]]) -> str:
    """When the last of them is; of some nobody knows since when they are scored."""
    left = [one.left_s(after_s) for one, after_s in learning]
    known = [each for each in left if each is not None]
    if len(known) < len(left):
        return f"which takes up to {in_words(max(after_s for _, after_s in learning))}"
    latest = max(known)
    return f"the last one due in about {in_words(latest)}" if latest else "due by now"


def _hardly(settings: Settings, found: JudgedPace) -> list[SeenApplication]:
    """Those that get a baseline late, when they happen to have more, or never."""
    return [
        one
        for one in found.seen.found
        if not one.has_baseline and not one.is_new and _is_never(settings, found, one)
    ]


def _is_never(settings: Settings, found: JudgedPace, one: SeenApplication) -> bool:
    return evidence_of(settings, found, one).after_s is None


def _named(settings: Settings, found: JudgedPace) -> str:
    """Which of several sees that."""
    one = told_of(settings, found)
    if one is None:
        return ""
    which = "the largest" if one == found.seen.found[0] else "the smallest that gets one"
    return f" ({one.application}, {which}, with {_number(one.per_day)} a day)"


def _seen(seen: Delays) -> str:
    if not any(seen.values()):
        return f"not even a mean that rises from {USUAL_MEAN:g} to {3 * USUAL_MEAN:g} is seen by it"
    parts = []
    for factor in _SAID:
        after = seen[factor]
        how = "hardly ever" if after is None else f"after {in_words(after)}"
        parts.append(f"to {factor * USUAL_MEAN:g} {how}")
    return f"a mean that rises from {USUAL_MEAN:g} is seen: " + ", ".join(parts)


def _advice(settings: Settings, found: JudgedPace, seen: Delays | None) -> list[str]:
    """What to do, in lines; the last ones may be YAML."""
    metrics, advice = settings.drift.metrics, list[str]()
    # Of several the largest: what helps it helps the others.
    first = _known(found)[0]
    per_day = first.per_day
    begins = evidence_of(settings, found, first)
    if begins.stays_provisional:
        advice.append(
            f"a baseline of drift.learn_for ({settings.drift.learn_for}) takes less than two "
            "periods: shorten it, or set a longer drift.period"
        )
    if per_day < LITTLE and len(metrics) > 1:
        n = len(metrics)
        advice.append(
            f"watch one metric, drift.metrics: [{_metric(settings)}]: the threshold A is shared, "
            f"and with {n} metrics each has to reach {n} times that of one"
        )
    if seen is None:
        advice.append("lower drift.false_alarms_per_week")
    if _are_several(found) and 2 * len(_hardly(settings, found)) > len(found.seen.found):
        advice.append(
            "most get no baseline: say what is normal (rag-monitor baseline set, drift.baselines), "
            "judge more of them, or set a longer drift.period (28d), which holds more"
        )
    nothing = begins.after_s is None and not first.has_baseline
    if seen and per_day < LITTLE:  # it is what the largest sees
        nothing = nothing or not any(seen.values())
    if per_day < VERY_LITTLE or nothing:
        start = better_start(settings, per_day)
        if not start and nothing:
            advice.append("judge more: sampling.rate, limits.usd_per_day")
        advice += start
    return advice


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
