"""Rows of a file as JSON objects: JSONL, a JSON list, CSV, Parquet; also gzipped, or from stdin."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from monitor.errors import ConfigurationError

STDIN: Final = "-"
#: What standard input is called in records.
STDIN_NAME: Final = "stdin"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
_PARQUET: Final = b"PAR1"
_LARGEST_CELL: Final = 2**31 - 1
_QUOTED: Final = r"""(?:'(?>(?:[^'\\]|\\.)*)'|"(?>(?:[^"\\]|\\.)*)")"""
#: Texts with no comma between them, which Python would join; or objects of numpy by their names.
_OF_NUMPY: Final = re.compile(
    rf"array\(\[|\[\s*(?:np\.str_\(|{_QUOTED}\s+(?:['\"]|nan\b|None\b|\.\.\.))", re.DOTALL
)
_OBJECTS_OF_NUMPY: Final = re.compile(r"\[\s*\{['\"].*\}\s+\{['\"]", re.DOTALL)


class CsvColumns(NamedTuple):
    """What the cells of CSV mean, by the names of their columns.

    Those of ``passages`` and ``objects`` hold more than one text. An empty one of ``optional`` is
    missing. A number in ``times`` is one. ``keeps_text``: passages that are one text stay one, and
    do not become a list.
    """

    passages: frozenset[str] = frozenset({"retrieved_contexts"})
    objects: frozenset[str] = frozenset({"attributes"})
    optional: frozenset[str] = frozenset(
        {"interaction_id", "timestamp", "application", "reference"}
    )
    times: frozenset[str] = frozenset({"timestamp"})
    keeps_text: bool = False


#: Columns with the native names.
NATIVE_COLUMNS: Final = CsvColumns()


class InputRow(NamedTuple):
    """One row: its number from 1, what its kind of file calls it, and the interaction in JSON.

    ``fault`` says why it is none, whatever it holds. ``is_short``: it ends before its header does.
    """

    number: int
    unit: str
    value: bytes
    fault: str | None = None
    is_short: bool = False


@contextmanager
def opened(file: Path, columns: CsvColumns = NATIVE_COLUMNS) -> Iterator[Iterator[InputRow]]:
    """The rows of a file, or of standard input (``-``), one after the other; blank ones are none.

    ``columns`` says what the cells of CSV mean.

    Raises ``ConfigurationError`` that names the file: where it is empty, damaged, or needs a
    package that is not there. An ``OSError`` of opening it goes through.
    """
    name = STDIN_NAME if str(file) == STDIN else str(file)
    # Whoever leaves early leaves a reader of text that must let go of the stream first.
    with _stream(file) as stream, closing(_named(name, stream, file, columns)) as rows:
        yield rows


@contextmanager
def _stream(file: Path) -> Iterator[io.BufferedReader]:
    """The bytes, unzipped."""
    is_stdin = str(file) == STDIN
    raw: Any = sys.stdin.buffer if is_stdin else file.open("rb")
    try:
        if raw.peek(2)[:2] == _GZIP:
            unzipped: Any = gzip.GzipFile(fileobj=raw)
            yield io.BufferedReader(unzipped)
        else:
            yield raw
    finally:
        if not is_stdin:
            raw.close()


def _some(rows: Iterator[InputRow]) -> Iterator[InputRow]:
    """The same; an input without any is a mistake, and not a run in which all is well."""
    is_empty = True
    for row in rows:
        is_empty = False
        yield row
    if is_empty:
        raise ConfigurationError("is empty: there is no interaction in it")


def _named(
    name: str, stream: io.BufferedReader, file: Path, columns: CsvColumns
) -> Generator[InputRow, None, None]:
    """The rows; what is wrong with the input names it."""
    try:
        yield from _some(_rows(stream, file, columns))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigurationError(f"{name}: its gzip data are damaged: {error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{name}: is not UTF-8 (byte {error.object[error.start]:#04x} at {error.start}); save "
            "it as UTF-8"
        ) from error
    except csv.Error as error:
        raise ConfigurationError(f"{name}: is no CSV: {error}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from error


def _rows(stream: io.BufferedReader, file: Path, columns: CsvColumns) -> Iterator[InputRow]:
    """By what it begins with, and by its name where that does not tell."""
    head = stream.peek(8192)
    suffixes = [each.lower() for each in file.suffixes]
    if head.startswith(_PARQUET) or ".parquet" in suffixes:
        return _of_parquet(stream)
    if ".csv" in suffixes or ".tsv" in suffixes:
        return _of_csv(stream, "\t" if ".tsv" in suffixes else ",", columns)
    if head.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"["):
        return _of_list(stream)
    return _of_lines(stream)


def _of_lines(stream: io.BufferedReader) -> Iterator[InputRow]:
    for number, line in enumerate(stream, 1):
        if number == 1:  # some editors write one
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.strip():
            yield InputRow(number, "line", line)


