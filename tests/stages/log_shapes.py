"""Six logs of shapes that people have, of the same turns, each with its mapping."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)

Record = dict[str, Any]


@dataclass(frozen=True)
class LoggedTurn:
    """What is true of the ``n``-th turn, whatever shape it is logged in."""

    n: int

    @property
    def question(self) -> str:
        """Another one each."""
        return f"How many months does the warranty of item {self.n} last?"

    @property
    def answer(self) -> str:
        """Right."""
        return f"The warranty of item {self.n} lasts {self.n + 12} months."

    @property
    def passages(self) -> list[tuple[str, str]]:
        """Ids and texts."""
        return [
            (f"kb-{self.n}#1", f"Item {self.n} has a warranty of {self.n + 12} months."),
            (f"kb-{self.n}#2", "Returning an item costs 5 euros."),
        ]


@dataclass(frozen=True)
class LogShape:
    """``moved`` changes a field of a record, so that ``mapping`` finds nothing and says ``error``.

    ``has_ids``: of passages. ``joined``: all passages are one text. ``has_reference``: the answer
    is logged once more as one.
    """

    name: str
    record: Callable[[LoggedTurn], Record]
    mapping: Record
    moved: Callable[[Record], Any]
    error: str
    has_ids: bool = True
    joined: bool = False
    has_reference: bool = True

    def value(self, n: int) -> bytes:
        """The bytes of the ``n``-th record."""
        return json.dumps(self.record(LoggedTurn(n)), ensure_ascii=False).encode()

    def moved_value(self, n: int) -> bytes:
        """The same with its field moved."""
        record = deepcopy(self.record(LoggedTurn(n)))
        self.moved(record)
        return json.dumps(record).encode()

    def native(self, n: int) -> Record:
        """The same turn in the native format: the texts that decide scores."""
        turn = LoggedTurn(n)
        texts = [text for _, text in turn.passages]
        return {
            "user_input": turn.question,
            "response": turn.answer,
            "retrieved_contexts": [" ".join(texts)] if self.joined else texts,
            "reference": turn.answer if self.has_reference else None,
        }


def _chat(turn: LoggedTurn) -> Record:
    return {
        "id": f"chatcmpl-{turn.n}",
        "created": int(NOON.timestamp()) - turn.n,
        "request": {
            "model": "gpt-4o",
            "messages": [
                {"role": "system", "content": "Answer from the documents."},
                {"role": "user", "content": "Hello!"},
                {"role": "assistant", "content": "Hello, how can I help?"},
                {"role": "user", "content": [{"type": "text", "text": turn.question}]},
            ],
        },
        "response": {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": turn.answer}}],
            "usage": {"total_tokens": 100 + turn.n},
        },
        "documents": [{"doc_id": id, "content": text} for id, text in turn.passages],
        "expected_output": turn.answer,
    }


def _trace(turn: LoggedTurn) -> Record:
    found = [{"pageContent": t, "metadata": {"id": id}} for id, t in turn.passages]
    return {
        "id": f"trace-{turn.n}",
        "timestamp": "2026-11-20T11:59:00.000Z",
        "name": "rag",
        "userId": f"u-{turn.n}",
        "sessionId": f"s-{turn.n}",
        "release": "v12",
        "input": {"question": turn.question},
        "output": {"answer": turn.answer},
        "tags": ["prod"],
        "observations": [
            {"type": "SPAN", "name": "retrieval", "input": turn.question, "output": found},
            {"type": "GENERATION", "name": "llm", "model": "gpt-4o", "output": turn.answer},
        ],
        "scores": [],
    }


def _run(turn: LoggedTurn) -> Record:
    found = [
        {"page_content": text, "metadata": {"source": id}, "type": "Document"}
        for id, text in turn.passages
    ]
    return {
        "id": f"00000000-0000-0000-0000-{turn.n:012}",
        "run_type": "chain",
        "start_time": "2026-11-20T11:59:00.123456",
        "session_name": "support-bot",
        "inputs": {"question": turn.question},
        "outputs": {"answer": turn.answer, "context": found},
        "extra": {"metadata": {"thread_id": f"t-{turn.n}", "revision_id": "abc"}},
    }


def _row(turn: LoggedTurn) -> Record:
    return {
        "row_id": turn.n,
        "asked_at": "2026-11-20T11:59:00Z",
        "question": turn.question,
        "answer": turn.answer,
        "contexts": json.dumps([text for _, text in turn.passages]),
        "ground_truth": turn.answer,
    }


def _by_id(turn: LoggedTurn) -> Record:
    return {
        "request_id": f"r-{turn.n}",
        "query": turn.question,
        "result": {"text": turn.answer, "model_name": "gpt-4o"},
        "docs": dict(turn.passages),
        "gold_answer": turn.answer,
    }


def _plain(turn: LoggedTurn) -> Record:
    return {
        "prompt": turn.question,
        "completion": turn.answer,
        "context": " ".join(text for _, text in turn.passages),
        "expected": turn.answer,
        "model": "gpt-4o",
    }


def _renamed(*path: str | int, to: str) -> Callable[[Record], None]:
    def change(record: Any) -> None:
        *way, last = path
        for part in way:
            record = record[part]
        record[to] = record.pop(last)

    return change


SHAPES = (
    LogShape(
        "chat completions log",
        _chat,
        {
            "interaction_id": "id",
            "timestamp": "created",
            "user_input": "request.messages",
            "response": "response.choices[0].message",
            "retrieved_contexts": {"from": "documents", "text": "content", "id": "doc_id"},
            "reference": "expected_output",
            "model": "request.model",
        },
        _renamed("documents", 1, "content", to="body"),
        "retrieved_contexts.1.text (content): found nothing, expected a value; "
        "the passage has: doc_id, body",
    ),
    LogShape(
        "trace export",
        _trace,
        {
            "interaction_id": "id",
            "timestamp": "timestamp",
            "user_input": "input.question",
            "response": "output.answer",
            "retrieved_contexts": {
                "from": "observations[?name=='retrieval'].output | [0]",
                "text": "pageContent",
                "id": "metadata.id",
            },
            "model": "observations[?type=='GENERATION'].model | [0]",
            "user": "userId",
            "session": "sessionId",
            "deployment": "release",
        },
        _renamed("output", "answer", to="text"),
        "response (output.answer): found nothing, expected a value; output has: text",
        has_reference=False,
    ),
    LogShape(
        "run of a chain",
        _run,
        {
            "timezone": "UTC",
            "interaction_id": "id",
            "timestamp": "start_time",
            "application": "session_name",
            "user_input": "inputs.question",
            "response": "outputs.answer",
            "retrieved_contexts": {
                "from": "outputs.context",
                "text": "page_content",
                "id": "metadata.source",
            },
            "session": "extra.metadata.thread_id",
            "attributes": "extra.metadata",
        },
        _renamed("inputs", "question", to="query"),
        "user_input (inputs.question): found nothing, expected a value; inputs has: query",
        has_reference=False,
    ),
    LogShape(
        "flat row",
        _row,
        {
            "parse": ["contexts"],
            "interaction_id": "row_id",
            "timestamp": "asked_at",
            "user_input": "question",
            "response": "answer",
            "retrieved_contexts": "contexts",
            "reference": "ground_truth",
        },
        _renamed("contexts", to="passages"),
        "parse contexts: found nothing, expected a value; the record has: row_id, asked_at, "
        "question, answer, ground_truth, passages",
        has_ids=False,
    ),
    LogShape(
        "documents as mapping",
        _by_id,
        {
            "interaction_id": "request_id",
            "user_input": "query",
            "response": "result.text",
            "retrieved_contexts": "docs",
            "reference": "gold_answer",
            "attributes": {"model": "result.model_name"},
        },
        _renamed("docs", to="documents"),
        "retrieved_contexts (docs): found nothing, expected a value; "
        "the record has: request_id, query, result, gold_answer, documents",
    ),
    LogShape(
        "plain-string context",
        _plain,
        {
            "user_input": "prompt",
            "response": "completion",
            "retrieved_contexts": "context",
            "reference": "expected",
            "attributes": "*",
        },
        _renamed("expected", to="label"),
        "reference (expected): found nothing, expected a value; "
        "the record has: prompt, completion, context, model, label",
        has_ids=False,
        joined=True,
    ),
)
