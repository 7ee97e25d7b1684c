"""Wrong inputs of an ordinary day, as docs/wrong-inputs.md shows them, and what is said of each.

A file of settings stands in one line there: ``⏎`` begins the next line, ``⇥`` is a tab.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import shlex
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from monitor.config import load
from monitor.errors import ConfigurationError, MessageRejected
from monitor.ingest.formats.native import decode
from monitor.records import Source
from tests.servers.ports import free_ports
from tests.stages.command import rag_monitor

PAGE: Final = Path(__file__).parents[2] / "docs" / "wrong-inputs.md"
SOURCE: Final = Source(topic="rag.interactions.v1", partition=0, offset=7)
#: An address of 127.0.0.1 on which nobody listens.
CLOSED: Final = "127.0.0.1:1"
_INTERACTION: Final = (
    '{"user_input": "q", "response": "a", "retrieved_contexts": ["p"], "ok": true}'
)
_RAW: Final = _INTERACTION.encode()
#: Values that cannot be shown.
BYTES: Final[dict[str, bytes]] = {
    "an interaction in gzip": gzip.compress(_RAW),
    "an interaction behind Confluent's prefix": struct.pack(">bI", 0, 7) + _RAW,
    "Avro behind Confluent's prefix": struct.pack(">bI", 0, 7) + b"\x02q\x02a\x00\xff",
    "an interaction in UTF-16": _INTERACTION.encode("utf-16"),
    "an interaction in Latin-1": '{"user_input": "später"}'.encode("latin-1"),
    "an interaction in Base64": base64.b64encode(_RAW),
    "a message of Protobuf": b"\x0a\x01q\x12\x01a\x1a\xff",
    "an interaction in JSON, twice encoded": json.dumps(_INTERACTION).encode(),
    "the first 40 bytes of an interaction": _RAW[:40],
    "two interactions in two lines": _RAW + b"\n" + _RAW,
    "nothing, but no tombstone": b"",
}
#: Files that a command is given, by the name on the page.
FILES: Final = {
    "interactions.jsonl": _INTERACTION,
    "empty.jsonl": "",
    "notes.txt": "Call the team about the warranty, the price, and the returns.",
    "monitor.yaml": "sampling: {rate: 0.1}",
    "tabs.yaml": "http:\n\tport: 9750",
}


class Row(NamedTuple):
    """One line of a table: the input as it is shown, and what is said."""

    section: str
    shown: str
    said: str


def rows(page: str) -> list[Row]:
    """All that the page lists.

    >>> rows("## A\\n\\n| input | what is said |\\n|---|---|\\n| `x: 1` | `x: no` |\\n")
    [Row(section='A', shown='`x: 1`', said='x: no')]
    """
    found, section = [], ""
    for line in page.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        row = re.fullmatch(r"\| (.+) \| `(.+)` \|", line)
        if row:
            found.append(Row(section, row[1], row[2]))
    return found


def of_settings(shown: str, folder: Path) -> str:
    """What is said of settings: a variable, a flag, or a whole file."""
    text = shown.strip("`")
    environ, flags, file = {}, {}, None
    if text.startswith("RAG_MONITOR_"):
        name, _, environ[name] = text.partition("=")
    elif text.startswith("--set "):
        name, _, value = text.removeprefix("--set ").partition("=")
        flags[name] = value
    else:
        file = folder / "monitor.yaml"
        file.write_text(text.replace("⏎", "\n").replace("⇥", "\t"), encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load(environ, file, flags)
    return str(caught.value).replace(f"{folder}/", "")


def of_a_record(shown: str, _: Path) -> str:
    """What stands in the dead letter of a record with this value."""
    value = shown.strip("`").encode() if shown.startswith("`") else BYTES[shown]
    with pytest.raises(MessageRejected) as caught:
        decode(value, SOURCE, 0)
    return str(caught.value)


def of_a_command(shown: str, folder: Path) -> str:
    """The last line of a command's errors, without the name of the program; usage stands above."""
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    (port,) = free_ports(1)
    closed = f"127.0.0.1:{port}"
    words = shlex.split(shown.strip("`").removeprefix("rag-monitor "))
    arguments = [str(folder / word) if word in FILES else word for word in words]
    result = rag_monitor(*(word.replace(CLOSED, closed) for word in arguments))
    assert result.returncode in (1, 2, 3), result
    assert "Traceback" not in result.stderr
    said = result.stderr.splitlines()[-1]
    said = re.sub("^(rag-monitor|Error): ", "", said)
    return said.replace(f"{folder}/", "").replace(closed, CLOSED)


WAYS: Final[dict[str, Callable[[str, Path], str]]] = {
    "Settings": of_settings,
    "Records": of_a_record,
    "Commands, files and brokers": of_a_command,
}
