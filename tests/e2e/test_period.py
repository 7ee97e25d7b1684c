"""Where little is judged, evidence counts for weeks: the exporter sees it from the topic."""

from __future__ import annotations

import json
import time

import pytest

from monitor.stats.period import DAY_S
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import produce
from tests.stages.judged_days import judged_each_day
from tests.stages.score_records import FIRST
from tests.stages.served import served_page
from tests.stages.topics import MakeTopics, Topics

FIXED = [{"application": "*", "metrics": {"faithfulness": 0.9}}]


async def served(broker: str, topics: Topics, **more: str) -> dict[str, float]:
    """Period and evidence of an exporter that has read all of it."""
    page = await served_page(broker, topics, time.time, drift__baselines=json.dumps(FIXED), **more)
    labels = f'{{application="bot",judge="{FIRST.label}",metric="faithfulness"}}'
    wanted = {
        "rag_monitor_drift_period_seconds": "period",
        f"rag_drift_evidence{labels}": "evidence",
    }
    lines = [line.rpartition(" ") for line in page.splitlines()]
    return {wanted[name]: float(value) for name, _, value in lines if name in wanted}


@pytest.mark.timeout(120)
async def test_the_period_goes_by_how_many_are_judged(
    kafka_broker: KafkaBroker, make_topics: MakeTopics
) -> None:
    """Twenty a day: four weeks, and what is nine days old is evidence; a given period holds."""
    topics = await make_topics()
    await produce(
        kafka_broker.bootstrap, topics["kafka__topics__scores"], judged_each_day(9, 20, 0.0)
    )
    found = await served(kafka_broker.bootstrap, topics)
    assert found["period"] == 28 * DAY_S
    given = await served(kafka_broker.bootstrap, topics, drift__period="1d")
    assert given["period"] == DAY_S
    assert found["evidence"] >= given["evidence"] > 0


@pytest.mark.timeout(120)
async def test_with_enough_a_day_it_is_a_day(
    kafka_broker: KafkaBroker, make_topics: MakeTopics
) -> None:
    """1,500 are enough; where nothing is known, too."""
    topics = await make_topics()
    assert (await served(kafka_broker.bootstrap, topics))["period"] == DAY_S
    await produce(
        kafka_broker.bootstrap, topics["kafka__topics__scores"], judged_each_day(1, 1_600, 0.9)
    )
    assert (await served(kafka_broker.bootstrap, topics))["period"] == DAY_S


@pytest.mark.timeout(120)
async def test_a_week_holds_what_an_objective_needs(
    kafka_broker: KafkaBroker, make_topics: MakeTopics
) -> None:
    """Twenty a day: over an hour and a day it stays unknown, over a week it is known and breached.

    Windows end now, and the last records are those of yesterday.
    """
    topics, windows = await make_topics(), ("1h", "24h", "7d")
    scores = judged_each_day(9, 20, 0.5)
    await produce(kafka_broker.bootstrap, topics["kafka__topics__scores"], scores)
    promised = [{"metric": "faithfulness", "window": each, "bound": 0.9} for each in windows]
    page = await served_page(
        kafka_broker.bootstrap,
        topics,
        time.time,
        export__windows=",".join(windows),
        objectives=json.dumps(promised),
    )
    labels = f'{{application="bot",judge="{FIRST.label}",metric="faithfulness",window='
    known = {each: f'rag_objective_known{labels}"{each}"}} 1.0' in page for each in windows}
    assert known == {"1h": False, "24h": False, "7d": True}
    assert f'rag_objective_breached{labels}"7d"}} 1.0' in page
