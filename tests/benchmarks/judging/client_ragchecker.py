"""RAGChecker 0.1.9 in an environment of its own: all its metrics with the joint check.

It has no concurrency of interactions: its batches of calls are as large as the concurrency asked.
With ``--variant warm`` it is given the claims of the references.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tests.benchmarks.judging.harness import Judge, Scores, main

#: Imported by its other checkers, which the joint check does not use; gigabytes with their models.
STUBBED = ("nltk", "pytorch_lightning", "sklearn", "spacy", "torch", "transformers")
NAMES = {
    "precision": "claim_precision",
    "recall": "claim_recall",
    "f1": "claim_f1",
    "claim_recall": "context_recall",
    "context_precision": "context_precision",
    "context_utilization": "context_utilization",
    "noise_sensitivity_in_relevant": "noise_sensitivity_relevant",
    "noise_sensitivity_in_irrelevant": "noise_sensitivity_irrelevant",
    "hallucination": "hallucination",
    "self_knowledge": "self_knowledge",
    "faithfulness": "faithfulness_by_passage",
}
"""RAGChecker's names and ours."""


class _Nothing:
    """What stands for a class: can be derived from, made, and put around a function."""

    def __call__(self, function: Any) -> Any:
        return function


class _Stub(ModuleType):
    """A module that has every name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_Nothing,), {})


class _Stubs(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.split(".")[0] in STUBBED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def make(options: argparse.Namespace) -> Judge:
    """The client."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    sys.meta_path.insert(0, _Stubs())
    from loguru import logger
    from ragchecker import RAGChecker, RAGResults
    from ragchecker.metrics import all_metrics

    logger.remove()
    known: dict[tuple[str, str], list[list[str]]] = {}

    def judge(items: list[dict[str, Any]], concurrency: int) -> Scores:
        base = {"extractor_api_base": f"{options.url}/v1", "checker_api_base": f"{options.url}/v1"}
        sizes = {"batch_size_extractor": concurrency, "batch_size_checker": concurrency}
        checker = RAGChecker("openai/gpt", "openai/gpt", openai_api_key="none", **base, **sizes)
        results = RAGResults.from_dict({"results": [_as_logged(item) for item in items]})
        for result in results.results:
            result.gt_answer_claims = known.get((result.query, result.gt_answer))
        checker.evaluate(results, all_metrics)
        if options.variant == "warm":
            known.update({(r.query, r.gt_answer): r.gt_answer_claims for r in results.results})
        return {
            result.query_id: {NAMES[name]: float(x) for name, x in result.metrics.items()}
            for result in results.results
        }

    return judge


def _as_logged(item: dict[str, Any]) -> dict[str, Any]:
    passages = [{"doc_id": str(i), "text": t} for i, t in enumerate(item["retrieved_contexts"])]
    return {
        "query_id": item["interaction_id"],
        "query": item["user_input"],
        "gt_answer": item["reference"],
        "response": item["response"],
        "retrieved_context": passages,
    }


if __name__ == "__main__":
    main(make)
