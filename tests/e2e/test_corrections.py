"""What audits say on the control topic corrects the gauges of every exporter, until it is gone."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from monitor.records.control import CorrectionRecord
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.stages.baselines import PAIR, scored
from tests.stages.corrections import AGREES, audits_of, correction, of_metric
from tests.stages.process import MonitorProcess, until
from tests.stages.topics import MakeTopics
from tests.stages.two_exporters import running

#: What follows from audits, or from audits and scores.
CORRECTED = ("rag_score_corrected", "rag_monitor_audit", "rag_monitor_correction")


async def corrected(exporter: MonitorProcess) -> list[str]:
    """The lines about audits, of a window that no score leaves meanwhile."""
    _, text = await exporter.get("/metrics")
    lines = [line for line in text.splitlines() if line.startswith(CORRECTED)]
    return [line for line in lines if "window=" not in line or 'window="24h"' in line]


def said(false_alarms: float) -> CorrectionRecord:
    """What 200 audits say of a judge."""
    audits = audits_of(200, false_alarms=false_alarms)
    metrics = {"faithfulness": of_metric(audits)}
    return correction(*PAIR, metrics=metrics, agreement={"relevance": AGREES})


async def test_corrections_come_change_and_go(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """One that was there at the start, a later one, and a tombstone: two exporters say the same."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    control, key = topics["kafka__topics__control"], said(0.05).key.encode()
    scores = [scored(offset, time.time() - 60) for offset in range(40)]
    await produce(broker, topics["kafka__topics__scores"], scores)
    await produce(broker, control, [Record(said(0.05).to_json(), key)])
    async with running(kafka_broker, topics, tmp_path, ["a", "b"], "monitor") as exporters:

        async def alike() -> list[str] | None:
            first, second = await asyncio.gather(*map(corrected, exporters))
            return first if first == second else None

        async def after(before: list[str] | None) -> list[str]:
            async def changed() -> bool:
                return await alike() not in (None, before)

            await until(changed, "both have read another correction")
            return await alike() or []

        at_first = await after(None)
        assert any(line.startswith("rag_score_corrected{") for line in at_first)
        await produce(broker, control, [Record(said(0.25).to_json(), key)])
        later = await after(at_first)
        assert [line.split("} ")[0] for line in later] == [line.split("} ")[0] for line in at_first]
        await produce(broker, control, [Record(None, key)])
        assert await after(later) == []
