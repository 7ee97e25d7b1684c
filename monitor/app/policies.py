"""Settings → which interactions are judged, by whom and how; and what may be spent on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar
from zoneinfo import ZoneInfo

from monitor.app.judge_settings import labels_win
from monitor.app.judges import ConfiguredJudge
from monitor.app.start import oldest_judged
from monitor.config import Effective, Settings
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits
from monitor.judge.protocol import Judge
from monitor.records import Interaction
from monitor.sampling.hashing import Sampler
from monitor.sampling.rules import Filter, FirstMatch, RuleCase, compiled
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy

T = TypeVar("T")


def build_budget(settings: Settings, clock: Callable[[], float]) -> Budget | None:
    """What may be spent in a day; None where there is none. ``clock`` gives epoch seconds."""
    usd = settings.limits.usd_per_day
    if usd is None or not has_budget(settings):
        return None
    return Budget(usd, ZoneInfo(settings.budget.timezone), clock)


def has_budget(settings: Settings) -> bool:
    """Whether somebody says what may be spent, and a model is asked."""
    sections = [settings.judge, *(each.judge for each in settings.effective)]
    is_asked = any(section.asks_a_model for section in sections)
    return is_asked and settings.limits.usd_per_day is not None


def build_policies(
    settings: Settings, configured_judges: Sequence[ConfiguredJudge], budget: Budget | None = None
) -> Policies:
    """Which interactions are judged, and how, by application."""

    def policy(whole: Effective) -> ScoringPolicy:
        configured = next(
            configured for configured in configured_judges if configured.section == whole.judge
        )
        sampler = Sampler(whole.sampling.rate, whole.sampling.key)
        return ScoringPolicy(
            sampler,
            configured.judge,
            configured.limits,
            whole.segment,
            whole.metrics,
            labels_win=labels_win(whole.judge),
            recheck=configured.recheck,
            canaries=configured.canaries,
            # What costs nothing waits for no money.
            budget=budget if whole.judge.asks_a_model else None,
        )

    otherwise, cases = by_application(settings, policy)
    return Policies(otherwise, cases, ingest_filter(settings), oldest_judged(settings))


def policies_of_judge(settings: Settings, judge: Judge) -> Policies:
    """A judge that no settings describe judges all there is, within their limits."""
    section = settings.judge
    limits = Limits(section.concurrency, section.deadline_s)
    return Policies(ScoringPolicy(Sampler(1.0), judge, limits, labels_win=labels_win(section)))


def by_application(
    settings: Settings, made: Callable[[Effective], T]
) -> tuple[T, list[RuleCase[T]]]:
    """What is made of the settings themselves, and of each entry of ``applications``."""
    cases = [
        RuleCase(
            re.compile(entry.name_regex).fullmatch,
            tuple(map(compiled, entry.when)),
            made(whole),
        )
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
    ]
    return made(settings.base), cases


def segment_attributes(settings: Settings) -> Callable[[Interaction], tuple[str, ...]]:
    """The attributes whose values are the segment of an interaction, by its application."""
    cases = [
        RuleCase(
            re.compile(entry.name_regex).fullmatch, tuple(map(compiled, entry.when)), whole.segment
        )
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
    ]
    return FirstMatch(cases, settings.base.segment)


def ingest_filter(settings: Settings) -> Filter:
    """What ``ingest.include`` and ``ingest.exclude`` let through."""
    return Filter.of(settings.ingest.include, settings.ingest.exclude)
