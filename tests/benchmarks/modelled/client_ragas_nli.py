"""ragas 0.4.3 in an environment of its own: its verdicts on given statements, call by call.

Run as ``client_ragas_nli.py URL MODEL ASKED OUT``; ``ASKED`` is a JSON list of contexts with their
statements, ``OUT`` gets one of verdicts with their usage. ``verdicts`` are null where ragas could
read no reply, or has not answered about every statement.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any


async def judged(url: str, model: str, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask one after the other."""
    # Where it cannot phone home it blocks the event loop for seconds, and calls fail.
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    warnings.simplefilter("ignore")
    import httpx
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import Faithfulness

    usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}

    async def heard(response: Any) -> None:
        spent = json.loads(await response.aread()).get("usage", {})
        usage["calls"] += 1
        for kind in ("prompt_tokens", "completion_tokens"):
            usage[kind] += spent.get(kind, 0)

    http = httpx.AsyncClient(event_hooks={"response": [heard]}, timeout=None)
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http)
    metric = Faithfulness(llm=llm_factory(model, client=client))
    told = []
    for one in asked:
        usage.update(dict.fromkeys(usage, 0))
        verdicts = None
        try:
            found = await metric._create_verdicts(one["statements"], one["context"])
        except Exception as error:  # noqa: BLE001 - whatever ragas makes of a bad reply
            print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        else:
            if len(found.statements) == len(one["statements"]):
                verdicts = [int(each.verdict) for each in found.statements]
        told.append({"verdicts": verdicts, "usage": dict(usage)})
    return told


def main(url: str, model: str, given: Path, out: Path) -> None:
    """Files in and out."""
    asked = json.loads(given.read_text(encoding="utf-8"))
    out.write_text(json.dumps(asyncio.run(judged(url, model, asked))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
