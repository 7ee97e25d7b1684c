"""Audits as lines of JSON: out of the database, and labels into it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import AwareDatetime, ConfigDict, ValidationError

from monitor.audit.human_scores import check, peoples_values
from monitor.audit.readings import AuditReading, HumanLabel
from monitor.audit.store.rows import milliseconds
from monitor.errors import ConfigurationError
from monitor.records import Frozen, ScoreRecord, Verdicts


class GivenLabel(Frozen):
    """One reading of an interaction, as it stands on a line; what follows from it may, too."""

    model_config = ConfigDict(extra="ignore")

    reviewer: str
    labelled_at: AwareDatetime
    verdicts: Verdicts
    note: str = ""

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


def read_line(text: str, number: int) -> LabelledLine | Refused:
    """The labels of a line; or why there are none to be had."""
    try:
        return LabelledLine.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(map(str, first["loc"])) or "the line"
        return Refused(number, f"{path}: {first['msg']}")


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
