"""Audits as lines of JSON: out of the database, and labels into it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NamedTuple

from pydantic import (
    AfterValidator,
    AwareDatetime,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)

from monitor.audit.human_scores import check, one_name, peoples_values
from monitor.audit.readings import MOST_NAME, MOST_NOTE, AuditReading, HumanLabel
from monitor.audit.store.rows import milliseconds, stored
from monitor.errors import ConfigurationError
from monitor.records import Frozen, ScoreRecord, Verdicts

#: Seconds by which the clocks of two machines may differ.
CLOCKS_DIFFER_S: Final = 300.0


def _name(text: str) -> str:
    """As the pages take it: one person has one name, and everybody has one."""
    found = one_name(stored(text))
    if not found or len(found) > MOST_NAME:
        raise ValueError(f"a name of 1 to {MOST_NAME} characters is needed")
    return found


def _moment(at: datetime, info: ValidationInfo) -> datetime:
    """What was said later than now would hold against all that is said until then."""
    now = (info.context or {}).get("now")
    if now is not None and at.timestamp() > now + CLOCKS_DIFFER_S:
        raise ValueError("lies in the future")
    return at


class GivenLabel(Frozen):
    """One reading of an interaction, as it stands on a line; what follows from it may, too."""

    model_config = ConfigDict(extra="ignore")

    reviewer: Annotated[str, AfterValidator(_name)]
    labelled_at: Annotated[AwareDatetime, AfterValidator(_moment)]
    verdicts: Verdicts
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""

    def label(self) -> HumanLabel:
        """As the database keeps it."""
        moment = milliseconds(self.labelled_at.timestamp())
        return HumanLabel(self.reviewer, moment, self.verdicts, self.note)


class LabelledLine(Frozen):
    """A line with labels; whatever else stands on it is passed over."""

    model_config = ConfigDict(extra="ignore")

    application: str
    interaction_id: str
    judge: str
    labels: tuple[GivenLabel, ...] = ()


class Refused(NamedTuple):
    """A line that was not taken, by its number from 1, and why."""

    line: int
    why: str


def audit_line(reading: AuditReading) -> dict[str, Any]:
    """An audit for programs: the record, how it was drawn, and what people say."""
    record = reading.record
    return {
        "application": record.application,
        "interaction_id": record.interaction_id,
        "judge": record.judge.label,
        "probability": reading.probability,
        "weight": reading.weight,
        "labels": [_given(record, each) for each in reading.labels],
        "record": record.model_dump(mode="json", by_alias=True),
    }


def lines_of(body: bytes) -> list[str]:
    r"""Lines of JSON, which end where JSON can have no newline: texts may have U+2028 and the like.

    Raises ``UnicodeDecodeError`` for what is not UTF-8.

    >>> lines_of('\ufeff{"a": "b\u2028c"}\r\n\r\n{}'.encode())
    ['{"a": "b\u2028c"}', '', '{}']
    """
    return [line.removesuffix("\r") for line in body.decode("utf-8-sig").split("\n")]


def read_line(text: str, number: int, now: float) -> LabelledLine | Refused:
    """The labels of a line; or why there are none to be had. ``now``: epoch seconds."""
    try:
        return LabelledLine.model_validate_json(text, context={"now": now})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(map(str, first["loc"])) or "the line"
        return Refused(number, f"{path}: {first['msg'].removeprefix('Value error, ')}")


def checked(record: ScoreRecord | None, line: LabelledLine, number: int) -> Refused | None:
    """Why the labels of a line do not fit the record that is kept; None where they do."""
    if record is None:
        named = f"{line.application}/{line.interaction_id} of {line.judge}"
        return Refused(number, f"no interaction {named} is kept")
    for index, given in enumerate(line.labels):
        try:
            check(record, given.verdicts)
        except ValueError as error:
            return Refused(number, f"labels.{index}.verdicts: {error}")
    return None


def refuse(file: str, refused: list[Refused]) -> None:
    """Raises ``ConfigurationError`` with the first of them, where there are any."""
    if refused:
        first = refused[0]
        more = f" (and {len(refused) - 1} more lines)" if len(refused) > 1 else ""
        raise ConfigurationError(f"{file}:{first.line}: {first.why}{more}; nothing was imported")


def _given(record: ScoreRecord, label: HumanLabel) -> Mapping[str, Any]:
    return {
        "reviewer": label.reviewer,
        "labelled_at": datetime.fromtimestamp(label.labelled_ms / 1000, UTC).isoformat(),
        "verdicts": label.verdicts.model_dump(mode="json"),
        "note": label.note,
        "values": peoples_values(record, label.verdicts),
    }
