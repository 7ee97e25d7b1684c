"""The demo without Kafka and without waiting: its own traffic, judge, books and report.

Everything is what runs in ``rag-monitor demo``, but the clock, the topics and the text of a page:
a score record is there as soon as its interaction happens, and what is published holds at the next
look.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry

from monitor.app.scores import aggregators
from monitor.demo.chronicle import Chronicle
from monitor.demo.options import DemoOptions, demo_settings
from monitor.demo.report import DemoRun, report
from monitor.demo.schedule import Schedule
from monitor.demo.traffic import DemoTraffic
from monitor.exporter.alarms.transitions import transitions
from monitor.exporter.baselines.baselines import control_state
from monitor.exporter.baselines.schedule import show
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.scrape import READ, page_of
from monitor.exporter.serve.scraped import ScrapedPage
from monitor.ingest.formats import native
from monitor.judge.offline.judge import OfflineJudge
from monitor.metrics.catalogue import score_all
from monitor.records import Outcome, ScoreRecord, Source
from monitor.records.alarm import AlarmRecord
from monitor.sampling.hashing import Sampler
from monitor.scorer import score_records
from monitor.scorer.score_records import JudgingResult
from monitor.telemetry import ExporterTelemetry

#: Five hours into a day, so that no period ends in between.
START: Final = 20_778 * 86_400 + 18_000
#: Seconds between looks of the learner and at the detectors, as in the demo.
LOOK_EVERY_S: Final = 0.5


class Simulation:
    """A demo whose time is an argument."""

    def __init__(self, chosen: DemoOptions) -> None:
        self._chosen = chosen
        self._settings = demo_settings(chosen, {}, "127.0.0.1:1")
        self.schedule = Schedule(START, chosen.incident_at, chosen.incident_for)
        self.chronicle = Chronicle(START)
        self._aggregators = aggregators(self._settings)
        self._registry = CollectorRegistry()
        self._telemetry = ExporterTelemetry(self._registry)
        self._now = float(START)
        self._registry.register(
            QualityCollector(self._aggregators.scores, lambda: self._now, lambda: True)
        )
        self._last: dict[str, AlarmRecord] = {}
        self._first_gauge_s: float | None = None

    async def run(self) -> dict[str, Any]:
        """The report; ``first_gauge_s`` is after the traffic's start here."""
        seconds, records = self._chosen.run_for or 0.0, score_lines(self._chosen, self.schedule)
        ahead: ScoreRecord | None = await anext(records, None)
        while self._now < START + seconds:
            self._now += LOOK_EVERY_S
            while ahead is not None and ahead.event_time.timestamp() < self._now:
                self._aggregators.scores.add(ahead, ahead.to_json())
                self._telemetry.records.labels("read").inc()
                ahead = await anext(records, None)
            self._look()
        phases = self.schedule.phases(int(self._now))
        count = int(seconds * self._chosen.rate)
        page = self._page()
        return report(
            page,
            self._aggregators.scores,
            self.chronicle,
            DemoRun(phases, count, count, self._first_gauge_s, 0.0),
        )

    def _page(self) -> ScrapedPage:
        """What a user reads: it is neither written nor parsed, which takes as long as the rest."""
        families = self._registry.collect()
        return page_of(
            one for each in families for one in each.samples if one.name.startswith(READ)
        )

    def _look(self) -> None:
        """What the exporter does from time to time, and a scrape."""
        scores, baselines, drift = (
            self._aggregators.scores,
            self._aggregators.baselines,
            self._aggregators.drift,
        )
        scores.advance(self._now)
        for learned in baselines.learn(scores.training_slots, self._now):
            control_state(baselines).apply(learned.key.encode(), learned.to_json())
        show(baselines, scores, self._telemetry)
        states = list(drift.states(self._now))
        for record in transitions(self._last, states, drift.history, self._now, "tenant"):
            self._last[record.key] = record
            self.chronicle.apply(record)
        page = self._page()
        self.chronicle.look(page, self._now)
        if self._first_gauge_s is None and any(g.samples >= 5 for g in page.gauges.values()):
            self._first_gauge_s = self._now - START


async def score_lines(chosen: DemoOptions, schedule: Schedule) -> AsyncIterator[ScoreRecord]:
    """The score records of the demo's traffic, as its scorer makes them."""
    traffic, sampler = DemoTraffic(chosen.seed, schedule.mix_at), Sampler(chosen.sampling)
    judge = OfflineJudge()
    for index in range(int((chosen.run_for or 0.0) * chosen.rate)):
        now = datetime.fromtimestamp(schedule.start + index / chosen.rate, UTC)
        value = json.dumps(traffic.interaction(index, now).json, ensure_ascii=False).encode()
        source = Source(topic="t", partition=0, offset=index)
        interaction = native.decode(value, source, int(now.timestamp() * 1000)).interaction
        if not sampler.takes(interaction.interaction_id.encode()):
            continue
        judgement = await judge.judge(interaction)
        scores = score_all(judgement)
        is_scored = any(isinstance(score, float) for score in scores.values())
        outcome = Outcome.SCORED if is_scored else Outcome.UNSCORABLE
        yield score_records.build(
            interaction,
            JudgingResult(outcome, None, judgement.judge, judgement.usage, judgement, scores, {}),
            rate=chosen.sampling,
            segment_by=["tenant"],
            now=now,
        )
