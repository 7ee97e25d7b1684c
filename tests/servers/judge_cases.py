"""One interaction with its labels, and a client that asks the simulated judge about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.servers.judge_labels import Labels
from tests.servers.judge_reply import Reply, honest_reply
from tests.servers.judge_request import Request, Task, read_request, shipped_prompts
from tests.servers.judge_server import JudgeServer

QUESTION = "Where is Acme based?"
FIRST, SECOND = "Acme was founded in Portugal.", "Acme never moved. 阿克梅公司"
RESPONSE = "Acme is based in Portugal."
REFERENCE = "Acme is still based where it was founded."
C1, R1 = "Acme never moved its seat.", "Acme is based in the country of its founding."
LABELS = Labels(
    claims={(QUESTION, RESPONSE): (C1,), (QUESTION, REFERENCE): (R1,), ("?", "空"): ()},
    supported=frozenset([(C1, SECOND), (C1, RESPONSE), (R1, REFERENCE)]),
    together=frozenset([(R1, (FIRST, SECOND))]),
)
EXTRACT: dict[str, Any] = {"task": "extract_claims", "question": QUESTION, "text": RESPONSE}
VERIFY: dict[str, Any] = {
    "task": "verify_claims",
    "n": 742,
    "question": QUESTION,
    "documents": {"1": FIRST, "2": SECOND, "A": RESPONSE, "R": REFERENCE},
    "claims": {"c1": C1, "r1": R1},
}
VERIFY_REPLY = '{"n":742,"c1":"1n 2y Rn Ay","r1":"1n 2n An Ry +"}'


@dataclass(frozen=True)
class Answer:
    """Status, headers and JSON body of a response."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What the judge said."""
        return str(self.body["choices"][0]["message"]["content"])


def system(task: Task) -> str:
    """A shipped prompt of the task."""
    return sorted(shipped_prompts()[task])[0]


def chat(content: Mapping[str, Any] | str, **more: Any) -> dict[str, Any]:
    """A chat completion's body that asks for ``content`` as the contract says."""
    verify = "verify" in (content if isinstance(content, str) else content["task"])
    user = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    messages = [
        {"role": "system", "content": system("verify_claims" if verify else "extract_claims")},
        {"role": "user", "content": user},
    ]
    return {"model": "sim", "messages": messages, **more}


def objected(asked: Mapping[str, Any], reply: str, **change: Any) -> dict[str, Any]:
    """A body that asks once more: the same messages, the reply, and what was wrong with it."""
    body, number = chat(asked), {"n": asked["n"]} if "n" in asked else {}
    keys = ["n", *asked["claims"]] if "claims" in asked else ["claims"]
    again = {
        "task": asked["task"],
        **number,
        "complaint": "c1 is missing",
        "expected": {**dict.fromkeys(keys, ""), **number},
    }
    own = {"role": "assistant", "content": reply}
    last = {"role": "user", "content": json.dumps({**again, **change}, ensure_ascii=False)}
    return {**body, "messages": [*body["messages"], own, last]}


def request_and_reply(content: Mapping[str, Any]) -> tuple[Request, Reply]:
    """The request as the server reads it, and its honest answer."""
    request = read_request(chat(content), shipped_prompts())
    return request, honest_reply(request, LABELS)


async def ask(server: JudgeServer, content: Mapping[str, Any] | str, **more: Any) -> Answer:
    """Ask over HTTP."""
    return await post(server, chat(content, **more))


async def post(server: JudgeServer, body: Mapping[str, Any]) -> Answer:
    """Send a body as it is."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/chat/completions", json=body) as response,
    ):
        return Answer(response.status, response.headers, await response.json())
