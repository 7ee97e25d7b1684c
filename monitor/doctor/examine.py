"""All checks in their order; each group of lines is handed out as soon as it is known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack

from monitor.app import connections
from monitor.app import topics as own_topics
from monitor.app.inspection import InputRules, input_rules
from monitor.app.judges import (
    ConfiguredJudge,
    build_judges,
    judges_of,
    require_addresses,
    require_prices,
)
from monitor.app.policies import has_budget
from monitor.config import JudgeSettings, Settings
from monitor.doctor import (
    backlog,
    cache,
    control,
    evidence,
    llm,
    objectives,
    ports,
    topics,
    traffic,
)
from monitor.doctor.cluster import Cluster, Demands, Site
from monitor.doctor.judging import JudgedPace, judged_pace
from monitor.doctor.needs import input_needs, output_needs
from monitor.doctor.report import CheckStatus, ReportLine, ok, warn
from monitor.doctor.size import TooLargeTest, too_large_for
from monitor.doctor.wrong import wrong_setting
from monitor.errors import ConfigurationError, DependencyRefused
from monitor.judge.protocol import Judge
from monitor.stats.period import HorizonSpan, horizon_span
from monitor.telemetry import ScorerTelemetry, new_registry


async def examine(
    settings: Settings, clock: Callable[[], float]
) -> AsyncIterator[list[ReportLine]]:
    """Groups of lines; ``clock`` gives epoch seconds. Nothing that is looked at is changed."""
    try:
        sites = _sites(settings)
        require_addresses(settings)
        telemetry = ScorerTelemetry(new_registry())
        configured_judges = build_judges(settings, telemetry)
        rules = input_rules(settings)  # refused as by a scorer's start
    except ConfigurationError as error:
        yield [wrong_setting(error)]
        return
    if unsafe := [line for site in sites for line in _unsafe(site)]:
        yield unsafe
    # Beside the cluster: importing the client library and the model's answer take seconds.
    judges = asyncio.create_task(_judges(settings, configured_judges))
    try:
        is_too_large = too_large_for(settings, configured_judges)
        async for lines in _clusters(sites, settings, clock, rules, is_too_large):
            yield lines
        yield await judges
        if used := cache.in_use(settings):
            yield [await cache.examine(section) for section in used]
        yield [await ports.examine(settings.http.host, settings.http.port)]
    finally:
        judges.cancel()
        await asyncio.gather(judges, return_exceptions=True)


def _sites(settings: Settings) -> list[Site]:
    """The one or two clusters.

    Raises ``ConfigurationError`` for certificates that cannot be read, and for tokens from
    something that is not installed.
    """
    group = settings.kafka.group_id
    needs, written = input_needs(settings), output_needs(settings)
    inputs = connections.connection(settings)
    outputs = connections.output_connection(settings, inputs)
    sites = [Site("kafka", inputs, needs, group), Site("kafka_output", outputs, written)]
    if outputs is inputs:
        sites = [Site("kafka", inputs, [*needs, *written], group)]
    for site in sites:
        site.connection.options()
    return sites


def _unsafe(site: Site) -> list[ReportLine]:
    connection = site.connection
    if connection.ssl_check_hostname or not connection.security_protocol.endswith("SSL"):
        return []
    what = "false: any host with a certificate of the CA passes for the broker"
    return [warn("settings", f"{site.section}.ssl_check_hostname", what, "set it to true")]


async def _clusters(
    sites: Sequence[Site],
    settings: Settings,
    clock: Callable[[], float],
    rules: InputRules,
    is_too_large: TooLargeTest,
) -> AsyncIterator[list[ReportLine]]:
    async with AsyncExitStack() as stack:
        clusters = [Cluster(site) for site in sites]
        for cluster in clusters:
            stack.push_async_callback(cluster.stop)
            async for lines in cluster.brokers():
                yield lines
        for cluster in clusters:
            yield await cluster.look()
        found, untold = await _judged(clusters, settings, clock)
        demands = _demands(settings, found)
        for cluster in clusters:
            yield cluster.lines(demands, _input_bytes(clusters))
        for cluster in clusters:
            async for lines in _records(cluster, rules, clock, is_too_large):
                yield lines
        if (control_topic := settings.kafka.topics.control) in clusters[-1].readable():
            yield await control.examine(clusters[-1].site.connection, control_topic)
        if _can_be_read(clusters[0], settings):
            yield await backlog.examine(settings, clock, clusters[0].site.connection)
        yield untold
        if found is not None:
            yield objectives.lines(settings, found.per_day)
            yield await evidence.examine(settings, _counted(settings, found), found)


def _can_be_read(cluster: Cluster, settings: Settings) -> bool:
    """Whether all topics with interactions can be read."""
    return cluster.readable() >= {*settings.kafka.topics.interactions}


async def _judged(
    clusters: Sequence[Cluster], settings: Settings, clock: Callable[[], float]
) -> tuple[JudgedPace | None, list[ReportLine]]:
    """How many are judged a day, as far as topics tell; and a line where they do not."""
    topics = settings.kafka.topics
    sent = topics.interactions if _can_be_read(clusters[0], settings) else ()
    inputs = (clusters[0].site.connection, sent)
    there = topics.scores in clusters[-1].readable()
    output = (clusters[-1].site.connection, topics.scores) if there else None
    try:
        found = await judged_pace(settings, clock, inputs, output)
    except DependencyRefused as error:
        mend = "grant Read on the topics, if it is not granted"
        return None, [warn("evidence", topics.scores, f"not told: {error}", mend)]
    return found, _untold(settings) if found is None else []


def _untold(settings: Settings) -> list[ReportLine]:
    """Why nothing is said of evidence, if it is not that nothing is sent, or nothing sampled."""
    if settings.only_rate is not None:
        return []
    why = (
        "not told yet: applications have a sampling.rate of their own, and how much of the "
        "traffic they are is seen once some of it is judged"
    )
    return [ok("evidence", settings.kafka.topics.scores, why)]


def _counted(settings: Settings, found: JudgedPace) -> str:
    """The topics that tell how many there are."""
    topics = settings.kafka.topics
    return ", ".join(topics.interactions) if found.is_expected else topics.scores


def _demands(settings: Settings, found: JudgedPace | None) -> Demands:
    """By the least period; the one that so many judged ask for is another matter."""
    drift = settings.drift
    asked = horizon_span(None) if found is None else found.span or horizon_span(found.per_day)
    return Demands(
        own_topics.keep_seconds(settings, HorizonSpan(drift.first_period_s)),
        settings.kafka.max_record_bytes,
        settings.kafka.create_topics,
        settings.ingest.when_behind == "completeness" and has_budget(settings),
        own_topics.keep_seconds(settings, HorizonSpan(drift.period_s) if drift.period_s else asked),
    )


def _input_bytes(clusters: Sequence[Cluster]) -> int | None:
    """The largest record that an input topic takes, in bytes; None when none tells."""
    sizes = [
        topics.most_bytes(configs)
        for cluster in clusters
        for need in cluster.site.needs
        if need.setting == "interactions"
        and (configs := cluster.settings_of(need.topic)) is not None
    ]
    return max(sizes, default=None)


async def _records(
    cluster: Cluster,
    rules: InputRules,
    clock: Callable[[], float],
    is_too_large: TooLargeTest,
) -> AsyncIterator[list[ReportLine]]:
    for need, found in cluster.existing():
        if need.setting == "interactions" and cluster.inspector and not found.leaderless:
            yield await traffic.examine(
                cluster.inspector, need.topic, found.partitions, rules, clock(), is_too_large
            )


async def _judges(
    settings: Settings, configured_judges: Sequence[ConfiguredJudge]
) -> list[ReportLine]:
    """Every judge that the settings or an entry of ``applications`` names, all at once."""
    try:
        found = await asyncio.gather(
            *(
                llm.examine(judge, _called(configured, judge), _timeouts(configured.section))
                for configured in configured_judges
                for judge in judges_of(configured)
            )
        )
    finally:
        for configured in configured_judges:
            await configured.judge.aclose()
    return _priced([line for lines in found for line in lines], settings, configured_judges)


def _timeouts(section: JudgeSettings) -> llm.JudgeTimeouts:
    return llm.JudgeTimeouts(section.deadline_s, section.attempt_timeout_s)


def _priced(
    lines: list[ReportLine],
    settings: Settings,
    configured_judges: Sequence[ConfiguredJudge],
) -> list[ReportLine]:
    """With a budget no process would start with a model whose price nobody knows."""
    if not has_budget(settings):
        return lines
    try:
        require_prices(configured_judges)
    except ConfigurationError as error:
        known = [line for line in lines if line.check != "price" or line.status is CheckStatus.OK]
        return [*known, wrong_setting(error)]
    return lines


def _called(configured: ConfiguredJudge, judge: Judge) -> str:
    model, name = configured.section.model, configured.section.name
    if not configured.section.asks_a_model:  # its settings may be inherited by others, who ask
        return configured.section.label_name
    if judge is not judges_of(configured)[0]:
        model = judge.identity.model
    return " ".join(filter(None, (name, model))) or configured.section.label_name
