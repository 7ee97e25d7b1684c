"""Faults of the judge, injected into a running scorer: never a wrong score, always an outcome."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from monitor.records import Outcome, ScoreRecord, read_score_record
from tests.servers.judge_faults import MALFORMED, VERIFY_ONLY
from tests.servers.judge_request import Task
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.labelled import METRICS, Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics

#: What an interaction ends with when a fault never ends.
REASONS = {
    Fault.RATE_LIMITED: "rate_limited",
    Fault.SERVER_ERROR: "server_error",
    Fault.TIMEOUT: "timeout",
    Fault.BODY_ERROR: "server_error",
    Fault.CHOICE_ERROR: "server_error",
    Fault.CUT_JSON: "output_limit",  # as if it were cut there, whatever the provider says
} | dict.fromkeys(sorted(MALFORMED - {Fault.CUT_JSON, Fault.OUT_OF_ORDER_IDS}), "malformed_reply")
#: Asked in halves, down to one claim a call: of one claim no order is wrong.
HEALED = Fault.OUT_OF_ORDER_IDS
ONCE, ALWAYS, UNHARMED = 9, 3, 30


def faulty_cases(rng: Random, name: str, count: int) -> list[Case]:
    """Cases that need all calls and can carry every fault: passages, a reference, a support."""
    found: list[Case] = []
    serial = 0
    while len(found) < count:
        serial += 1
        one = case(f"{name}-{serial:03d}", rng, time.time() - 600)
        # A stray «+» is one only where a passage supports a claim alone.
        alone = any(map(any, (*one.by_passage, *one.reference_by_passage)))
        enough = len(one.interaction["retrieved_contexts"]) >= 2 and one.by_reference is not None
        if alone and enough:
            found.append(one)
    return found


def rules(fault: Fault, name: str, times: int | None) -> list[FaultRule]:
    """The fault for both tasks where a task can show it; a verify-only fault for verify."""
    task: Task | None = "verify_claims" if fault in VERIFY_ONLY else None
    return [
        FaultRule(
            fault=fault,
            times=times,
            task=task,
            containing=f"[{name}-",  # as the question has it, and no claim or passage
            seconds=0.2,
            finish_reason="stop",
        )
    ]


async def judged(
    broker: RunningBroker, topics: Topics, tmp_path: Path, cases: list[Case], plan: FaultPlan
) -> dict[str, ScoreRecord]:
    """Score records by interaction id, once all cases have ended; consumed = outcomes holds."""
    async with JudgeServer(all_labels(cases), plan) as judge:
        scorer = MonitorProcess(
            "score",
            broker.bootstrap,
            tmp_path,
            "scorer",
            **asking(
                judge,
                judge__concurrency=16,
                judge__attempt_timeout_s=6,
                judge__deadline_s=120,
                **topics,
            ),
        )
        try:
            await scorer.ready()
            sent = as_logged(cases)
            await produce(broker.bootstrap, topics["kafka__topics__interactions"], sent)

            async def ended() -> bool:
                samples = await scorer.metrics()
                counted = sum(outcomes(samples).values())
                in_flight = total(samples, "rag_monitor_interactions_in_flight")
                consumed = total(samples, "rag_monitor_interactions_consumed_total")
                assert consumed == counted + in_flight
                return counted == len(cases)

            await until(ended, "all outcomes")
        finally:
            await scorer.end()
    read = await read_all(broker.bootstrap, topics["kafka__topics__scores"])
    records = [read_score_record(record.value or b"") for record in read]
    assert len(records) == len(cases), "every pick leaves one score record"
    return {record.interaction_id: record for record in records}


def is_right(one: Case, record: ScoreRecord) -> bool:
    """Whether all scores of the record are the labels' own; raises on a wrong score."""
    if record.outcome is not Outcome.SCORED:
        assert record.scores == {}, "a failed pick has no scores"
        return False
    values = {m: record.scores[m] for m in METRICS}  # those that the case works out by itself
    found = {m: v if isinstance(v, float) else None for m, v in values.items()}
    assert found == pytest.approx(one.scores(), abs=1e-12), f"wrong score of {one.id}"
    return True


async def test_one_bad_reply_never_costs_a_score(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Of the interactions hit by one bad reply ≥ 99 % are scored, and all scores are right."""
    rng = Random(7)
    cases, plan = faulty_cases(rng, "unharmed", UNHARMED), []
    for fault in Fault:
        name = f"once-{fault.value}"
        cases += faulty_cases(rng, name, ONCE)
        plan += rules(fault, name, times=1)
    rng.shuffle(cases)
    records = await judged(
        kafka_broker, await make_topics(), tmp_path, cases, FaultPlan(rules=tuple(plan))
    )
    right = {one.id: is_right(one, records[one.id]) for one in cases}
    assert all(right[one.id] for one in cases if one.id.startswith("unharmed"))
    hit = [one for one in cases if one.id.startswith("once")]
    lost = [(one.id, records[one.id].reason) for one in hit if not right[one.id]]
    assert len(lost) <= 0.01 * len(hit), lost


async def test_a_fault_without_end_is_a_failure_with_its_reason(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Each fault that never ends gives judge_failed with its reason; the others are scored.

    So is what halves can heal.
    """
    rng = Random(8)
    cases, plan = faulty_cases(rng, "unharmed", UNHARMED), []
    for fault in (*REASONS, HEALED):
        name = f"always-{fault.value}"
        cases += faulty_cases(rng, name, ALWAYS)
        plan += rules(fault, name, times=None)
    rng.shuffle(cases)
    records = await judged(
        kafka_broker, await make_topics(), tmp_path, cases, FaultPlan(rules=tuple(plan))
    )
    for one in cases:
        record = records[one.id]
        if one.id.startswith(("unharmed", f"always-{HEALED.value}")):
            assert is_right(one, record)
    reasons = Counter(
        (one.id.rpartition("-")[0], records[one.id].outcome.value, records[one.id].reason)
        for one in cases
        if one.id.startswith("always") and HEALED.value not in one.id
    )
    assert reasons == Counter(
        {
            (f"always-{fault.value}", "judge_failed", reason): ALWAYS
            for fault, reason in REASONS.items()
        }
    )
