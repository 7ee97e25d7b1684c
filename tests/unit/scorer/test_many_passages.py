"""A record of many passages is made and cut in a thread: meanwhile other interactions go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from monitor.judge.offline.judge import OfflineJudge
from monitor.runtime.threads import Threads
from monitor.scorer.scorer import MANY_PASSAGES
from tests.stages.producers import Memory
from tests.stages.scoring import TEXTS, run


class NotingThreads(Threads):
    """Threads that note how many works they were given."""

    given = 0

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One more."""
        self.given += 1
        return await super().run(function, *arguments)


@pytest.mark.parametrize(("passages", "works"), [(MANY_PASSAGES - 1, 0), (MANY_PASSAGES, 2)])
async def test_a_record_of_many_passages_is_made_in_a_thread(passages: int, works: int) -> None:
    """It is built there, and cut to the topic's size; one of few passages is not worth a thread."""
    threads, written = NotingThreads("redaction"), Memory()
    value = json.dumps({**TEXTS, "retrieved_contexts": ["A."] * passages}).encode()
    assert await run(value, OfflineJudge(), written, threads) == "scored"
    assert [sent.topic for sent in written.sent] == ["scores"]
    assert threads.given == works
