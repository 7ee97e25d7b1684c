"""RefChecker's benchmark: answers whose triplets people labelled, and the texts they are about.

The answers (``human_annotations_v1/*/…_answers.json``) have ``id``, ``response`` and
``<extractor>_response_kg``, a list of ``triplet`` and ``human_label``. Question and passages stand
in another file (``nq.json``, ``msmarco.json``, ``dolly.json``: ``id``, ``question``, ``context``),
which must be given beside it; or they stand in the answers themselves. A label is about all
passages together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from monitor.judge_check.formats.checked import ClaimText, Entailed, Fields, checked, made
from monitor.judge_check.formats.elements import Element, wrong
from monitor.judge_check.labelled import Labelled, interaction_of, labelled_verdicts, script
from monitor.records import Claims, Passage

_KG = "_response_kg"


def _one_as_list(found: Any) -> Any:
    return [found] if isinstance(found, str) else found


class _RefCheckerTriplet(Fields):
    triplet: ClaimText
    human_label: Entailed = None


class _RefCheckerAnswer(Fields):
    id: str
    response: str
    triplets: tuple[_RefCheckerTriplet, ...]


class _RefCheckerSource(Fields):
    id: str
    question: str
    context: Annotated[tuple[str, ...], BeforeValidator(_one_as_list)]


def recognises(found: dict[str, Any]) -> bool:
    """Whether an element looks like this format: an answer, or what answers are about."""
    return _kg(found) is not None or {"id", "question", "context"} <= set(found)


def read_all(elements: Sequence[Element]) -> list[Labelled]:
    """The labelled answers of all files. Raises ``ConfigurationError``."""
    sources = {
        source.id: source
        for element in elements
        if {"question", "context"} <= set(element.found)
        for source in [checked(_RefCheckerSource, element)]
    }
    answers = [element for element in elements if _kg(element.found) is not None]
    if not answers:
        mend = f"give the annotated answers too (…{_KG} with human_label)"
        raise wrong(elements[0].file, "found questions and contexts, but no answers", mend)
    return [_labelled(element, sources) for element in answers]


def _labelled(element: Element, sources: Mapping[str, _RefCheckerSource]) -> Labelled:
    key = _kg(element.found)
    answer = checked(_RefCheckerAnswer, element._replace(found={**element.found, "triplets": key}))
    source = sources.get(answer.id)
    if source is None:
        complaint = "id: no question and context are known for it"
        raise wrong(element.place, complaint, "give the file that has them too, like msmarco.json")
    interaction = interaction_of(
        answer.id,
        file=element.file,
        line=element.line,
        user_input=source.question,
        response=answer.response,
        passages=[Passage(text=text) for text in source.context],
    )
    claims = Claims(response=tuple(triplet.triplet for triplet in answer.triplets))
    labels = tuple(triplet.human_label for triplet in answer.triplets)
    return made(
        element,
        cluster=answer.id,
        interaction=interaction,
        claims=claims,
        verdicts=labelled_verdicts(interaction, claims, response_by_context=labels),
        language=script(answer.response),
        claims_complete=True,
    )


def _kg(found: Mapping[str, Any]) -> Any:
    """The triplets: of several extractors', those that people labelled."""
    lists = [value for key, value in found.items() if key.endswith(_KG) and value is not None]
    labelled = [kg for kg in lists if isinstance(kg, list) and any(_is_labelled(t) for t in kg)]
    return (labelled or lists or [None])[0]


def _is_labelled(triplet: object) -> bool:
    return isinstance(triplet, dict) and "human_label" in triplet
