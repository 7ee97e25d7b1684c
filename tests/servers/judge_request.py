"""What the simulated judge accepts: exactly the requests that the wire format describes.

Written from the contract and from nothing else: a second opinion on ``monitor.judge``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

Task = Literal["extract_claims", "verify_claims", "quote_evidence", "judge_relevance", "judge_pair"]
TASKS: Mapping[Task, str] = {
    "extract_claims": "extract",
    "verify_claims": "verify",
    "quote_evidence": "quote",
    "judge_relevance": "relevance",
    "judge_pair": "pair",
}
KEYS: Mapping[Task, list[str]] = {
    "extract_claims": ["task", "question", "text"],
    "verify_claims": ["task", "n", "question", "documents", "claims"],
    "quote_evidence": ["task", "n", "question", "documents", "claims", "pairs"],
    "judge_relevance": ["task", "n", "question", "documents"],
    "judge_pair": ["task", "question", "document", "claim"],
}
# Parameters of a completion that carry no traffic text.
BODY_KEYS = {"model", "messages", "temperature", "top_p", "seed", "stream", "response_format"}
BODY_KEYS |= {"max_tokens", "max_completion_tokens", "reasoning_effort"}
BODY_KEYS |= {"logprobs", "top_logprobs"}
# Whose messages hold texts, and no documents by name.
PLAIN = ("extract_claims", "judge_pair")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")


class BadRequest(Exception):
    """The request breaks the wire format, or asks what no label answers; answered with 400."""


@dataclass(frozen=True)
class Request:
    """A valid request. Two with equal ``conversation`` ask the same; one may be a re-ask."""

    task: Task
    content: Mapping[str, Any]
    complaint: str | None
    conversation: str
    prompt_tokens: int

    @property
    def nonce(self) -> int | None:
        """The number to be repeated in the reply; None for an extraction."""
        return self.content.get("n")

    def mentions(self, text: str) -> bool:
        """Whether ``text`` stands in the question, a text, a document or a claim."""
        return any(text in found for found in _texts(self.content))


@cache
def shipped_prompts() -> Mapping[Task, frozenset[str]]:
    """The text of the shipped prompt files by task, told apart by their file names."""
    files = resources.files("monitor.judge.pipeline").joinpath("prompts").iterdir()
    texts = {f.name: f.read_bytes().decode() for f in files if f.name.endswith(".md")}
    return {
        task: frozenset(text for name, text in texts.items() if word in name)
        for task, word in TASKS.items()
    }


def read_request(body: Mapping[str, Any], prompts: Mapping[Task, frozenset[str]]) -> Request:
    """The request in a chat completion's body; raises ``BadRequest`` for anything else."""
    system, turns, user = _messages(body)
    content, complaint = _read_object(user), None
    task = _task(content)
    if system not in prompts[task]:
        raise BadRequest(f"system message: not byte for byte a shipped prompt of {task}")
    if "complaint" in content:
        if not turns:
            raise BadRequest("complaint: before it stand the request and the reply to it")
        *turns, (asked, _) = turns
        complaint, content = _read_objection(content, asked, task), _read_object(asked)
    _read_content(task, content)
    for example, reply in turns:
        _read_content(task, _read_object(example))
        _read_object(reply)
    _check_format(body.get("response_format"), task, content)
    hashed = hashlib.sha256(json.dumps([system, content]).encode()).hexdigest()[:16]
    size = sum(len(message["content"]) for message in body["messages"])
    return Request(task, content, complaint, hashed, size // 4)


def _messages(body: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]], str]:
    """System message, turns of user and assistant, last user message."""
    if unknown := sorted(set(body) - BODY_KEYS):
        raise BadRequest(f"body: unexpected keys {unknown}: traffic text may stand nowhere else")
    if body.get("stream"):
        raise BadRequest("body: no streaming")
    match body:
        case {
            "model": str(),
            "messages": [
                {"role": "system", "content": str(system)},
                *turns,
                {"role": "user", "content": str(user)},
            ] as messages,
        } if all(len(message) == 2 for message in messages):
            pairs = list(zip(turns[::2], turns[1::2], strict=False))
            if len(turns) == 2 * len(pairs) and all(map(_is_turn, pairs)):
                return system, [(one["content"], other["content"]) for one, other in pairs], user
    raise BadRequest("messages: expected a system message, turns, a user message of plain text")


def _is_turn(pair: tuple[Any, Any]) -> bool:
    roles = [message.get("role") for message in pair]
    texts = [message.get("content") for message in pair]
    return roles == ["user", "assistant"] and all(isinstance(t, str) and t for t in texts)


def _read_objection(found: Mapping[str, Any], asked: str, task: Task) -> str:
    """What was wrong with a reply, in a message that holds no text of the request ``asked``."""
    content = _read_object(asked)
    if content.get("task") != task:
        raise BadRequest("complaint: about a reply to another task")
    number = ["n"] if "n" in content else []
    if list(found) != ["task", *number, "complaint", "expected"]:
        raise BadRequest(f"user message: keys {list(found)}, expected those of a complaint")
    complaint, expected = found["complaint"], found["expected"]
    if not isinstance(complaint, str):
        raise BadRequest("complaint: expected a string")
    keys = "yes or no" if task == "judge_pair" else _reply_keys(task, content)
    shown = expected if isinstance(expected, str) else list(expected)
    if found.get("n") != content.get("n") or shown != keys:
        raise BadRequest("expected: other keys, or another number, than the reply must have")
    _check_complaint(complaint, content)
    _check_complaint(json.dumps(expected, ensure_ascii=False), content)
    return complaint


def _reply_keys(task: Task, content: Mapping[str, Any]) -> list[str]:
    if task == "extract_claims":
        return ["claims"]
    return ["n", *content.get("pairs", content.get("claims", ["relevant"]))]


