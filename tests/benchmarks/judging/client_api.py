"""``rag_monitor.evaluate``, as a notebook calls it, with the settings of the environment.

``--variant METRICS``: which it is asked for; without them, the whole catalogue.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from tests.benchmarks.judging.client_ours import MODEL
from tests.benchmarks.judging.harness import Judge, Scores, main


def make(options: argparse.Namespace) -> Judge:
    """The client; each call is an ``evaluate`` of its own, with a loop and connections of its own.

    Several calls share what is cached in the process, as in a notebook.
    """
    os.environ["RAG_MONITOR_JUDGE__KIND"] = "llm"
    os.environ["RAG_MONITOR_JUDGE__MODEL"] = MODEL
    os.environ["RAG_MONITOR_JUDGE__API_BASE"] = f"{options.url}/v1"
    metrics = options.variant.split(",") if options.variant else None

    def judge(items: list[dict[str, Any]], concurrency: int) -> Scores:
        from rag_monitor import evaluate

        os.environ["RAG_MONITOR_JUDGE__CONCURRENCY"] = str(concurrency)
        found = evaluate(items, metrics, show_progress=False)
        ids = [item["interaction_id"] for item in items]
        return dict(zip(ids, found.scores, strict=True))

    return judge


if __name__ == "__main__":
    main(make)
