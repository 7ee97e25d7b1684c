"""What is scored: one turn under the names that ragas users know, and rows of any kind."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, model_validator

from monitor.api.arguments import meant
from monitor.api.problems import InputRejected
from monitor.errors import MessageRejected
from monitor.evaluate.noise import as_one_passage, with_noise
from monitor.evaluate.rows import as_written
from monitor.ingest.formats import native
from monitor.records import Interaction, Passage, Source

#: What the file or topic of an interaction is called that comes from Python.
TOPIC: Final = "python"

#: A passage: its text, or an object with ``text`` and perhaps ``id``, ``score`` and ``relevant``.
AnyPassage = str | Mapping[str, Any] | Passage


class SingleTurnSample(BaseModel):
    """One turn of a RAG application; the names are those of ragas.

    ``user_input``, ``response``, ``retrieved_contexts`` and ``reference`` are scored. The others
    are taken so that a set made for ragas can be used as it is, and change no value.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    user_input: str | None = None
    retrieved_contexts: list[str | dict[str, Any] | Passage] | None = None
    reference_contexts: list[str] | None = None
    retrieved_context_ids: list[str | int] | None = None
    reference_context_ids: list[str | int] | None = None
    response: str | None = None
    multi_responses: list[str] | None = None
    reference: str | None = None
    rubrics: dict[str, str] | None = None
    persona_name: str | None = None
    query_style: str | None = None
    query_length: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                raise ValueError(f"no field {name!r}: {meant(name, cls.model_fields)}")
        return given

    def to_dict(self) -> dict[str, Any]:
        """The fields that are not None."""
        return self.model_dump(exclude_none=True)


class EvaluationDataset(Sequence[SingleTurnSample]):
    """Samples in their order, as ragas has them; ``evaluate`` takes any list of rows as well."""

    def __init__(self, samples: Sequence[SingleTurnSample]) -> None:
        self.samples = list(samples)

    @classmethod
    def from_list(cls, data: Sequence[Mapping[str, Any]]) -> Self:
        """Of rows with the fields of a sample."""
        return cls([SingleTurnSample.model_validate(dict(row)) for row in data])

    @classmethod
    def from_pandas(cls, dataframe: Any) -> Self:
        """Of a frame with the fields as columns; empty cells are None."""
        return cls.from_list(list(rows_of(dataframe)))

    def to_list(self) -> list[dict[str, Any]]:
        """The samples as rows."""
        return [sample.to_dict() for sample in self.samples]

    def features(self) -> list[str]:
        """The fields that any sample has, in the order of ``SingleTurnSample``."""
        found = {name for row in self.to_list() for name in row}
        return [name for name in SingleTurnSample.model_fields if name in found]

    def to_pandas(self) -> Any:
        """The samples as a DataFrame; raises ``ImportError`` where pandas is not installed."""
        return frame_of(self.to_list())

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: Any) -> Any:
        """A sample, or of a slice a set of them."""
        found = self.samples[index]
        return type(self)(found) if isinstance(index, slice) else found


def frame_of(rows: Sequence[Mapping[str, Any]], index: Any = None) -> Any:
    """The rows as a DataFrame; raises ``ImportError`` where pandas is not installed."""
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install pandas, or use to_list") from error
    return DataFrame(rows, index=index)


