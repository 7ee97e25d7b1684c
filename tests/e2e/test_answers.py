"""``rag-monitor worst``, ``show`` and ``why``: single answers from the topics, on a real broker."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from monitor.app.inspection import lookup_access
from monitor.config import load
from monitor.lookup.search import findings
from monitor.lookup.why import answer
from monitor.records.control import PauseRecord
from monitor.sampling.hashing import unit_hash
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.stages.command import environ_of, one_line, rag_monitor
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.otlp_spans import TURNS, as_json, made, rag_trace
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, until
from tests.stages.topics import MakeTopics

PRICES = "Price list of 2019: returning an item costs 5 euros."
WARRANTY = "The warranty lasts 24 months from the day of delivery."


def logged(name: str | None, **fields: Any) -> Record:
    """One interaction as an application logs it."""
    body = {
        "application": "shop",
        "timestamp": datetime.now(UTC).isoformat(),
        "user_input": "How long is the warranty, and what does returning cost?",
        "response": "The warranty lasts 24 months. Returning an item costs 5 euros.",
        "retrieved_contexts": [WARRANTY, {"id": "archive-2019#3", "text": PRICES}],
        "reference": "The warranty lasts 24 months. Returning an item is free.",
        "attributes": {"tenant": "acme"},
    }
    if name is not None:
        body["interaction_id"] = name
    return Record(json.dumps({**body, **fields}).encode(), (name or "none").encode(), partition=0)


async def asked(
    environ: dict[str, str], *command: str, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """A command to its end, which must be with this code."""
    result = await asyncio.to_thread(rag_monitor, *command, environ=environ)
    assert result.returncode == code, (result.stdout, result.stderr)
    return result


async def why(environ: dict[str, str], name: str, code: int = 0) -> dict[str, Any]:
    """What is said of an id, for programs."""
    found: dict[str, Any] = json.loads(
        (await asked(environ, "why", name, "--json", code=code)).stdout
    )
    return found


async def judged(scorer: MonitorProcess, number: int) -> None:
    """Wait until so many have ended."""

    async def ended() -> bool:
        return sum(outcomes(await scorer.metrics()).values()) >= number

    await until(ended, f"{number} ended")


async def test_three_bad_answers_are_shown_from_the_topic(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The worst first, with what is wrong and where it came from; one in full; no database."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    scorer = MonitorProcess("score", broker, tmp_path, "s", **topics, export__segment="tenant")
    environ = environ_of(broker, topics)
    good = {"response": "The warranty lasts 24 months."}
    try:
        await scorer.ready()
        await produce(
            broker,
            topics["kafka__topics__interactions"],
            [
                logged("good", **good),
                logged("bad"),
                logged("worse", response="Returning an item costs 5 euros."),
                logged("other", attributes={"tenant": "globex"}),
                logged("hidden", user_input="Mail eva@example.org: how long?"),
            ],
        )
        await judged(scorer, 5)
    finally:
        await scorer.end()
    metric = ("--metric", "noise_sensitivity_irrelevant")
    shown = await asked(environ, "worst", *metric, "-n", "3")
    first, *_ = shown.stdout.splitlines()
    assert first.startswith("  1  noise_sensitivity_irrelevant 1.00  worse  shop  segment acme")
    wrong = [line for line in shown.stdout.splitlines() if line.lstrip().startswith("wrong")]
    assert len(wrong) == 3
    assert all("Returning an item costs 5 euros" in line for line in wrong)
    assert all("← wrong, from irrelevant passage 2 (archive-2019#3)" in line for line in wrong)
    assert "3 of 4 that could be better, among 5 with a value" in shown.stderr
    assert "good" not in shown.stdout

    for segment in ("globex", "tenant=globex"):
        found = await asked(environ, "worst", *metric, "--segment", segment, "--json")
        (only,) = json.loads(found.stdout)
        assert (only["interaction_id"], only["value"]) == ("other", 0.5)
    nobody = await asked(environ, "worst", "--application", "nobody", "--json", code=1)
    assert json.loads(nobody.stdout) == []

    full = (await asked(environ, "show", "bad")).stdout
    assert "scored, judged by offline@" in full
    assert "1  [relevant] The warranty lasts 24 months" in full
    assert "2  [archive-2019#3] [irrelevant] Price list of 2019" in full
    assert "Returning an item is free." in full
    assert "← not retrieved" in full
    rows = json.loads((await asked(environ, "show", "bad", "--json")).stdout)
    right, returning = rows["response_claims"]
    assert (right["wrong"], right["by_passage"], right["by_reference"]) == (
        False,
        [True, False],
        True,
    )
    assert (returning["wrong"], returning["by_passage"], returning["by_reference"]) == (
        True,
        [False, True],
        False,
    )
    assert returning["passages"] == [{"number": 2, "id": "archive-2019#3", "relevant": False}]
    # What was redacted before it was judged is redacted here.
    everything = shown.stdout + (await asked(environ, "show", "hidden")).stdout
    assert "eva@example" not in everything
    assert "<EMAIL:" in everything
    missing = await asked(environ, "show", "nobody", code=1)
    assert "no score record of nobody" in missing.stderr
    assert "rag-monitor why nobody" in missing.stderr


async def test_why_answers_for_every_end(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Judged, left out by hash or rule, rejected, unscorable, waiting and never seen."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    names = [f"i{n}" for n in range(40)]
    taken, left = (
        next(name for name in names if (unit_hash(name.encode()) < 0.5) is is_taken)
        for is_taken in (True, False)
    )
    rules = json.dumps([{"attribute": "tenant", "equals": "test"}])
    settings = {**topics, "sampling__rate": "0.5", "ingest__exclude": rules}
    held = next(n for n in names if unit_hash(n.encode()) < 0.5 and n != taken)
    empty = next(n for n in names if unit_hash(n.encode()) < 0.5 and n not in (taken, held))
    known = (taken, held, empty)
    old = next(n for n in names if unit_hash(n.encode()) < 0.5 and n not in known)
    scorer = MonitorProcess("score", broker, tmp_path, "s", **settings)
    environ, inputs = environ_of(broker, settings), topics["kafka__topics__interactions"]
    try:
        await scorer.ready()
        await produce(
            broker,
            inputs,
            [
                logged(taken),
                logged(left),
                logged(held, attributes={"tenant": "test"}),
                logged(empty, response="!"),
                logged("broken", response=7),
                Record(b'{"interaction_id": "torn", "user_input": ', b"torn", partition=0),
                logged("é/ü"),
                logged(None),
                logged(old, timestamp=(datetime.now(UTC) - timedelta(days=6)).isoformat()),
            ],
        )
        await judged(scorer, 9)
    finally:
        await scorer.end()
    found = await why(environ, taken)
    assert (found["outcome"], found["sampling"]["q"]) == ("scored", 0.5)
    assert found["hash"] == unit_hash(taken.encode())
    assert found["weight"] == 2.0
    assert found["judge"]["name"] == "offline"
    said = (await asked(environ, "why", taken)).stdout
    assert f"sampled: its hash {unit_hash(taken.encode()):.4f} is below 0.5" in said
    assert "warranty" not in said

    found = await why(environ, left)
    assert (found["outcome"], found["reason"], found["rate"]) == ("not_sampled", "hash", 0.5)
    assert found["hash"] == unit_hash(left.encode()) >= 0.5
    found = await why(environ, held)
    assert (found["outcome"], found["reason"]) == ("not_sampled", "filtered")
    assert "ingest.exclude.0 holds it back" in found["sentence"]
    found = await why(environ, empty)
    assert (found["outcome"], found["reason"]) == ("unscorable", "no_claims")
    assert "the response claims nothing" in found["sentence"]
    for name in ("broken", "torn"):
        found = await why(environ, name)
        assert found["outcome"] == "dead_lettered", found
        assert found["dead_letter"]["attempts"] == 1
    found = await why(environ, "é/ü")
    assert found["outcome"] == ("scored" if unit_hash("é/ü".encode()) < 0.5 else "not_sampled")
    found = await why(environ, old)
    assert (found["outcome"], found["reason"]) == ("not_sampled", "too_old")
    found = await why(environ, f"{inputs}/0/7")
    assert found["outcome"] in ("scored", "not_sampled")

    # The scorer has gone: what comes now waits for the next one.
    late = next(n for n in names if unit_hash(n.encode()) < 0.5 and n not in (*known, old))
    await produce(broker, inputs, [logged(late)])
    control = topics["kafka__topics__control"]
    pause = PauseRecord(application="shop")
    await produce(broker, control, [Record(pause.to_json(), pause.key.encode())])
    found = await why(environ, late)
    assert (found["outcome"], found["committed"], found["source"]["offset"]) == ("waiting", 9, 9)
    said = (await asked(environ, "why", late)).stdout
    assert "the scorers' group is at offset 9, 0 before it" in said
    assert "judging is paused: shop" in said

    found = await why(environ, "nobody", code=1)
    assert found["outcome"] == "never_seen"
    assert inputs in found["searched"]


async def test_one_of_a_slot_names_the_pick(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Blocks of four, judged over HTTP: one stands for all, with its weight; the others say so."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    rng = Random(3)
    cases = [case(f"c{n}", rng, time.time() - 10) for n in range(4)]
    for each in cases:  # of one kind: one slot
        each.interaction["reference"] = None
    records = [Record(one.value, one.key, partition=0) for one in as_logged(cases)]
    async with JudgeServer(all_labels(cases)) as judge:
        settings = asking(judge, **topics, sampling__block=4, sampling__directed="false")
        scorer = MonitorProcess("score", broker, tmp_path, "s", **settings)
        environ = environ_of(broker, topics)
        try:
            await scorer.ready()
            await produce(broker, topics["kafka__topics__interactions"], records)
            await judged(scorer, 4)
        finally:
            await scorer.end()
    found = {each.id: await why(environ, each.id) for each in cases}
    (picked,) = [name for name, one in found.items() if one["outcome"] != "not_sampled"]
    assert found[picked]["sampling"]["m"] == 4
    assert found[picked]["weight"] == 4.0
    for name, one in found.items():
        if name != picked:
            assert (one["reason"], one["slot"]["picked"]) == ("slot", picked)
            assert (one["slot"]["first_offset"], one["slot"]["last_offset"]) == (0, 3)
    said = (await asked(environ, "why", picked)).stdout
    assert "picked among 4 of the slot of offsets 0 to 3" in said
    assert "m/q = 4" in said
    assert "judge llm@" in said


async def test_a_slot_whose_pick_became_a_dead_letter_has_no_record(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The others were counted as judged with it: what became of them is among the facts."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    # A pattern that reads on for ever: no text of the pick may go anywhere.
    patterns = json.dumps({"staff": r"EMP-\d+(?:[^\n]*;END)?"})
    settings = {**topics, "sampling__block": "4", "redaction__patterns": patterns}
    names, environ = [f"d{n}" for n in range(4)], environ_of(broker, settings)
    scorer = MonitorProcess("score", broker, tmp_path, "s", **settings)
    try:
        await scorer.ready()
        records = [logged(name, response="EMP-12345 " * 10_000) for name in names]
        await produce(broker, topics["kafka__topics__interactions"], records)
        await judged(scorer, 4)
        counts = ended(await scorer.metrics())
    finally:
        await scorer.end()
    assert counts == {("dead_lettered", "redaction_failed"): 1, ("not_sampled", "slot"): 3}
    found = [(await asked(environ, "why", name)).stdout for name in names]
    assert sum("dead_lettered (redact/redaction_failed)" in said for said in found) == 1
    told = "the pick of its slot became a dead letter: no record stands for the slot (slot)"
    assert sum(told in said for said in found) == 3


@pytest.mark.parametrize(("after_s", "copies"), [(599, 1), (601, 0)])
async def test_what_is_sent_again_soon_is_a_copy(
    kafka_broker: RunningBroker, make_topics: MakeTopics, after_s: int, copies: int
) -> None:
    """As for a scorer: within ten minutes, which the topic's own times tell."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    one, first_ms = logged("twice"), round(time.time() * 1000) - 700_000
    again = [replace(one, timestamp_ms=first_ms + at) for at in (0, 1000 * after_s)]
    await produce(broker, topics["kafka__topics__interactions"], again)
    access = lookup_access(load(environ_of(broker, topics)), 30.0)
    found = await findings(access, "twice", None, 0.0, time.time())
    assert [each.is_copy for each in found.inputs] == [False, bool(copies)]
    assert any(f"copies of it: {copies}" in fact for fact in answer(found).facts) == bool(copies)


