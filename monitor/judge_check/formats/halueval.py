"""The ``qa_data.json`` of HaluEval: a question, its knowledge, a right and a hallucinated answer.

Each entry makes two interactions with one passage, the knowledge. HaluEval labels whole answers,
and the right ones are mostly no sentences: the claim is the question with the answer after it, for
both alike.
"""

from __future__ import annotations

from typing import Any

from monitor.judge_check.formats.checked import Fields, checked, made
from monitor.judge_check.formats.elements import Element
from monitor.judge_check.labelled import Labelled, interaction_of, labelled_verdicts, script
from monitor.records import Claims, Passage


class _HaluEvalEntry(Fields):
    knowledge: str
    question: str
    right_answer: str
    hallucinated_answer: str


def recognises(found: dict[str, Any]) -> bool:
    """Whether an element looks like this format."""
    return "knowledge" in found and "hallucinated_answer" in found


def read(element: Element) -> list[Labelled]:
    """The two interactions of one entry. Raises ``ConfigurationError``."""
    entry = checked(_HaluEvalEntry, element)
    return [
        _answer(element, entry, "right", entry.right_answer, supported=True),
        _answer(element, entry, "hallucinated", entry.hallucinated_answer, supported=False),
    ]


def _answer(
    element: Element, entry: _HaluEvalEntry, name: str, answer: str, *, supported: bool
) -> Labelled:
    interaction = interaction_of(
        f"{element.line}-{name}",
        file=element.file,
        line=element.line,
        user_input=entry.question,
        response=answer,
        passages=[Passage(text=entry.knowledge)],
    )
    claims = Claims(response=(f"{entry.question} {answer}",))
    return made(
        element,
        cluster=element.place,
        interaction=interaction,
        claims=claims,
        verdicts=labelled_verdicts(interaction, claims, response_by_context=(supported,)),
        language=script(entry.question),
        phenomenon=f"{name} answer",
    )
