"""Scores from several threads at once, as in a pool of a web server."""

from __future__ import annotations

import subprocess
import sys

from tests.servers.judge_server import JudgeServer
from tests.stages.beside import served
from tests.stages.judge_case import LABELS, PASSAGES, QUESTION, REFERENCE, RESPONSE

_CODE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from openai import AsyncOpenAI
from rag_monitor import NoiseSensitivity, llm_factory

url, question, response, reference, *passages = sys.argv[1:]

def one(number):
    client = AsyncOpenAI(base_url=url, api_key="none")
    scorer = NoiseSensitivity(llm_factory("judge-model", client=client), mode="irrelevant")
    return scorer.score(user_input=question, response=response, reference=reference,
                        retrieved_contexts=[*passages, f"Note {number}."]).value

with ThreadPoolExecutor(8) as pool:
    print(set(pool.map(one, range(24))))
"""


def test_eight_threads_print_nothing() -> None:
    """Each has an event loop of its own; nothing of the library's worker is on standard error."""
    with served(JudgeServer(LABELS)) as server:
        texts = [server.url, QUESTION, RESPONSE, REFERENCE, *PASSAGES]
        found = subprocess.run(
            [sys.executable, "-c", _CODE, *texts],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    assert (found.stdout, found.stderr) == ("{0.5}\n", "")