@pytest.mark.parametrize("block", [1, 4])
async def test_why_says_what_was_counted(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, block: int
) -> None:
    """Of every interaction: also where the rate is 0, rules split it, or texts are hidden."""
    topics = await make_topics(partitions=1)
    split = {"attribute": "tenant", "equals": "vip"}
    applications = [
        {"application": "quiet", "sampling": {"rate": 0.0}},
        {"application": "split", "when": [split], "sampling": {"rate": 0.95}},
    ]
    whose = [("shop", "acme")] * 3 + [("quiet", "acme"), ("split", "acme"), ("split", "vip")]
    logs = {
        f"i{number}": logged(f"i{number}", application=name, attributes={"tenant": tenant})
        for number, (name, tenant) in enumerate(whose * 2)
    }
    # Nobody judges it: in a block it has no record, whatever is judged for those beside it.
    for number in range(6):
        logs[f"h{number}"] = logged(f"h{number}", application="shop", response="__REDACTED__")
    rules = {"sampling__rate": "0.8", "applications": json.dumps(applications)}
    settings = {**topics, **rules, "sampling__block": str(block)}
    reasons = await told_as_counted(kafka_broker.bootstrap, settings, logs, tmp_path)
    assert reasons == {"filtered", "hash", "redacted", *(["slot"] if block > 1 else [])}


