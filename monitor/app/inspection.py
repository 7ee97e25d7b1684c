"""Settings → objects for commands that only look: what is read where, and what would be judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from monitor.app.connections import connection, output_connection
from monitor.app.formats import topic_formats
from monitor.app.judge_settings import llm_settings
from monitor.app.policies import by_application, ingest_filter, segment_attributes
from monitor.app.redaction import redactor_of
from monitor.app.start import oldest_judged
from monitor.config import Effective, JudgeSettings, Settings
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.llm.dry_run import DryRunJudge
from monitor.judge.llm.judge import LlmJudge
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan
from monitor.records import Interaction
from monitor.runtime.health import Health
from monitor.sampling.hashing import MultiPrefilter, Sampler
from monitor.sampling.prefilter import Prefilter, prefilter_for
from monitor.sampling.rules import Filter, FirstMatch


class InputRules(NamedTuple):
    """Which interactions would be judged, and how they may be shown.

    ``metrics`` are those that an application has chosen, None: all. ``prefilter`` leaves what a
    scorer decodes at all, and ``traces`` knows which of them it reads. ``sampling_key`` is the
    setting ``sampling.key``, ``least_rate`` the smallest rate that may hold. ``block`` is
    ``sampling.block``, None where the limits set it. ``oldest``: epoch seconds now → the first
    event time that is judged. ``cluster`` is that of ``export``.
    """

    sampler: FirstMatch[Sampler]
    metrics: FirstMatch[Collection[str] | None]
    prefilter: Prefilter
    traces: MultiPrefilter
    sampling_key: str
    block: int | None
    least_rate: float
    let_through: Filter
    oldest: Callable[[float], float]
    segments: Callable[[Interaction], tuple[str, ...]]
    redactor: Redactor
    formats: TopicFormats
    cluster: str | None


def input_rules(settings: Settings) -> InputRules:
    """The rules of these settings; raises ``ConfigurationError`` as a scorer's start would."""
    otherwise, cases = by_application(
        settings, lambda whole: Sampler(whole.sampling.rate, whole.sampling.key)
    )
    metrics, chosen = by_application(settings, _chosen_metrics)
    traces = MultiPrefilter([otherwise, *(case.then for case in cases)])
    formats, block = topic_formats(settings), settings.sampling.block
    return InputRules(
        FirstMatch(cases, otherwise),
        FirstMatch(chosen, metrics),
        prefilter_for(traces.samplers, formats),
        traces,
        settings.sampling.key,
        None if block == "auto" else block,
        min(settings.rates),
        ingest_filter(settings),
        oldest_judged(settings),
        segment_attributes(settings),
        redactor_of(settings),
        formats,
        settings.export.cluster,
    )


def _chosen_metrics(whole: Effective) -> Collection[str] | None:
    return whole.metrics


class LookupAccess(NamedTuple):
    """Where to read, and for how many seconds at most; ``inputs`` may be another cluster.

    The topics by what they hold, and the consumer ``group`` of the scorers. ``rules`` are made when
    somebody asks for them: what is wrong with them hinders nobody else.
    """

    interactions: tuple[str, ...]
    scores: str
    dead_letters: str
    control: str
    group: str
    rules: Callable[[], InputRules]
    inputs: Connection
    output: Connection
    health: Health
    limit_s: float

    def scanning(self, cluster: Connection) -> AbstractAsyncContextManager[TopicScan]:
        """A client that reads topics; raises ``DependencyRefused`` when that is not done in time.

        ``cluster`` is ``inputs`` or ``output``.
        """
        return one_shot.scanning(cluster, self.health, self.limit_s)


def lookup_access(settings: Settings, limit_s: float) -> LookupAccess:
    """The access of these settings."""
    topics, inputs = settings.kafka.topics, connection(settings)
    return LookupAccess(
        topics.interactions,
        topics.scores,
        topics.dead_letters,
        topics.control,
        settings.kafka.group_id,
        lambda: input_rules(settings),
        inputs,
        output_connection(settings, inputs),
        Health(time.monotonic),
        limit_s,
    )


class TrafficAccess(NamedTuple):
    """Where traffic is read, for how many seconds connecting may take, and what of it is judged.

    ``judge`` counts what a judgement takes, and asks nobody; None where it costs nothing.
    """

    interactions: tuple[str, ...]
    formats: TopicFormats
    let_through: Filter
    judge: DryRunJudge | None
    inputs: Connection
    health: Health
    limit_s: float


def traffic_access(settings: Settings, health: Health, limit_s: float) -> TrafficAccess:
    """The access of these settings."""
    return TrafficAccess(
        settings.kafka.topics.interactions,
        topic_formats(settings),
        ingest_filter(settings),
        dry_run_judge(settings.judge) if settings.judge.asks_a_model else None,
        connection(settings),
        health,
        limit_s,
    )


def dry_run_judge(section: JudgeSettings) -> DryRunJudge:
    """A judge that counts what the model of this section would be asked, and asks nobody."""
    return DryRunJudge(llm_settings(section))


def price_per_million(section: JudgeSettings) -> tuple[float, float] | None:
    """US dollars for a million tokens of prompts and of replies; None where nobody knows them."""
    return LlmJudge(llm_settings(section)).price_per_million()
