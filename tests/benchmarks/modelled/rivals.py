"""The same pairs asked otherwise: one bare question; ragas' own prompt by ragas' own client."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp

from monitor.judge.llm import yes_no
from monitor.judge.pipeline.pairing import word
from monitor.records import Usage
from tests.benchmarks.judging.environments import ROOT, interpreter
from tests.benchmarks.modelled.figures import Found
from tests.benchmarks.modelled.sets import Labelled

BARE: Final = (
    "Document:\n{document}\n\nClaim: {claim}\n\n"
    "Can the whole claim be inferred from the document? Answer yes or no."
)


async def bare(url: str, model: str, labelled: Sequence[Labelled]) -> Found:
    """One question a pair, without instructions or examples; yes from a probability of 1/2 on."""
    found = Found()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        for one in labelled:
            found.asked += 1
            replies = [
                await _asked(session, url, model, BARE.format(document=document, claim=claim))
                for document, claims in one.asked
                for claim in claims
            ]
            found.usage += sum((usage for _, usage in replies), Usage())
            weights = [weight for weight, _ in replies if weight is not None]
            found.firsts, found.accepted = (
                found.firsts + len(replies),
                found.accepted + len(weights),
            )
            if len(weights) < len(replies):
                continue
            found.judged += 1
            found.weights.append(list(zip(one.labels, weights, strict=True)))
            found.hits.append([(label, weight >= 1 / 2) for label, weight in found.weights[-1]])
    return found


async def _asked(
    session: aiohttp.ClientSession, url: str, model: str, question: str
) -> tuple[float | None, Usage]:
    """How probable yes is, None for a reply of another word; and what it cost."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": 2,
        "logprobs": True,
        "top_logprobs": yes_no.ALTERNATIVES,
    }
    async with session.post(f"{url}/chat/completions", json=body) as response:
        response.raise_for_status()
        answer = await response.json()
    choice, spent = answer["choices"][0], answer["usage"]
    usage = Usage(
        calls=1,
        prompt_tokens=spent["prompt_tokens"],
        completion_tokens=spent["completion_tokens"],
    )
    reply = choice["message"]["content"]
    if (said := word(reply.rstrip(" .。\n"))) is None:
        return None, usage
    share = yes_no.probability(choice, reply, said=said)
    return float(said) if share is None else share, usage


async def ragas(url: str, model: str, labelled: Sequence[Labelled], at_once: int) -> Found:
    """Verdicts of ragas 0.4.3 in its own environment, so many statements a call.

    Raises ``Unavailable`` where that environment cannot be made.
    """
    python, found = interpreter("ragas"), Found()
    asked = [
        {"context": document, "statements": claims[i : i + at_once]}
        for one in labelled
        for document, claims in one.asked
        for i in range(0, len(claims), at_once)
    ]
    answers = iter(await asyncio.to_thread(_told, python, url, model, asked))
    for one in labelled:
        found.asked += 1
        calls = [next(answers) for _, claims in one.asked for _ in range(0, len(claims), at_once)]
        found.usage += sum((Usage(**call["usage"]) for call in calls), Usage())
        found.firsts += len(calls)
        found.accepted += sum(_is_first(call) for call in calls)
        if any(call["verdicts"] is None for call in calls):
            continue
        found.judged += 1
        verdicts = [bool(verdict) for call in calls for verdict in call["verdicts"]]
        found.hits.append(list(zip(one.labels, verdicts, strict=True)))
    return found


def _is_first(call: dict[str, Any]) -> bool:
    """Whether its client could read the first reply."""
    return call["verdicts"] is not None and call["usage"]["calls"] == 1


def _told(python: Path, url: str, model: str, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "asked.json", Path(folder) / "told.json"
        given.write_text(json.dumps(asked), encoding="utf-8")
        script = Path(__file__).with_name("client_ragas_nli.py")
        command = [str(python), str(script), url, model, str(given), str(out)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"ragas failed: {done.stderr.strip()[-800:]}")
        told: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
        return told
