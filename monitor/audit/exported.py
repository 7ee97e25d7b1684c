"""Audits as files: lines of JSON, tables, and failures to be evaluated again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from monitor.audit.exchange import audit_line
from monitor.audit.human_scores import peoples_values
from monitor.audit.readings import AuditReading
from monitor.errors import ConfigurationError
from monitor.metrics.catalogue import CATALOGUE

#: What a spreadsheet takes for a formula, where it begins a cell.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_METRICS: Final = tuple(name for name, one in CATALOGUE.items() if one.source == "verdicts")
_NAMES: Final = (
    *("application", "interaction_id", "judge", "event_time", "segment"),
    *("probability", "weight", "reviewer", "labelled_at", "note"),
)


def as_jsonl(readings: Iterable[AuditReading]) -> bytes:
    """All of it: a line is an audit, as ``audit import`` reads it."""
    return _lines(audit_line(each) for each in readings)


def as_csv(readings: Iterable[AuditReading]) -> bytes:
    """A row for each label, with the judge's and that person's value of each metric; no texts."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [*_NAMES, *_columns()], lineterminator="\n")
    writer.writeheader()
    for row in _rows(readings):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue().encode()


def as_parquet(readings: Iterable[AuditReading]) -> bytes:
    """The same rows with their types. Raises ``ConfigurationError`` where pyarrow is missing."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigurationError(
            "Parquet needs pyarrow: pip install 'rag-monitor[parquet]', or take --format csv"
        ) from error
    numbers = {"probability", "weight", *_columns()}
    schema = pa.schema(
        [
            (name, pa.float64() if name in numbers else pa.string())
            for name in (*_NAMES, *_columns())
        ]
    )
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(_rows(readings)), schema=schema), out)
    return out.getvalue()


def as_failures(readings: Iterable[AuditReading]) -> bytes:
    """Interactions in which people found something wrong, as ``evaluate`` reads them.

    Those whose texts were forgotten are left out.
    """
    return _lines(found for each in readings if (found := _failure(each)) is not None)


FORMATS: Final[Mapping[str, Callable[[Iterable[AuditReading]], bytes]]] = {
    "jsonl": as_jsonl,
    "csv": as_csv,
    "parquet": as_parquet,
}


def _lines(found: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in found).encode()


def _columns() -> list[str]:
    return [f"{who}_{name}" for name in _METRICS for who in ("judge", "people")]


def _rows(readings: Iterable[AuditReading]) -> Iterator[dict[str, Any]]:
    for each in readings:
        record = each.record
        for label in each.labels:
            values = peoples_values(record, label.verdicts)
            moment = datetime.fromtimestamp(label.labelled_ms / 1000, UTC)
            row = (
                *(record.application, record.interaction_id, record.judge.label),
                *(record.event_time.isoformat(), record.segment, each.probability, each.weight),
                *(label.reviewer, moment.isoformat(), label.note),
            )
            yield {
                **dict(zip(_NAMES, row, strict=True)),
                **{f"judge_{name}": record.scores[name] for name in values},
                **{f"people_{name}": value for name, value in values.items()},
            }


def _cell(value: Any) -> Any:
    """As a spreadsheet shows it, and does not run it.

    >>> _cell("=1+1"), _cell("plain"), _cell(0.5)
    ("'=1+1", 'plain', 0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _failure(reading: AuditReading) -> dict[str, Any] | None:
    record = reading.record
    people = peoples_values(record, reading.labels[-1].verdicts)
    wrong = people.get("incorrect_claims", 0.0) > 0.0 or people.get("faithfulness", 1.0) < 1.0
    if not wrong or record.interaction.get("response") is None:
        return None
    texts = {name: value for name, value in record.interaction.items() if value is not None}
    return {
        **texts,
        "interaction_id": record.interaction_id,
        "application": record.application,
        "timestamp": record.event_time.isoformat(),
        "attributes": record.attributes,
    }