def _check_format(found: object, task: Task, content: Mapping[str, Any]) -> None:
    """A schema names keys and types of the reply, hence ids, and no texts."""
    if found is None or (found == {"type": "json_object"} and task != "judge_pair"):
        return
    if task == "judge_pair":
        raise BadRequest("response_format: the reply is one word")
    replies = _reply_keys(task, content)
    match found:
        case {
            "type": "json_schema",
            "json_schema": {
                "name": str(name),
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": dict(properties),
                    "required": list(required),
                    "additionalProperties": False,
                },
            },
        } if name == task and list(properties) == required == replies and _types(properties):
            return
    raise BadRequest("response_format: neither json_object nor a schema of exactly this reply")


def _types(properties: Mapping[str, Any]) -> bool:
    listed = {"type": "array", "items": {"type": "string"}}
    types = {"n": {"type": "integer"}, "claims": listed}
    # A pattern and a number say no more than documents and nonce of the last message do.
    plain = {
        key: {name: value for name, value in kind.items() if name not in ("pattern", "enum")}
        for key, kind in properties.items()
    }
    return all(kind == types.get(key, {"type": "string"}) for key, kind in plain.items())


def _read_object(text: str) -> dict[str, Any]:
    for match in _ESCAPE.finditer(text):
        # Lone surrogates have no UTF-8, so they alone may be escaped beyond ASCII.
        code = int(match[1] or "0", 16)
        if code > 0x7F and not 0xD800 <= code <= 0xDFFF:
            raise BadRequest(f"user message: {match[0]} is escaped, expected raw UTF-8")
    try:
        found = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise BadRequest(f"user message: not one JSON object: {error}") from error
    if not isinstance(found, dict) or text != text.strip():
        raise BadRequest("user message: expected one JSON object and nothing around it")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise BadRequest(f"user message: a key stands twice in {[key for key, _ in pairs]}")
    return dict(pairs)


def _task(content: Mapping[str, Any]) -> Task:
    for task in TASKS:
        if content.get("task") == task:
            return task
    raise BadRequest(f"task: found {content.get('task')!r}, expected one of {list(TASKS)}")


def _read_content(task: Task, content: Mapping[str, Any]) -> None:
    keys = list(content)
    if keys != KEYS[task]:
        raise BadRequest(f"user message: keys {keys}, expected {KEYS[task]} in this order")
    for key in {"question", "text", "document", "claim"} & set(keys):
        if not isinstance(content[key], str):
            raise BadRequest(f"{key}: expected a string")
    if task not in PLAIN:
        _check_documents(content)
    if task in ("verify_claims", "quote_evidence"):
        _check_claims(content)
    if task == "judge_relevance" and not all(map(str.isdigit, content["documents"])):
        raise BadRequest("documents: expected passages only")
    if task == "quote_evidence":
        _check_pairs(content)


def _check_documents(content: Mapping[str, Any]) -> None:
    nonce = content["n"]
    if type(nonce) is not int or not 100 <= nonce <= 999:
        raise BadRequest(f"n: found {nonce!r}, expected an integer 100…999")
    # Passages stand in a permuted order; the texts of the interaction follow them.
    documents = _ids("documents", content["documents"], "([1-9][0-9]*)|(A)|(R)")
    groups = [group for group, _ in documents]
    if groups != sorted(groups):
        raise BadRequest(f"documents: {list(content['documents'])}: expected passages, A, R")


def _check_claims(content: Mapping[str, Any]) -> None:
    claims = _ids("claims", content["claims"], "c([1-9][0-9]*)|r([1-9][0-9]*)|(A)")
    if claims != sorted(claims):
        raise BadRequest(f"claims: {list(content['claims'])}: expected rising c*, then r*, then A")
    whole = "A" in content["claims"]
    if whole and (content["task"] != "verify_claims" or "A" not in content["documents"]):
        raise BadRequest("claims.A: only in a verification, and beside the answer")


def _check_pairs(content: Mapping[str, Any]) -> None:
    pairs = content["pairs"]
    if not isinstance(pairs, list) or not pairs or len(set(pairs)) != len(pairs):
        raise BadRequest("pairs: expected a list of distinct pairs that is not empty")
    asked = [str(pair).partition(" ") for pair in pairs]
    claims, documents = {pair[0] for pair in asked}, {pair[2] for pair in asked}
    if claims != set(content["claims"]) or documents != set(content["documents"]):
        raise BadRequest("pairs: they name other claims or documents than are there")


def _ids(field: str, found: object, pattern: str) -> list[tuple[int, int]]:
    """The ids as (which alternative of the pattern, number)."""
    if not isinstance(found, dict) or not found:
        raise BadRequest(f"{field}: expected a JSON object that is not empty")
    ids = []
    for key, text in found.items():
        match = re.fullmatch(pattern, key)
        if match is None or not isinstance(text, str):
            raise BadRequest(f"{field}.{key}: not an id with a text")
        group = match.lastindex or 0
        ids.append((group, int(match[group]) if match[group].isdigit() else 0))
    return ids


def _check_complaint(complaint: str, content: Mapping[str, Any]) -> None:
    # Short texts ("yes", "c1") may stand in any complaint by chance.
    if not complaint or any(len(text) >= 12 and text in complaint for text in _texts(content)):
        raise BadRequest("complaint: empty, or it repeats a text; it names ids and pairs only")


def _texts(content: Mapping[str, Any]) -> list[str]:
    documents, claims = content.get("documents", {}), content.get("claims", {})
    alone = [content.get(key, "") for key in ("text", "document", "claim")]
    return [content["question"], *alone, *documents.values(), *claims.values()]
