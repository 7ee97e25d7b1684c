"""The ``checking_outputs.json`` of RAGChecker 0.1.9: claims of both texts and their entailment.

Fields as in its ``ragchecker/container.py``; ``Entailment`` counts as supported, as in its
``to_bool``. It has no verdict on all passages together. The labels are whatever stands in the file:
RAGChecker's own judge's, unless people corrected them.
"""

from __future__ import annotations

from typing import Any

from monitor.judge_check.formats.checked import ClaimText, Entailed, Fields, checked, made
from monitor.judge_check.formats.elements import Element
from monitor.judge_check.labelled import Labelled, interaction_of, labelled_verdicts, script
from monitor.records import Claims, Passage

_EntailedRow = tuple[Entailed, ...]


class _Document(Fields):
    doc_id: str | None = None
    text: str


class _RagCheckerResult(Fields):
    query_id: str
    query: str
    gt_answer: str
    response: str
    retrieved_context: list[_Document] | None = None
    response_claims: tuple[ClaimText, ...] | None = None
    gt_answer_claims: tuple[ClaimText, ...] | None = None
    answer2response: _EntailedRow | None = None
    response2answer: _EntailedRow | None = None
    retrieved2response: tuple[_EntailedRow, ...] | None = None
    retrieved2answer: tuple[_EntailedRow, ...] | None = None


def recognises(found: dict[str, Any]) -> bool:
    """Whether an element looks like this format."""
    return "gt_answer" in found and "query" in found


def read(element: Element) -> list[Labelled]:
    """The labelled interaction of one result. Raises ``ConfigurationError``."""
    result = checked(_RagCheckerResult, element)
    interaction = interaction_of(
        result.query_id,
        file=element.file,
        line=element.line,
        user_input=result.query,
        response=result.response,
        passages=[Passage(id=d.doc_id, text=d.text) for d in result.retrieved_context or ()],
        reference=result.gt_answer,
    )
    claims = Claims(response=result.response_claims or (), reference=result.gt_answer_claims or ())
    return [
        made(
            element,
            cluster=interaction.interaction_id,
            interaction=interaction,
            claims=claims,
            verdicts=labelled_verdicts(
                interaction,
                claims,
                response_by_passage=result.retrieved2response,
                response_by_reference=result.answer2response,
                reference_by_passage=result.retrieved2answer,
                reference_by_response=result.response2answer,
            ),
            language=script(result.response),
            claims_complete=None not in (result.response_claims, result.gt_answer_claims),
        )
    ]
