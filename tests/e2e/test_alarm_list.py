"""``rag-monitor alarms`` on a real topic: the latest of each alarm, and texts only when asked."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.records.alarm import (
    AlarmRecord,
    JudgeFailures,
    MeanChange,
    OffendingClaim,
    PassageOfClaim,
    WorstInteraction,
    answered,
)
from monitor.records.control import PauseRecord
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.stages.command import environ_of, rag_monitor
from tests.stages.topics import MakeTopics

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CLAIM = "Returning costs \x1b[2J5 euros"


def alarm(application: str, **fields: Any) -> AlarmRecord:
    """An open alarm with one bad interaction."""
    passage = PassageOfClaim(number=2, id="kb-7", relevant=False)
    worst = WorstInteraction(
        interaction_id=f"i-{application}",
        event_time=NOON,
        segment="acme",
        value=0.5,
        claims=(OffendingClaim(number=1, text=CLAIM, passages=(passage,)),),
    )
    given: dict[str, Any] = {
        "state": "open",
        "metric": "hallucination",
        "application": application,
        "judge": "llm@1",
        "higher_is_better": False,
        "since": NOON,
        "opened_at": NOON,
        "baseline": 0.1,
        "change": MeanChange(
            before=0.1,
            value=0.5,
            lower=0.4,
            upper=0.6,
            n=50,
            mix=None,
            within=0.4,
            explained_by_mix=None,
        ),
        "evidence": 5.0,
        "threshold": 4.0,
        "evidence_until": NOON,
        "judge_failures": JudgeFailures(before=0.0, rate=0.0, picks=50, verdict="normal"),
        "segment_by": "tenant",
        "worst": (worst,),
        **fields,
    }
    return answered(AlarmRecord(**given))


def record(found: AlarmRecord) -> Record:
    """As it stands on the topic."""
    return Record(found.to_json(), found.key.encode())


def listed(
    broker: str, topic: str, *arguments: str, control: str = "rag.nothing"
) -> subprocess.CompletedProcess[str]:
    """How ``rag-monitor alarms`` ends."""
    topics = {"kafka__topics__alarms": topic, "kafka__topics__control": control}
    return rag_monitor("alarms", *arguments, environ=environ_of(broker, topics))


async def test_open_alarms_are_shown_with_their_worst_interactions(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """The latest record of each key; what cannot be read is counted; texts cannot steer."""
    topic, broker = (await make_topics())["kafka__topics__alarms"], kafka_broker.bootstrap
    over = alarm("shop", state="closed", closed_at=NOON, closed_because="recovered")
    sent = [record(alarm("shop")), record(over), record(alarm("bank")), Record(b"{", b"x")]
    await produce(broker, topic, sent)

    shown = listed(broker, topic)
    assert shown.returncode == 0, shown.stderr
    first, second, times, judge, worst = shown.stdout.splitlines()
    assert first == (
        "open    bank: wrong claims from no passage 10 % → 50 % (40–60 %, n 50) since 12:00 UTC"
    )
    assert second.startswith(
        "        hallucination of bank rose 0.10 → about 0.50 (0.40–0.60, n = "
    )
    ago = r" \(\d+(\.\d)? d ago\)"
    when = "2026-11-20 12:00:00 UTC"
    assert re.fullmatch(rf" {{8}}since {when}{ago}, opened {when}{ago}", times)
    assert judge == "        judge llm@1"
    assert "hallucination 0.50  i-bank, tenant=acme, 2026-11-20 12:00:00 UTC" in worst
    assert f"1 open of 2 alarms on {topic}; 1 records cannot be read" in shown.stderr

    everything = listed(broker, topic, "--all", "--claims").stdout
    assert everything.index("open    ") < everything.index("closed  shop: ")
    assert "        recovered at 12:00 UTC: hallucination of shop rose" in everything
    assert everything.count("Returning costs \\x1b[2J5 euros  ← passage 2 (kb-7)") == 2

    as_json = json.loads(listed(broker, topic, "--json").stdout)
    assert [(one["application"], one["state"]) for one in as_json] == [("bank", "open")]


async def test_what_is_paused_is_said_beside_the_alarms(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """No alarm opens on what is not judged; and not to know of pauses is no failure."""
    topics, broker = await make_topics(), kafka_broker.bootstrap
    topic, control = topics["kafka__topics__alarms"], topics["kafka__topics__control"]
    calm = listed(broker, topic, control=control)
    assert (calm.returncode, calm.stdout) == (0, "")
    assert "paused" not in calm.stderr
    held, over = PauseRecord(application="shop"), PauseRecord(until=NOON - timedelta(days=9))
    sent = [Record(each.to_json(), each.key.encode()) for each in (held, over)]
    await produce(broker, control, sent)
    shown = listed(broker, topic, "--json", control=control)
    assert (shown.returncode, json.loads(shown.stdout)) == (0, [])
    paused = [line for line in shown.stderr.splitlines() if "paused" in line]
    (line,) = paused
    assert re.fullmatch(r"judging is paused: shop, until \S+, since \S+", line)
    unknown = listed(broker, topic, "--timeout", "3")
    assert unknown.returncode == 0
    assert "whether judging is paused is not known: " in unknown.stderr


async def test_a_topic_that_does_not_answer_is_said(kafka_broker: RunningBroker) -> None:
    """Exit code 3 and one line, with the topic or how to give it more time."""
    missing = listed(kafka_broker.bootstrap, "rag.nowhere", "--timeout", "3")
    assert (missing.returncode, missing.stdout) == (3, "")
    (line,) = [each for each in missing.stderr.splitlines() if each.startswith("rag-monitor: ")]
    assert "rag.nowhere" in line
