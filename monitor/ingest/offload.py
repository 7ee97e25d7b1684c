"""Going through the texts of one record, in a thread where that takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from monitor.errors import MessageRejected
from monitor.ingest.redaction.pieces import REDACT
from monitor.records import Reason
from monitor.runtime.threads import Threads, TookTooLong

T = TypeVar("T")
#: Bytes of a record up to which its texts may be gone through on the event loop, and how many of
#: them may be digits: looking up what may be a phone number takes a millisecond. Together that is a
#: tenth of a second for the worst of texts.
LONG = 20_000
MANY_DIGITS = 300
#: For so many seconds at most a thread goes through one record; ten megabytes take less.
LONGEST_S = 60.0
#: ASCII digits, and what those of other scripts begin with in UTF-8, as some of their letters do.
_DIGITS = b"0123456789\xd9\xdb\xdf\xe0\xe1\xea\xef\xf0"


def is_quick(parts: Iterable[bytes | None]) -> bool:
    """Whether going through the texts in so many bytes is a matter of milliseconds."""
    size = digits = 0
    for part in parts:
        size += 20 + len(part or b"")
        digits += len(part or b"") - len((part or b"").translate(None, _DIGITS))
    return size < LONG and digits < MANY_DIGITS


async def offloaded(
    threads: Threads,
    parts: Iterable[bytes | None],
    function: Callable[..., T],
    *arguments: Any,
    may_be_slow: bool = False,
) -> T:
    """What a function of a record, given as its parts, returns; in a thread where it takes long.

    A few megabytes take seconds, in which no heartbeat would reach the broker. ``may_be_slow``:
    nobody knows how long it takes, as with patterns of the operator's own. Raises
    ``MessageRejected`` when it does not end.
    """
    if not may_be_slow and is_quick(parts):
        return function(*arguments)
    try:
        return await threads.run(function, *arguments)
    except TookTooLong as error:
        raise MessageRejected(
            f"{error}; key, value and headers stay on the source topic",
            stage=REDACT,
            cause=Reason.STUCK,
        ) from None