def _of_list(stream: io.BufferedReader) -> Iterator[InputRow]:
    try:
        found = json.loads(stream.read().removeprefix(_BYTE_ORDER_MARK))
    except ValueError as error:
        raise ConfigurationError(f"begins with [ and is no JSON list: {error}") from error
    for number, item in enumerate(found, 1):
        yield InputRow(number, "item", _json(item))


def _of_csv(stream: io.BufferedReader, delimiter: str, columns: CsvColumns) -> Iterator[InputRow]:
    csv.field_size_limit(_LARGEST_CELL)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        reader = csv.reader(text, delimiter=delimiter)
        header = next(reader, [])
        number, line = 0, reader.line_num + 1
        for cells in reader:
            if cells:  # a blank line has none
                number += 1
                yield _of_cells(number, line, header, cells, columns)
            line = reader.line_num + 1
    finally:
        text.detach()


def _of_cells(
    number: int, line: int, header: list[str], cells: list[str], columns: CsvColumns
) -> InputRow:
    """The row whose first line is ``line``; with too many cells nobody knows which is which."""
    if any(cell.strip() for cell in cells[len(header) :]):  # commas at the end are no cells
        fault = (
            f"{len(cells)} cells (line {line}), the header has {len(header)}: quote texts that "
            "hold a comma, or a tab in TSV"
        )
        return InputRow(number, "row", _json(cells), fault)
    named = {name: cell for name, cell in zip(header, cells, strict=False) if name}
    try:
        found = {name: _cell(name, cell, columns) for name, cell in named.items()}
    except ConfigurationError as error:
        raise ConfigurationError(f"row {number}: {error}") from None
    value = _json({name: cell for name, cell in found.items() if cell is not None})
    # Spreadsheets write a comma behind the last column: a name of nothing is not missed.
    return InputRow(number, "row", value, is_short=any(header[len(cells) :]))


def _cell(name: str, cell: str, columns: CsvColumns) -> Any:
    """What a cell means: lists and objects as JSON or as Python writes them, times as numbers."""
    if not cell.strip() and name in columns.optional:
        return None
    if name in columns.times:
        return _number(cell)
    if name not in columns.passages | columns.objects:
        return cell
    if not cell.strip():
        return [] if name in columns.passages else {}
    try:
        found = as_written(cell)
    except ValueError as error:
        raise ConfigurationError(f"column {name}: {error}") from None
    if found is not None:
        return found
    return [cell] if name in columns.passages and not columns.keeps_text else cell


def as_written(text: str) -> list[Any] | dict[str, Any] | None:
    """The list or object that a text is, as JSON or as Python writes it; None where it is neither.

    Raises ``ValueError`` for a list as numpy prints it.

    >>> as_written('["a", "b"]'), as_written("['a', 'b']"), as_written("[1] says so.")
    (['a', 'b'], ['a', 'b'], None)
    """
    text = text.strip()
    if not (text.startswith(("[", "{", "array([")) and text.endswith(("]", "}", ")"))):
        return None
    is_of_numpy = _OF_NUMPY.match(text) is not None
    for read in () if is_of_numpy else (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list | dict):
            return found
    if is_of_numpy or _OBJECTS_OF_NUMPY.match(text):
        raise ValueError(
            "a list as numpy prints it: without commas, the ends of passages are unknown; write "
            "lists as JSON, like df[column].map(lambda found: json.dumps(list(found)))"
        )
    return None


def _number(cell: str) -> int | float | str:
    for read in (int, float):
        try:
            return read(cell)
        except ValueError:
            continue
    return cell.strip()


def _of_parquet(stream: io.BufferedReader) -> Iterator[InputRow]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise ConfigurationError(
            "Parquet needs pyarrow: pip install 'rag-monitor[parquet]', or save it as JSONL"
        ) from error
    try:
        found = parquet.ParquetFile(io.BytesIO(stream.read()))
        rows = (row for batch in found.iter_batches() for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            yield InputRow(number, "row", _json({k: v for k, v in row.items() if v is not None}))
    except ArrowInvalid as error:
        raise ConfigurationError(f"is no Parquet: {error}") from error


def _json(found: Any) -> bytes:
    """A row in JSON; a moment as RFC 3339, in UTC where it says no other zone."""
    return json.dumps(found, ensure_ascii=False, default=_plain).encode(errors="surrogatepass")


def _plain(found: Any) -> Any:
    if hasattr(found, "isoformat"):
        text = str(found.isoformat())
        has_zone = getattr(found, "tzinfo", None) is not None
        return text if has_zone or "T" not in text else f"{text}Z"
    if isinstance(found, bytes):
        return found.decode(errors="replace")
    return str(found)
