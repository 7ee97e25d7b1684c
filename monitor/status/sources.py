"""Where a situation is from: the pages of running monitors, and the topics for what is missing."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import aiohttp

from monitor.app.connections import connection, output_connection
from monitor.app.scores import aggregators
from monitor.config import Settings
from monitor.control.commands import ControlAccess, in_force
from monitor.control.pauses import Pauses
from monitor.control.scanned import scan_control
from monitor.errors import ConfigurationError, DependencyRefused
from monitor.exporter.baselines.baselines import control_state
from monitor.exporter.baselines.commands import SLACK_S
from monitor.exporter.computed import pages_of
from monitor.exporter.period import fit
from monitor.exporter.serve.scrape import read_process
from monitor.exporter.serve.scraped import ScrapedPage
from monitor.kafka import one_shot
from monitor.kafka.reader import group_offsets
from monitor.kafka.replay import TopicScan
from monitor.kafka.skipped import SCORES_SKIPPED, readable
from monitor.records import read_score_record
from monitor.records.control import PauseRecord
from monitor.runtime.health import Health
from monitor.status.situation import TOPICS, AskedProcess, Situation, together

#: A process that serves pages answers at once, or it is busy.
ANSWER_S: Final = 10.0
#: Seconds for what pages do not say, of brokers that this machine may not reach.
DETAIL_S: Final = 3.0
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}


class SituationAccess(NamedTuple):
    """Where to ask; ``clock`` gives epoch seconds, ``limit_s`` is for reading from topics."""

    settings: Settings
    urls: Sequence[str]
    clock: Callable[[], float]
    health: Health
    limit_s: float


def default_url(settings: Settings) -> str | None:
    """Where a monitor with these settings listens; None where that is nobody's to know."""
    host, port = settings.http.host, settings.http.port
    if not port:
        return None
    host = _EVERYWHERE.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{host}:{port}"


async def look(access: SituationAccess) -> Situation:
    """How it is doing now.

    Raises ``DependencyRefused`` where neither a monitor nor the topics answer.
    """
    asked = await asyncio.gather(*(_asked(url) for url in access.urls))
    processes = [each for each in asked if isinstance(each, AskedProcess)]
    silent = {
        url: each for url, each in zip(access.urls, asked, strict=True) if isinstance(each, str)
    }
    topics = None
    if not any(each.page.is_exporter for each in processes):
        try:
            topics = await from_topics(access)
        except DependencyRefused as error:
            if processes:
                silent["Kafka"] = str(error)
            else:
                tried = "; ".join(f"{url}: {why}" for url, why in silent.items())
                raise DependencyRefused(f"{tried}; nor the topics: {error}") from error
    found = together(processes, silent, topics)
    if topics is None and found.counts.paused and "Kafka" not in silent:
        found = found._replace(pauses=await _pauses(access))
    return found


async def _pauses(access: SituationAccess) -> list[PauseRecord] | None:
    """Until when and by whom, which no page says; None where that cannot be read."""
    topic, limit_s = access.settings.kafka.topics.control, min(access.limit_s, DETAIL_S)
    try:
        output = output_connection(access.settings, connection(access.settings))
        control = ControlAccess(output, topic, access.health, limit_s)
        return await in_force(control, access.clock())
    except (ConfigurationError, DependencyRefused):  # that it is paused is said all the same
        return None


async def _asked(url: str) -> AskedProcess | str:
    """What a process says of itself, or why it says nothing."""
    url = url.rstrip("/")
    limit = aiohttp.ClientTimeout(total=ANSWER_S)
    try:
        async with aiohttp.ClientSession(timeout=limit) as session:
            async with session.get(f"{url}/metrics") as answer:
                answer.raise_for_status()
                page = read_process(await answer.text())
            async with session.get(f"{url}/readyz") as answer:
                waiting = _waiting(await answer.text())
    except aiohttp.InvalidURL as error:
        raise ConfigurationError(
            f"--url: found {url!r}, expected an address like http://127.0.0.1:9750"
        ) from error
    except TimeoutError:
        return f"no answer within {ANSWER_S:g} s"
    except (aiohttp.ClientError, ValueError) as error:
        return _why(error)
    if not page.version:
        return "something else answers there: its /metrics page is not of rag-monitor"
    return AskedProcess(url, page, waiting)


def _waiting(text: str) -> Mapping[str, str]:
    found = json.loads(text).get("waiting_for")
    return {str(name): str(why) for name, why in found.items()} if isinstance(found, dict) else {}


def _why(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return "nothing answers there"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"answers with status {error.status}"
    return type(error).__name__


async def from_topics(access: SituationAccess) -> Situation:
    """The same gauges from the records themselves, as the exporter computes them.

    Raises ``DependencyRefused`` when a topic is missing, may not be read, or not in time.
    """
    settings, now = access.settings, access.clock()
    output, topics = output_connection(settings, connection(settings)), settings.kafka.topics
    found, counts, pauses = aggregators(settings), Counter[tuple[str, str]](), Pauses()
    async with one_shot.in_time(output, access.health, access.limit_s, "reading"):
        scan = await TopicScan.start(output, access.health)
        try:
            if topics.control in scan.partitions:  # without one there are no baselines yet
                state = control_state(found.baselines, pauses=pauses)
                await scan_control(scan, topics.control, state)
            await fit(scan, topics.scores, found.scores, now)
            start_s = max(0, found.scores.horizon_start(now) - SLACK_S)
            found.scores.advance(now)
            records = scan.records(topics.scores, start_ms=start_s * 1000)
            async for record, score in readable(records, read_score_record, SCORES_SKIPPED):
                counts[score.outcome.value, score.reason or ""] += 1
                found.scores.add(score, record.value or b"")
        finally:
            await scan.stop()
        unread = await _unread(access)
    found.scores.advance(now)
    found.baselines.learn(found.scores.training_slots, now)
    pages = pages_of(found.scores, found.baselines, now)
    held = pauses.records(now)
    paused = tuple(record.shown for record in held)
    read = ScrapedPage({}, counts, counts.total(), 0, counts.total(), paused=paused)
    return Situation((), {}, TOPICS, pages, read, unread, pauses=held)


async def _unread(access: SituationAccess) -> int | None:
    """How much the scorers' group has not read; None where it may not be asked."""
    kafka, cluster = access.settings.kafka, connection(access.settings)
    topics = kafka.topics.interactions
    try:
        found = await group_offsets(cluster, kafka.group_id, topics, access.health)
    except Exception:  # noqa: BLE001 - a right that is missing: the rest is worth showing
        return None
    return sum(max(0, end - committed) for committed, end in found.values())
