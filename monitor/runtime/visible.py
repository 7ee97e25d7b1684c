r"""Texts for terminals, which must not obey what somebody has written into them.

Traffic names interactions and applications: an escape sequence in a name would clear the screen,
and a character that turns the direction of the script would show another name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def visible(found: object) -> str:
    r"""On one line: what has no shape of its own is spelled out.

    >>> print(visible("a\x1b[2J\u202eb\nc"), visible("café"), visible(3))
    a\x1b[2J\u202eb\nc café 3
    """
    text = str(found)
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def all_visible(found: Any) -> Any:
    r"""The same of texts within lists and mappings; numbers, truth and nothing stay what they are.

    >>> all_visible({"a\n": ["\x9b", 1, None]}) == {"a\\n": ["\\x9b", 1, None]}
    True
    """
    if found is None or isinstance(found, bool | int | float):
        return found
    if isinstance(found, Mapping):
        return {visible(key): all_visible(value) for key, value in found.items()}
    if isinstance(found, list | tuple | set | frozenset):
        return [all_visible(each) for each in found]
    return visible(found)


def lines_visible(text: str) -> str:
    r"""Line by line.

    >>> lines_visible("a\nb\x1b") == "a\nb\\x1b"
    True
    """
    return "\n".join(map(visible, text.split("\n")))


def json_visible(text: str) -> str:
    r"""JSON that means the same, and holds such characters only as escapes of JSON.

    >>> print(json_visible('{"a": "café\u202e\U000e0001"}'))
    {"a": "café\u202e\udb40\udc01"}
    """
    # Between values JSON has only these two, and within values neither a newline.
    return "\n".join(_escaped(line) for line in text.split("\n"))


def json_text(value: Any, **options: Any) -> str:
    """A value as JSON that can be printed anywhere; ``options`` are those of ``json.dumps``."""
    return json_visible(json.dumps(value, ensure_ascii=False, **options))


def _escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line)