async def test_why_says_what_was_counted_of_traces(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Their block is asked before they are read, with the highest rate that one may have."""
    topics, now_ns = await make_topics(partitions=1), time.time_ns() - 10**10
    applications = [
        {"application": "quiet", "sampling": {"rate": 0.0}},
        {"application": "shop", "sampling": {"rate": 0.5}},
    ]
    logs = {}
    for number in range(1, 25):
        spans = rag_trace(number, number % TURNS, now_ns + number)
        value = as_json(made(*spans, service=("quiet", "shop", "other")[number % 3]))
        logs[f"{number:032x}"] = Record(value, partition=0)
    settings = {
        **topics,
        "sampling__rate": "0.7",
        "sampling__block": "4",
        "ingest__format": "otlp_json",
        "ingest__trace_quiet_s": "1",
        "applications": json.dumps(applications),
    }
    reasons = await told_as_counted(kafka_broker.bootstrap, settings, logs, tmp_path)
    assert reasons == {"filtered", "hash", "slot"}


async def told_as_counted(
    broker: str, settings: dict[str, str], logs: dict[str, Record], folder: Path
) -> set[str]:
    """Each ends as a scorer has counted it: the reasons why some have no score."""
    scorer = MonitorProcess("score", broker, folder, "s", **settings)
    try:
        await scorer.ready()
        await produce(broker, settings["kafka__topics__interactions"], list(logs.values()))
        await judged(scorer, len(logs))
        counted = ended(await scorer.metrics())
    finally:
        await scorer.end()
    access = lookup_access(load(environ_of(broker, settings)), 30.0)
    said = [answer(await findings(access, name, None, 0.0, time.time())) for name in logs]
    assert Counter((one.outcome, one.reason or "") for one in said) == counted
    return {reason for _, reason in counted if reason}


def ended(samples: Samples) -> Counter[tuple[str, str]]:
    """How many interactions have ended in which outcome, and for which reason."""
    found: Counter[tuple[str, str]] = Counter()
    for (name, labels), value in samples.items():
        if name == "rag_monitor_interactions_total" and value:
            said = dict(labels)
            found[said["outcome"], said["reason"]] += int(value)
    return found


@pytest.mark.parametrize("command", [("worst",), ("show", "x"), ("why", "x")])
async def test_a_topic_that_does_not_answer_is_said(
    kafka_broker: RunningBroker, command: tuple[str, ...]
) -> None:
    """Exit code 3 and one line, with the topic."""
    environ = environ_of(kafka_broker.bootstrap, {"kafka__topics__scores": "rag.nowhere"})
    result = await asked(environ, *command, "--timeout", "5", code=3)
    assert "rag.nowhere" in result.stderr.splitlines()[-1]


def test_what_is_asked_for_wrongly_ends_with_two() -> None:
    """Unknown metric, one without a direction, and a time that is none."""
    assert "--metric: found 'faithfulnes', did you mean faithfulness?" in one_line(
        rag_monitor("worst", "--metric", "faithfulnes")
    )
    undirected = rag_monitor("worst", "--metric", "self_knowledge")
    assert undirected.returncode == 2
    assert "--since: found 'yesterday', expected a time" in one_line(
        rag_monitor("worst", "--since", "yesterday")
    )
