"""What is wrong with a YAML file, without a word of what stands in it: a secret may."""

from __future__ import annotations

import re
from typing import Final

import yaml

#: A part of what the parser says, and what we say: its own sentence quotes the file.
_REASONS: Final = (
    (r"'\\t' that cannot start any token", "found a tab; indent with spaces"),
    (r"that cannot start any token", "a sign that begins no value; put the text in quotes"),
    (
        "unknown escape|expected escape sequence|invalid Unicode character escape",
        "a backslash in double quotes begins an escape; use single quotes",
    ),
    ("mapping values are not allowed", "a colon where none may be; put the text in quotes"),
    ("could not find expected ':'", "a key without a colon"),
    ("undefined alias|alphabetic or numeric", "* or & begins an alias; put the text in quotes"),
    ("constructor for the tag|tag", "! begins a tag; put the text in quotes"),
    ("unexpected end of stream", "a quote is not closed; look at the lines above"),
    (r"got '\?'", "a ? within brackets; put the name in quotes, or each name on a line of its own"),
    ("expected ',' or", "a bracket is not closed, or a comma is missing"),
    ("expected <block end>|expected <document start>", "the indentation or the quotes are wrong"),
    ("sequence entries are not allowed|block (sequence|mapping)", "the indentation is wrong"),
    ("expected the node content", "a value is missing"),
    ("unhashable key", "a key is a list or a mapping; templates in {{ }} must be filled in"),
)
_NOT_TEXT: Final = "found a control character; save it as plain text in UTF-8"


def broken(error: yaml.YAMLError | ValueError) -> str:
    r"""Where and why, to be put behind "not YAML"; the place as far as the parser knows it.

    >>> try: yaml.safe_load("a: 1\n\tb: 2")
    ... except yaml.YAMLError as error: broken(error)
    ' in line 2, column 1: found a tab; indent with spaces'
    """
    mark = getattr(error, "problem_mark", None)
    where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    reason = _reason(error)
    return f"{where}: {reason}" if reason else where


def _reason(error: yaml.YAMLError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8; save it as plain text in UTF-8"
    if isinstance(error, yaml.reader.ReaderError):
        return _NOT_TEXT
    if not isinstance(error, yaml.MarkedYAMLError):
        return "a date or a number that is none; put the text in quotes"
    problem = error.problem or ""
    return next((said for part, said in _REASONS if re.search(part, problem)), "")
