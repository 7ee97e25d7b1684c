"""The pipeline ``ragas`` against what ragas 0.4.3 was recorded to ask (``tests/data``)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from monitor.judge.pipeline.asking import Asker
from monitor.judge.pipeline.extraction import Extractor
from monitor.judge.pipeline.parsing import VerifyRequest
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.plans import PLANS
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.ports import Reply, Task, Terms
from monitor.records import JudgeIdentity
from tests.benchmarks.judging.client_ours import interaction

IDENTITY = JudgeIdentity(name="llm", version="abc123", model="m", prompts="p", pipeline="ragas")
FIXTURE = Path(__file__).parents[3] / "data" / "ragas_calls.jsonl"
RECORDED = [json.loads(line) for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
Pair = tuple[tuple[str, ...], str]


async def asked_by_ours(found: dict[str, Any]) -> Counter[Pair]:
    """The (claims, context) pairs of our pipeline, over a model that says yes to everything."""
    texts = {
        found["interaction"]["response"]: found["claims"]["response"],
        found["interaction"]["reference"]: found["claims"]["reference"],
    }
    pairs: Counter[Pair] = Counter()

    async def model(task: Task, system: str, user: str, terms: Terms) -> Reply:
        body = json.loads(user)
        if task == "extract_claims":
            return Reply(json.dumps({"claims": texts[body["text"]]}))
        (context,) = body["documents"].values()
        pairs[tuple(body["claims"].values()), context] += 1
        request = VerifyRequest(body["n"], body["question"], body["documents"], body["claims"])
        lines = {claim: " ".join(f"{d}y" for d in request.asked(claim)) for claim in request.claims}
        return Reply(json.dumps({"n": body["n"], **lines}))

    asker = Asker(model, load_prompts())
    pipeline = Pipeline(asker, Extractor(asker), lambda _: IDENTITY, planner=PLANS["ragas"])
    await pipeline.judge(interaction(found["interaction"]))
    return pairs


@pytest.mark.parametrize(
    "found", RECORDED, ids=lambda found: found["interaction"]["interaction_id"]
)
async def test_our_calls_are_those_of_ragas_without_duplicates(found: dict[str, Any]) -> None:
    """Every recorded pair once; besides only what ragas never asks and a judgement needs."""
    recorded = Counter((tuple(one["claims"]), one["context"]) for one in found["asked"])
    c, r = (tuple(found["claims"][name]) for name in ("response", "reference"))
    response, reference = (found["interaction"][name] for name in ("response", "reference"))
    beyond = {(r, response), (c, response), (r, reference)}
    assert not beyond & set(recorded)
    assert await asked_by_ours(found) == Counter(dict.fromkeys({*recorded, *beyond}, 1))


@pytest.mark.parametrize(
    "found", RECORDED, ids=lambda found: found["interaction"]["interaction_id"]
)
def test_the_recording_is_what_the_source_of_ragas_says(found: dict[str, Any]) -> None:
    """Noise sensitivity asks all of it in both modes, faithfulness the joined passages once."""
    c, r = (tuple(found["claims"][name]) for name in ("response", "reference"))
    passages = found["interaction"]["retrieved_contexts"]
    expected: Counter[Pair] = Counter({(c, "\n".join(passages)): 1})
    expected[c, found["interaction"]["reference"]] += 2
    for passage in passages:
        expected[c, passage] += 2
        expected[r, passage] += 2
    assert Counter((tuple(one["claims"]), one["context"]) for one in found["asked"]) == expected
