"""The judge's static instructions: versioned files, sent byte for byte as the system message.

A file is never edited once it has judged anything: a new wording is a new ``.v<k+1>.md``. Of a task
whose requests differ in shape there is a file for each shape: all say the same, and end with a
worked example of that shape, for small models copy the shape of the example they are shown. A file
of rules alone goes before examples of a request's very shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Final

from monitor.judge.ports import Task

Files = Mapping[Task, Mapping[str, str]]
"""By task and shape the name of a file, or its text."""

_PASSAGES: Final = ("one", "several")
#: Of no shape: what all shapes say, without an example.
RULES: Final = "rules"
#: Shapes in which it is also asked whether the response addresses the question.
_ANSWER: Final = "_answer"
#: The example of ``one`` is picked by hand: with it, a small model says y less often where it
#: should not (docs/judge-check.md). Its passage says nearly what a claim says.
FILES: Final[Files] = {
    "extract_claims": {"": "extract_claims.v2.md"},
    "verify_claims": {
        RULES: "verify_claims_rules.v1.md",
        RULES + _ANSWER: "verify_claims_rules_answer.v1.md",
        "one": "verify_claims_one.v4.md",
        "several": "verify_claims_several.v3.md",
        "one_reference": "verify_claims_one_reference.v3.md",
        "several_reference": "verify_claims_several_reference.v3.md",
        "one_answer": "verify_claims_one_answer.v2.md",
        "several_answer": "verify_claims_several_answer.v1.md",
        "one_reference_answer": "verify_claims_one_reference_answer.v1.md",
        "several_reference_answer": "verify_claims_several_reference_answer.v1.md",
    },
    "quote_evidence": {
        RULES: "quote_evidence_rules.v1.md",
        **{shape: f"quote_evidence_{shape}.v2.md" for shape in _PASSAGES},
    },
    "judge_relevance": {
        RULES: "judge_relevance_rules.v1.md",
        **{shape: f"judge_relevance_{shape}.v2.md" for shape in _PASSAGES},
    },
    "judge_pair": {"": "judge_pair.v1.md"},
}
#: Examples of other shapes are made of this one.
BANK_FILE: Final = "examples.v1.json"


@dataclass(frozen=True, slots=True)
class Prompts:
    """The system messages by task and shape, of the tasks that are asked."""

    texts: Files
    bank: str = ""

    @property
    def hash(self) -> str:
        """Eight hex digits of BLAKE2b over the texts that are in use.

        >>> a, b = {"": "a"}, {"": "bc"}
        >>> c, d = {"": "ab"}, {"": "c"}
        >>> one = Prompts({"extract_claims": a, "verify_claims": b})
        >>> other = Prompts({"extract_claims": c, "verify_claims": d})
        >>> one.hash == other.hash
        False
        """
        digest = blake2b(digest_size=4)
        shapes = (text for of_task in self.texts.values() for text in of_task.values())
        for text in (*shapes, self.bank):
            raw = text.encode()
            digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()

    def of(self, task: Task, shape: str) -> str:
        """The system message of a request of this shape."""
        return self.texts[task][shape]

    def rules(self, task: Task, shape: str) -> str:
        """The same without the worked example, where examples of the request's very shape follow.

        Of two examples a small model gives back now the one's shape, now the other's.
        """
        return self.texts[task][RULES + _ANSWER if shape.endswith(_ANSWER) else RULES]

    def longest(self, task: Task) -> str:
        """The longest system message of a task; empty where it is not asked."""
        return max(self.texts.get(task, {}).values(), key=len, default="")

    def longest_rules(self, task: Task) -> str:
        """The longest of ``rules``; empty where there are none."""
        texts = self.texts.get(task, {})
        return max(
            (texts[name] for name in (RULES, RULES + _ANSWER) if name in texts), key=len, default=""
        )


def load_prompts(
    *,
    evidence: bool = False,
    relevance: bool = False,
    pairs: bool = False,
    answers: bool = False,
) -> Prompts:
    """The prompt files of this version, those of evidence and relevance only if asked for.

    ``pairs``: claims are verified pair by pair, and not by the instructions of a batch;
    ``answers``: a batch may also ask whether the response addresses the question.
    """
    asked: dict[Task, bool] = {
        "extract_claims": True,
        "verify_claims": not pairs,
        "quote_evidence": evidence,
        "judge_relevance": relevance,
        "judge_pair": pairs,
    }
    return Prompts(
        texts={
            task: {
                shape: read_file(name)
                for shape, name in names.items()
                if answers or not shape.endswith(_ANSWER)
            }
            for task, names in FILES.items()
            if asked[task]
        },
        bank=read_file(BANK_FILE),
    )


@cache
def read_file(name: str) -> str:
    """A file of this folder, which is read once."""
    # Not read_text: it would translate line ends, and the hash is over bytes.
    return files(__name__).joinpath(name).read_bytes().decode()
