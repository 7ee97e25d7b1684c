"""The wire format of a pair: does one document support one claim, yes or no? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from monitor.errors import ReplyRejected
from monitor.judge.pipeline import parsing
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.ports import Task

#: From this probability on a pair counts as supported, where no labels have told better.
THRESHOLD: Final = 0.5
#: The words of a reply, and of the alternatives that a server names with their probabilities.
WORDS: Final[Mapping[str, bool]] = {"yes": True, "no": False}


def word(text: str) -> bool | None:
    r"""What a text says that is one of the two words, whatever its case and the space around it.

    >>> word(" Yes"), word("NO\n"), word("Yes."), word("yes, it does")
    (True, False, None, None)
    """
    return WORDS.get(text.strip().lower())


@dataclass(frozen=True, slots=True)
class PairRequest:
    """Ask whether ``document`` supports ``claim``; ``question`` tells what words refer to."""

    task: ClassVar[Task] = "judge_pair"
    question: str
    document: str
    claim: str

    @property
    def shape(self) -> str:
        """There is one instruction file for all pairs."""
        return ""

    @property
    def tokens(self) -> None:
        """How long its reply may be: the client knows, of one word."""
        return None

    def expected(self) -> str:
        """The reply, of which one word is to be left."""
        return "yes or no"

    def properties(self) -> dict[str, dict[str, object]]:
        """None: its reply is no JSON."""
        return {}

    def message(self) -> str:
        """The user message.

        The claim stands last: servers that keep prompts compute a document once for all claims.
        """
        body = {
            "task": self.task,
            "question": self.question,
            "document": self.document,
            "claim": self.claim,
        }
        return parsing.encoded(body)

    def read(self, reply: str) -> bool:
        """Whether the reply is yes; raises ``ReplyRejected`` unless it is yes or no."""
        answer = word(reply)
        if answer is None:
            kind = Complaint.VALUES if reply.strip() else Complaint.EMPTY
            raise ReplyRejected("the whole reply must be one word, yes or no", kind=kind)
        return answer