def rows_of(data: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a list, a generator, a DataFrame (pandas, Polars), or a set of ragas or datasets.

    Empty cells of frames (NaN, NaT) are None. Raises ``InputRejected`` for what has no rows.
    """
    if isinstance(data, str | bytes | Mapping):
        raise InputRejected(
            f"found a {type(data).__name__}, expected rows: a list of dicts or samples, or a "
            "DataFrame; for a file there is the command rag-monitor evaluate"
        )
    if callable(getattr(data, "to_dicts", None)):  # Polars
        data = data.to_dicts()
    elif callable(getattr(data, "collect", None)):  # Polars, before it is computed
        raise InputRejected(f"found a {type(data).__name__}, expected rows: call .collect() first")
    elif hasattr(data, "columns") and callable(getattr(data, "to_dict", None)):  # pandas
        data = data.to_dict("records")
    elif not hasattr(data, "__iter__"):
        raise InputRejected(f"found a {type(data).__name__}, expected rows, or a DataFrame")
    for number, row in enumerate(data, 1):
        yield _row(row, number)


def index_of(data: Any) -> Any:
    """The index of a pandas DataFrame; None of what has none."""
    found = getattr(data, "index", None)
    return None if callable(found) or not hasattr(data, "columns") else found


def _row(row: Any, number: int) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return {str(name): _cell(value) for name, value in row.items()}
    for method in ("to_dict", "model_dump"):
        if callable(getattr(row, method, None)):
            return _row(getattr(row, method)(), number)
    raise InputRejected(f"row {number}: found a {type(row).__name__}, expected a dict or a sample")


def _cell(value: Any) -> Any:
    """What a cell holds, as JSON knows it; None where a frame has nothing."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if value is None or isinstance(value, str | int | bool):
        return value
    if callable(getattr(value, "tolist", None)):  # of numpy: an array, or a number
        return _cell(value.tolist())
    # pandas' NaT and NA say of themselves that they are not what they are.
    return None if type(value).__name__ in ("NaTType", "NAType") else value


@dataclass(frozen=True)
class ScorableTurn:
    """What is judged; ``labels_win``: its labels of relevance are ours, and hold.

    ``is_one_text``: its context was a single text, and counts as one relevant passage.
    """

    interaction: Interaction
    labels_win: bool = False
    is_one_text: bool = False


def turn_of(
    fields: Mapping[str, Any], number: int | None = None, noise: Sequence[Passage] = ()
) -> ScorableTurn:
    """The turn that a row's fields make, checked as those of a log are.

    A context that is one text is one passage, labelled relevant, unless it is a list as a file of
    ``rag-monitor evaluate`` may hold it; ``noise`` is appended to it.
    Without an id it is ``python/0/<row>``; without a time, now. Raises ``InputRejected`` that names
    the field, and where it has a ``number`` the row.
    """
    row = "" if number is None else f"row {number}: "
    given = {name: value for name, value in fields.items() if value is not None}
    contexts = _contexts(given.get("retrieved_contexts", []), f"{row}retrieved_contexts")
    is_one = isinstance(contexts, str)
    given["retrieved_contexts"] = [as_one_passage(contexts)] if is_one else contexts
    for name, value in given.items():
        if (at := _no_text_at(value)) is not None:
            raise InputRejected(
                f"{row}{name}: half a character (a lone surrogate) at {at}: decode the text anew"
            )
    source = Source(topic=TOPIC, partition=0, offset=(number or 1) - 1)
    try:
        line = json.dumps(given, ensure_ascii=False, default=_plain)
        found = native.decode(line.encode(), source, int(time.time() * 1000), of_file=True)
    except (TypeError, MessageRejected) as error:
        raise InputRejected(f"{row}{error}") from None
    return ScorableTurn(
        with_noise(found.interaction, noise), labels_win=is_one or bool(noise), is_one_text=is_one
    )


def _contexts(found: Any, path: str) -> Any:
    """The passages as a list, or their one text; raises ``InputRejected`` with the ``path``."""
    if isinstance(found, str):
        try:
            written = as_written(found)
        except ValueError as error:
            raise InputRejected(f"{path}: {error}") from None
        if written is None:
            return found if found.strip() else []
        found = written
    if isinstance(found, set | frozenset):
        raise InputRejected(f"{path}: found a set, which has no order: give a list")
    if callable(getattr(found, "tolist", None)):  # an array, or a column of a frame
        found = found.tolist()
    if isinstance(found, Sequence | Iterator) and not isinstance(found, str | bytes):
        found = list(found)
        for number, each in enumerate(found):
            if (wrong := _no_passage(each)) is not None:
                raise InputRejected(f"{path}.{number}: found {wrong}, expected a text or an object")
    return found


def _no_passage(found: Any) -> str | None:
    """What an item is that is neither a text nor an object."""
    if _cell(found) is None:
        return "null"
    if isinstance(found, bytes | bytearray):
        return "bytes"
    if isinstance(found, bool | int | float):
        return "a number"
    return "a list" if isinstance(found, list | tuple) else None


def _no_text_at(value: Any) -> int | None:
    """Where a text, or the first bad one of several, holds what UTF-8 cannot say."""
    if isinstance(value, str):
        return next((at for at, each in enumerate(value) if "\ud800" <= each <= "\udfff"), None)
    if isinstance(value, Passage):
        return _no_text_at(value.text)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return next((at for each in value if (at := _no_text_at(each)) is not None), None)
    return None


def _plain(value: Any) -> Any:
    """A passage as an object, a moment as a text, what is like a list as one."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return list(value)
    raise TypeError(f"found a {type(value).__name__}, expected texts, lists and objects")
