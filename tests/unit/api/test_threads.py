"""Scores from several threads at once, as in a pool of a web server."""

from __future__ import annotations

from tests.servers.judge_server import JudgeServer
from tests.stages.beside import served
from tests.stages.command import rag_monitor
from tests.stages.judge_case import LABELS, PASSAGES, QUESTION, REFERENCE, RESPONSE


def test_eight_threads_print_nothing() -> None:
    """Each has an event loop of its own; nothing of the library's worker is on standard error."""
    with served(JudgeServer(LABELS)) as server:
        texts = [server.url, QUESTION, RESPONSE, REFERENCE, *PASSAGES]
        found = rag_monitor(*texts, module="tests.stages.threaded_scores")
    assert (found.returncode, found.stdout, found.stderr) == (0, "{0.5}\n", "")
