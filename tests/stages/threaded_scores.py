"""A program: scores from eight threads at once; prints which values they have."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from openai import AsyncOpenAI

from rag_monitor import NoiseSensitivity, llm_factory

THREADS, SCORES = 8, 24


def main(url: str, question: str, response: str, reference: str, *passages: str) -> None:
    """Each score by a scorer, and with a passage, of its own."""
    client = AsyncOpenAI(base_url=url, api_key="none")

    def one(number: int) -> float | None:
        scorer = NoiseSensitivity(llm_factory("judge-model", client=client), mode="irrelevant")
        return scorer.score(
            user_input=question,
            response=response,
            reference=reference,
            retrieved_contexts=[*passages, f"Note {number}."],
        ).value

    with ThreadPoolExecutor(THREADS) as pool:
        print(set(pool.map(one, range(SCORES))))


if __name__ == "__main__":
    main(*sys.argv[1:])
