"""Fields of an element; what is wrong is one line with place, field and mend."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, ValidationError

from monitor.judge_check.formats.elements import Element, wrong
from monitor.judge_check.labelled import Labelled
from monitor.records import Passage

DOCS = "see docs/judge-check.md"
_ENTAILMENT = {"Entailment": True, "Neutral": False, "Contradiction": False}


class Fields(BaseModel):
    """Base of what a format reads; what else an element holds is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class OwnFields(Fields):
    """Base of our own formats: there an unknown field is a slip of the pen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


F = TypeVar("F", bound=Fields)


def checked(fields: type[F], element: Element) -> F:
    """The element's fields. Raises ``ConfigurationError`` that names file, line and field."""
    try:
        return fields.model_validate(element.found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        raise wrong(element.place, f"{field}: unknown field", _guess(field, fields.model_fields))
    if first["type"] == "missing":
        raise wrong(
            element.place, f"{field}: missing", f"add it, or choose another --format ({DOCS})"
        )
    complaint = _plain(first["msg"])
    raise wrong(element.place, f"{field}: {complaint}" if field else complaint, f"mend it ({DOCS})")


def made(element: Element, **fields: Any) -> Labelled:
    """The labelled interaction; a matrix of the wrong shape raises ``ConfigurationError``."""
    try:
        return Labelled(place=element.place, **fields)
    except ValidationError as error:
        complaint = _plain(error.errors(include_url=False)[0]["msg"])
    raise wrong(element.place, complaint, f"give null where it is not known ({DOCS})")


def _guess(field: str, known: Iterable[str]) -> str:
    near = get_close_matches(field.rpartition(".")[2], list(known), 1)
    return f"did you mean {near[0]}?" if near else f"take it out ({DOCS})"


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace("Input should be", "expected")


def _entailment(found: Any) -> Any:
    if found is None or found == "":
        return None
    if isinstance(found, str) and found in _ENTAILMENT:
        return _ENTAILMENT[found]
    raise ValueError("expected Entailment, Neutral or Contradiction")


def _claim(found: Any) -> Any:
    """A triplet (subject, predicate, object) as one text, the way RefChecker prints it."""
    if isinstance(found, list) and found and all(isinstance(part, str) for part in found):
        return " ".join(found)
    return found


def _passage(found: Any) -> Any:
    return {"text": found} if isinstance(found, str) else found


Entailed = Annotated[bool | None, BeforeValidator(_entailment)]
"""``Entailment`` as true, the other two labels as false, no label as None."""

ClaimText = Annotated[str, BeforeValidator(_claim)]
PassageField = Annotated[Passage, BeforeValidator(_passage)]
"""A text, or an object with a text."""

CheckedRow = tuple[StrictBool | None, ...]
CheckedMatrix = tuple[CheckedRow, ...]
