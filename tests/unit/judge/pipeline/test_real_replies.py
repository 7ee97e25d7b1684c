"""The parser against 1,759 replies of a real small model, nearly all of them malformed.

Qwen2.5-Coder 1.5B (Q4_K_M, greedy) to the instructions v2, whose worked example it copied. A line
of the file has a run's tag, the nonce, the documents and claims asked, why the reply ended, and the
reply. Reading them leniently would make verdicts of replies that hold none.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

from monitor.errors import ReplyRejected
from monitor.judge.pipeline.parsing import VerifyRequest

FILE = Path(__file__).parents[3] / "data" / "real_replies.jsonl.gz"


class Recorded(NamedTuple):
    """A run's tag, what was asked, why the reply ended, and the reply."""

    tag: str
    request: VerifyRequest
    ended: str
    reply: str


@cache
def recorded() -> list[Recorded]:
    """All replies of the file."""
    found = []
    for line in gzip.decompress(FILE.read_bytes()).decode().splitlines():
        tag, nonce, documents, claims, ended, reply = json.loads(line)
        names = dict.fromkeys(documents.split(), "a text")
        request = VerifyRequest(nonce, "?", names, dict.fromkeys(claims.split(), "a claim"))
        found.append(Recorded(tag, request, ended, reply))
    return found


def is_read(one: Recorded) -> bool:
    """Whether the parser takes it."""
    try:
        one.request.read(one.reply)
    except ReplyRejected:
        return False
    return True


def keeps_the_contract(one: Recorded) -> bool:
    """The same by the patterns of the JSON schema, which know nothing of the parser."""
    try:
        pairs = json.loads(one.reply, object_pairs_hook=list)
    except ValueError:
        return False
    properties = one.request.properties()
    if [key for key, _ in pairs] != list(properties) or pairs[0][1] != one.request.nonce:
        return False
    return all(re.fullmatch(str(properties[key]["pattern"]), value) for key, value in pairs[1:])


def test_no_reply_that_was_refused_is_read_now() -> None:
    """Twenty were read when they were recorded, and no other is: the reading is as strict."""
    read = Counter(one.tag for one in recorded() if is_read(one))
    assert len(recorded()) == 1_759
    assert read == {
        "shipped-joint-s-c8": 9,
        "peers-joint-s-c8": 7,
        "peers-joint-p-c8": 3,
        "groups-joint-p-c8": 1,
    }


def test_the_parser_reads_just_what_the_patterns_allow() -> None:
    """Each of the two is the other's witness; a reply cut at the limit is read by neither."""
    for one in recorded():
        assert is_read(one) == keeps_the_contract(one), one
        assert not (is_read(one) and one.ended == "length")
