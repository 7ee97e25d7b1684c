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

    @property
    def shape(self) -> str:
        """Which instruction file it goes with: one passage or several."""
        return "several" if len(self.documents) > 1 else "one"

    @property
    def tokens(self) -> int:
        """How long its reply may be: twice of what it takes."""
        return 2 * (16 + 8 + 4 * len(self.documents))

    def message(self) -> str:
        """The user message."""
        return parsing.encoded(
            {
                "task": self.task,
                "n": self.nonce,
                "question": self.question,
                "documents": dict(self.documents),
            }
        )

    def expected(self) -> dict[str, object]:
        """The reply without its verdicts."""
        return {"n": self.nonce, ANSWER: parsing.blanks(self.documents)}

    def properties(self) -> dict[str, dict[str, object]]:
        """The keys of its reply, each with the JSON schema of its value."""
        pattern = parsing.line_pattern(list(self.documents), plus=False)
        return {
            "n": parsing.repeated(self.nonce),
            ANSWER: {"type": "string", "pattern": pattern},
        }

    def read(self, reply: str) -> dict[str, bool]:
        """The verdicts of a reply, by document.

        Raises ``ReplyRejected`` unless it answers exactly the documents asked, in order.
        """
        parsing.refuse_unterminated(reply)
        answer = parsing.keyed(reply, self.nonce, [ANSWER])[ANSWER]
        if not isinstance(answer, str):
            raise ReplyRejected(f"{ANSWER}: the value must be a string", kind=Complaint.VALUES)
        return parsing.answered(answer.split(), list(self.documents))
