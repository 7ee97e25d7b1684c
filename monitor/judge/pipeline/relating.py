"""The wire format of relevance: which passages are relevant to the question. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from monitor.errors import ReplyRejected
from monitor.judge.pipeline import parsing
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.ports import Task

ANSWER = "relevant"
"""The key of a reply that holds its tokens, one a document."""


@dataclass(frozen=True, slots=True)
class RelevanceRequest:
    """Ask which of ``documents``, named ``"1"…"n"``, are relevant to ``question``."""

    task: ClassVar[Task] = "judge_relevance"
    nonce: int
    question: str
    documents: Mapping[str, str]

    def message(self, complaint: str | None = None) -> str:
        """The user message; ``complaint`` is what was wrong with the previous reply."""
        body = {
            "task": self.task,
            "n": self.nonce,
            "question": self.question,
            "documents": dict(self.documents),
        }
        return parsing.dump(body, complaint)

    def read(self, reply: str) -> dict[str, bool]:
        """The verdicts of a reply, by document.

        Raises ``ReplyRejected`` unless it answers exactly the documents asked, in order.
        """
        parsing.refuse_unterminated(reply)
        said = parsing.keyed(reply, self.nonce, [ANSWER])[ANSWER]
        if not isinstance(said, str):
            raise ReplyRejected(f"{ANSWER}: the value must be a string", kind=Complaint.VALUES)
        return parsing.answered(said.split(), list(self.documents))
