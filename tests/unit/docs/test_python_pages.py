"""The code on the pages about Python runs, and prints what the pages say."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import rag_monitor
from monitor.api.classes import METRIC_CLASSES
from tests.servers.judge_server import JudgeServer, Labels
from tests.stages.beside import served

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("python", "coming-from-ragas", "coming-from-validmind", "coming-from-ragchecker")
#: Of a judge: it changes with each prompt.
_VERSION = re.compile(r"(?<=\w)@[0-9a-f]{6}\b")
_BLOCKS = re.compile(r"^```(python|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)

QUESTION = "How long is the warranty, and what does returning cost?"
RESPONSE = "The warranty lasts 24 months. Returning an item costs 5 euros."
REFERENCE = "The warranty lasts 24 months. Returning an item is free."
PASSAGES = (
    "The warranty lasts 24 months from the day of delivery.",
    "Price list of 2019: returning an item costs 5 euros.",
)
CLAIMS = ("The warranty lasts 24 months.", "Returning an item costs 5 euros.")
FREE = "Returning an item is free."

#: Which model a provider says has answered.
SNAPSHOTS = {"gpt-4o-mini": "gpt-4o-mini-2024-07-18"}

CHINESE = (
    (
        "保修期多长？退货要多少钱？",
        "保修期为24个月。退货需支付5欧元。",
        "保修期为24个月。退货免费。",
    ),
    ("自交货之日起保修期为24个月。", "2019年价目表：退货需支付5欧元。"),
    ("保修期为24个月。", "退货需支付5欧元。"),
    "退货免费。",
)


def warranty(
    texts: tuple[str, str, str], passages: tuple[str, str], claims: tuple[str, str], free: str
) -> Labels:
    """Of two claims the second is wrong, and stands in the second passage."""
    question, response, reference = texts
    return Labels(
        claims={(question, response): claims, (question, reference): (claims[0], free)},
        supported=frozenset(
            {
                (claims[0], response),
                (claims[1], response),
                (claims[0], reference),
                (free, reference),
                (claims[0], passages[0]),
                (claims[1], passages[1]),
            }
        ),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    """A model that knows the example of the pages."""
    labels = warranty((QUESTION, RESPONSE, REFERENCE), PASSAGES, CLAIMS, FREE)
    with served(JudgeServer(labels | warranty(*CHINESE), snapshots=SNAPSHOTS)) as found:
        yield found


@pytest.mark.parametrize("page", [*PAGES, "quick-start.zh"])
def test_the_code_prints_what_the_page_says(
    page: str, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block after block, as somebody types them in; the model is one that knows the example."""
    monkeypatch.setenv("RAG_MONITOR_JUDGE__KIND", "llm")
    monkeypatch.setenv("RAG_MONITOR_JUDGE__MODEL", "openai/gpt-4o-mini")
    monkeypatch.setenv("RAG_MONITOR_JUDGE__API_BASE", server.url)
    monkeypatch.setenv("RAG_MONITOR_JUDGE__API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    printed, scope, expected = io.StringIO(), dict[str, Any](), list[str]()
    for language, block in _BLOCKS.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        if language == "text":
            expected.append(block)
            continue
        with redirect_stdout(printed):
            exec(compile(block, f"{page}.md", "exec"), scope)
    said = printed.getvalue()
    if page == "python":
        expected.pop()  # what a failing test says, which stands in a test of its own
    assert expected
    assert _VERSION.sub("@…", said) == _VERSION.sub("@…", "".join(expected))


def test_every_public_name_is_on_the_page() -> None:
    """Classes of metrics are named after the metrics, all of which docs/metrics.md has."""
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    names = set(rag_monitor.__all__) - METRIC_CLASSES.keys() - {"__version__"}
    assert {name for name in names if f"`{name}`" not in page} == set()
