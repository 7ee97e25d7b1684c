"""What a run costs whose model has no price: the same words, whichever way it was started."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.evaluate.summary import Summary, one_line
from monitor.records import Usage
from rag_monitor import evaluate
from tests.servers.judge_server import JudgeServer
from tests.stages.beside import served
from tests.stages.command import rag_monitor
from tests.stages.judge_case import LABELS, PASSAGES, QUESTION, REFERENCE, RESPONSE

ROW: dict[str, Any] = {
    "user_input": QUESTION,
    "response": RESPONSE,
    "reference": REFERENCE,
    "retrieved_contexts": list(PASSAGES),
}
SUITE = {
    "tests": [
        {
            "vars": {"query": QUESTION, "response": RESPONSE, "contextChunks": list(PASSAGES)},
            "assert": [{"type": "faithfulness", "threshold": 0.0}],
        }
    ]
}


def test_an_unknown_price_is_no_zero() -> None:
    """It is said in words; a price of 0 is a price, and what was paid is known."""
    usage = Usage(calls=3, prompt_tokens=10, completion_tokens=4)
    unknown = Summary(usage=usage, has_price=False)
    assert unknown.usd is None
    assert "4 completion tokens, price not known" in one_line(unknown)
    assert "4 completion tokens, 0.0000 USD" in one_line(Summary(usage=usage))
    paid = usage.model_copy(update={"usd": 0.5})
    assert Summary(usage=paid, has_price=False).usd == 0.5


@pytest.fixture(scope="module")
def environ() -> Iterator[dict[str, str]]:
    """A model that a server plays, of which no list knows a price."""
    with served(JudgeServer(LABELS)) as server:
        yield {
            "RAG_MONITOR_JUDGE__KIND": "llm",
            "RAG_MONITOR_JUDGE__MODEL": "openai/mine",
            "RAG_MONITOR_JUDGE__API_BASE": server.url,
            "RAG_MONITOR_JUDGE__API_KEY": "none",
        }


@pytest.mark.parametrize("way", ["file", "stdin", "suite"])
def test_every_command_says_so(way: str, environ: dict[str, str], tmp_path: Path) -> None:
    """A file, standard input and a suite; ``--json`` of ``evaluate`` has null."""
    rows, suite = json.dumps(ROW), tmp_path / "suite.yaml"
    (tmp_path / "in.jsonl").write_text(rows, encoding="utf-8")
    suite.write_text(json.dumps(SUITE), encoding="utf-8")
    command = {
        "file": ["evaluate", str(tmp_path / "in.jsonl"), "--json"],
        "stdin": ["evaluate", "-", "--json"],
        "suite": ["suite", str(suite)],
    }[way]
    done = rag_monitor(*command, environ=environ, given=rows)
    assert done.returncode == 0, done.stderr
    assert "completion tokens, price not known" in done.stderr
    assert "0.0000 USD" not in done.stderr
    if way != "suite":
        assert json.loads(done.stdout)["usage"]["usd"] is None


@pytest.mark.parametrize(("price", "usd"), [(None, None), ("0", 0.0), ("1", 0.001)])
def test_python_says_so(
    price: str | None, usd: float | None, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``usd`` of a result is None; a price of 0 is a price."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    if price is not None:
        monkeypatch.setenv("RAG_MONITOR_JUDGE__PRICE__INPUT_USD_PER_MILLION", price)
        monkeypatch.setenv("RAG_MONITOR_JUDGE__PRICE__OUTPUT_USD_PER_MILLION", price)
    result = evaluate([ROW], ["faithfulness", "claim_recall"], show_progress=False)
    assert result.usage.calls > 0
    assert result.usd == (usd if not usd else pytest.approx(result.usage.tokens / 1e6))


def test_who_asks_no_model_pays_nothing() -> None:
    """The offline judge costs 0 USD, and that is known."""
    assert evaluate([ROW], ["faithfulness"], llm="offline", show_progress=False).usd == 0.0
