"""Settings → what picks from blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from monitor.app.judges import ConfiguredJudge
from monitor.config import Settings, seconds
from monitor.control.calibrations import Calibrations
from monitor.ingest.formats.otlp_format import SPAN_FORMATS
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.limits.budget import Budget
from monitor.runtime.threads import Threads
from monitor.sampling.meters import Meter, Meters
from monitor.sampling.pace import FIRST_LENGTH, Pace, PaceBounds
from monitor.sampling.rules import Filter
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.picking import Picker, PickSettings
from monitor.scorer.slots import Slots


def unused_floors(settings: Settings) -> str | None:
    """Why ``sampling.floors`` change nothing, None where they do, or there are none."""
    if not settings.sampling.floors:
        return None
    if not any(each.segment for each in (settings.base, *settings.effective)):
        return "nothing has a segment: set export.segment"
    if settings.sampling.block == 1:
        return "nothing is picked from blocks: set sampling.block"
    return None


def unused_forced(settings: Settings) -> str | None:
    """Of what ``sampling.forced`` is not asked, None where of everything, or of nothing."""
    sampling, ingest = settings.sampling, settings.ingest
    if sampling.block == 1 or not (sampling.forced or sampling.force_unanswered):
        return None
    formats = {ingest.format, *(source.format for source in ingest.sources)}
    alone = ["traces"] if formats.intersection(SPAN_FORMATS) else []
    for entry in settings.applications:
        alone += entry.application if entry.when else ()
    if not alone:
        return None
    return f"no rule of it is asked of {', '.join(alone)}: there the hash picks one of a block"


def build_slots(
    settings: Settings,
    redactor: Redactor,
    calibrations: Calibrations,
    configured_judges: Sequence[ConfiguredJudge],
    budget: Budget | None = None,
    share: Callable[[], float] = lambda: 1.0,
    burst: Callable[[], float] = lambda: 1.0,
    *,
    wall: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    threads: Threads | None = None,
) -> Slots | None:
    """What picks from blocks; None where every interaction is judged, however late.

    ``configured_judges`` are all that may judge, each with limits of its own. ``share`` is the part
    of the limits that is for this process, ``burst`` how many times as many judgements are asked
    for now: never more than ``drift.burst.times``.
    """
    sampling, ingest = settings.sampling, settings.ingest
    sheds = ingest.when_behind == "freshness"
    if sampling.block == 1 and not sheds and not _may_take_more(settings):
        return None
    most = settings.drift.burst.times if settings.drift.burst.per_day_s else 1
    limited = list(meters(settings, configured_judges))
    has_limits = budget is not None or any(meter.is_shared for meter in limited)
    pace = Pace(
        None if sampling.block == "auto" else sampling.block,
        sheds=sheds,
        behind_s=seconds(ingest.behind_after),
        first=FIRST_LENGTH if has_limits else 1,
    )
    rules = PickSettings(
        sampling.directed,
        sampling.floors,
        Filter.of(sampling.forced, ()),
        sampling.force_unanswered,
    )
    return Slots(
        SlotBuffer(pace, monotonic),
        Picker(rules, redactor.text, calibrations, threads=threads),
        pace,
        PaceBounds(sum(configured.limits.concurrency for configured in configured_judges)),
        budget,
        share,
        wall,
        monotonic,
        burst=lambda: min(most, burst()),
        meters=Meters(limited),
    )


def meters(settings: Settings, configured_judges: Sequence[ConfiguredJudge]) -> Iterator[Meter]:
    """Requests and tokens of each model that may be asked, and the places of each judge."""
    asked = {
        id(one): one for configured in configured_judges for one in configured.provider_gates.made()
    }
    for one in asked.values():
        requests, tokens = settings.limits.of(one.model)
        if requests is not None:
            yield Meter(requests, partial(getattr, one, "requests"))
        if tokens is not None:
            yield Meter(tokens, partial(getattr, one, "tokens"))
    for limits in (configured.limits for configured in configured_judges):
        yield Meter(60.0 * limits.concurrency, partial(getattr, limits, "busy_s"), is_shared=False)


def _may_take_more(settings: Settings) -> bool:
    """Whether a burst can take what is left out otherwise."""
    return settings.drift.burst.per_day_s > 0 and any(0 < rate < 1 for rate in settings.rates)
