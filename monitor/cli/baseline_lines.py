"""What ``baseline`` says: applications and judges, their metrics, and what lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.records.control import BaselineRecord


def pair_line(row: dict[str, Any]) -> str:
    """One application and judge; where that is enough to learn from, that nobody has published it.

    >>> row = {"application": "bot", "judge": "a@1", "learning": True, "slots": 9, "needed": 1000}
    >>> row |= {"unlikely": False, "week": True}
    >>> pair_line({**row, "least": 60, "due": False})
    'bot  a@1  learning: 9 of 1000 scored slots, or 60 and at least a week'
    >>> pair_line({**row, "least": 60, "due": False, "unlikely": True}).split("and ")[-1]
    'at least a week; at this pace it comes late or never: set one'
    >>> pair_line({**row, "least": 60, "due": False, "week": False}).split(": ")[-1]
    '9 of 1000 scored slots'
    >>> pair_line({**row, "least": 60, "due": False, "week": None}).split(", ", 1)[-1]
    'or perhaps 60 and at least a week'
    >>> pair_line({**row, "slots": 180, "least": 60, "due": True}).split("and ")[-1]
    'at least a week: done; no exporter has published it yet'
    >>> held = {"origin": "learned", "provisional": True, "effective_from": "now"}
    >>> pair_line({**row, **held, "learning": False, "learn_for_s": 259_200}).split(", ")[-1]
    'until 3 d are full and no alarm on it is open'
    """
    from monitor.records.durations import in_words

    who = f"{row['application']}  {row['judge']}"
    if row["learning"]:
        found = f"{who}  learning: {row['slots']} of {row['needed']} scored slots"
        if row["week"] is None:
            found += f", or perhaps {row['least']} and at least a week"
        elif row["week"]:
            found += f", or {row['least']} and at least a week"
        if row["due"]:
            return f"{found}: done; no exporter has published it yet"
        if row["unlikely"]:
            found += "; at this pace it comes late or never: set one"
        return found
    if row["origin"] in (None, "reset"):
        return f"{who}  fixed by the configuration"
    of = f" from {_counted(row['slots'], 'slot')}" if row["slots"] else ""
    found = f"{who}  {'provisional' if row['provisional'] else row['origin']}{of}"
    found += f", holds after {row['effective_from']}"
    if not row["provisional"]:
        return found
    return f"{found}, until {in_words(row['learn_for_s'])} are full and no alarm on it is open"


def metric_line(name: str, metric: dict[str, Any], row: dict[str, Any]) -> str:
    """A metric of it.

    >>> metric = {"mean": 0.9, "se": 0.01, "segments": {}, "origin": "learned", "hour_spread": 0.05}
    >>> metric_line("answered", metric, {"origin": "learned", "provisional": True}).split("  ")[-1]
    'hours may vary by 0.0500'
    >>> frozen = metric | {"origin": "frozen", "provisional": True}
    >>> metric_line("answered", frozen, {"origin": "frozen", "provisional": False}).split("  ")[-2:]
    ['hours may vary by 0.0500', 'tolerates more until whole days are known']
    """
    from monitor.stats.baseline import is_unsteady

    segments = ", ".join(
        f"{key or '(absent)'} {mean:.4f}" for key, mean in metric["segments"].items()
    )
    parts = [f"    {name:30} {metric['mean']:.4f} (SE {metric['se']:.4f})"]
    if metric["origin"] != row["origin"]:
        parts.append(f"({metric['origin']})")
    if metric.get("values"):
        parts.append(f"from {metric['values']}")
    if is_unsteady(metric.get("halves_z")):
        parts.append(f"UNSTEADY: its halves differ by {abs(metric['halves_z']):.1f} SE")
    if metric.get("first_mean") is not None:
        then, since = metric["first_mean"], metric["mean"]
        parts.append(f"LEARNED IN A BAD TIME? {then:.4f} then, {since:.4f} in the week after")
    if (other := metric.get("learned_in_alarm_of")) is not None:
        parts.append(f"LEARNED IN A BAD TIME? An alarm of {other} was open")
    if metric.get("day_spread"):
        parts.append(f"days vary by {metric['day_spread']:.4f}")
    if metric.get("hour_spread"):
        how = "may vary" if row["provisional"] or metric.get("provisional") else "vary"
        parts.append(f"hours {how} by {metric['hour_spread']:.4f}")
    if metric.get("provisional"):
        parts.append("tolerates more until whole days are known")
    if metric.get("hours"):
        parts.append(f"hours add {min(metric['hours']):+.4f} to {max(metric['hours']):+.4f}")
    return "  ".join([*parts, segments]).rstrip()


def without_line(name: str, metric: dict[str, Any], *, week: bool | None = True) -> str:
    """A watched metric that has no baseline: how many values there are, and what it takes.

    ``week``: so long slots are held; None where that is not known yet.

    >>> metric = {"values": 12, "needed": 60, "learns_from": "slots", "enough": 1000}
    >>> metric |= {"days": 2, "needed_days": 7, "full_s": None}
    >>> without_line("answered", metric).split(": ")[-1]
    '12 values; it takes 60, when a week or 1000 slots are full'
    >>> without_line("answered", metric, week=None).split("60, ")[-1]
    'when 1000 slots, or perhaps a week, are full'
    >>> without_line("answered", metric | {"full_s": 86_400}).split(": ")[-1]
    '12 values; it takes 60, when 24 h are full and no alarm is open'
    >>> metric |= {"learns_from": "days", "values_of_days": 9}
    >>> without_line("answered", metric).split("; ")[-1]
    'it takes 60 on 7 whole days, or 1000 on fewer: 9 on 2 so far'
    """
    from monitor.records.durations import in_words

    found = f"    {name:30} no baseline, and so no alarm: {_counted(metric['values'], 'value')}"
    needed = metric["needed"]
    if metric["learns_from"] == "slots":
        perhaps = ", or perhaps a week," if week is None else ""
        full = f"{'a week or ' if week else ''}{metric['enough']} slots{perhaps} are full"
        if metric["full_s"] is not None:
            full = f"{in_words(metric['full_s'])} are full and no alarm is open"
        return f"{found}; it takes {needed}, when {full}"
    if metric["learns_from"] is None:
        return f"{found} of late; set or freeze it, too"
    return (
        f"{found} of late; it takes {needed} on {metric['needed_days']} whole days, "
        f"or {metric['enough']} on fewer: {metric['values_of_days']} on {metric['days']} so far"
    )


def described(record: BaselineRecord) -> str:
    """What was published; what people have set was learned from no slots."""
    who = f"{record.application}  {record.judge}"
    if not record.metrics:
        return f"{who}  learned anew from scores after {record.effective_from.isoformat()}"
    means = ", ".join(
        f"{name} {metric.mean:.4f}{_by_itself(metric.origin, record.origin)}"
        for name, metric in record.metrics.items()
    )
    if all(metric.origin == "set" for metric in record.metrics.values()):
        return f"{who}  set: {means.replace(' (set)', '')}"
    of = f" from {_counted(record.slots, 'slot')}" if record.slots else ""
    return f"{who}  {'provisional' if record.provisional else record.origin}{of}: {means}"


def lacks(record: BaselineRecord, watched: Sequence[str]) -> str | None:
    """Which of the watched metrics have no baseline, and whether they will; None: all have one."""
    from monitor.exporter.baselines.unlearned import learns_from_of

    left = [name for name in watched if name not in record.metrics]
    if not left:
        return None
    what = "set or freeze them, too" if learns_from_of(record) is None else "they are learned"
    return f"no baseline, and so no alarm: {', '.join(left)}; {what}"


def not_frozen(pair: tuple[str, str], slots: int, least: int) -> str:
    """What people can do instead of freezing what nobody knows yet.

    >>> not_frozen(("bot", "a@1"), 1, 60)[:69]
    'bot  a@1  not frozen: 1 scored slot, and no metric with 60 values yet'
    """
    who, seen = f"{pair[0]}  {pair[1]}", _counted(slots, "scored slot")
    return (
        f"{who}  not frozen: {seen}, and no metric with {least} values yet; "
        "wait, or say what is normal: rag-monitor baseline set"
    )


def doubts_of_frozen(record: BaselineRecord) -> list[str]:
    """Why what was frozen may not be what is normal: hours without it, and a change within it."""
    from monitor.records.durations import in_words
    from monitor.stats.baseline import is_unsteady

    who, slots = f"{record.application}  {record.judge}", _counted(record.slots, "scored slot")
    lines = []
    seen = [
        (one.frozen_until - one.frozen_from).total_seconds()
        for one in record.metrics.values()
        if one.provisional and one.frozen_from and one.frozen_until
    ]
    if seen:
        lines.append(
            f"{who}  from {slots} of {in_words(max(seen))}, which knows no other hours: it "
            "tolerates a quarter of the mean and more until whole days (UTC) tell them: one "
            "where much is judged, else seven, or more until 60 values are there; the level stays"
        )
    mixed = [name for name, found in record.metrics.items() if is_unsteady(found.halves_z)]
    if mixed:
        lines.append(
            f"{who}  UNSTEADY, so between what was and what is: {', '.join(mixed)}; where that "
            f"has changed, freeze again when {slots} came after it"
        )
    return lines


def _by_itself(origin: str | None, of_record: str) -> str:
    return "" if origin in (None, of_record) else f" ({origin})"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
