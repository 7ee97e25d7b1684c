"""How the monitor itself is, in one line. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from monitor.records.durations import in_words

#: Seconds after which it is told that nothing has been judged.
SILENT_S: Final = 600.0


class StatePart(NamedTuple):
    """A part of the line; ``is_bad`` is set off."""

    text: str
    is_bad: bool = False


def state_line(
    latest_ms: int | None,
    now_ms: int,
    paused: Sequence[str],
    waiting: Mapping[str, str],
    *,
    pauses_read: bool = True,
) -> list[StatePart]:
    """What was judged last, what is paused, and what these pages wait for. Epoch milliseconds.

    Until ``pauses_read`` there may be more pauses.

    >>> [part.text for part in state_line(1_000, 5_000, (), {})]
    ['judged last 4 s ago', 'nothing is paused', 'these pages are up to date']
    >>> [part.is_bad for part in state_line(0, 3_600_000, ("bot",), {})]
    [True, True, False]
    >>> for part in state_line(0, 3_600_000, (), {"audit": "start"}):
    ...     print(part)
    StatePart(text='the last that is read so far was judged 60 min ago', is_bad=False)
    StatePart(text='nothing is paused', is_bad=False)
    StatePart(text='audit waits: start', is_bad=True)
    >>> state_line(1_000, 5_000, (), {}, pauses_read=False)[1].text
    'whether anything is paused is not known yet'
    """
    found = [_judged(latest_ms, now_ms) if not waiting else _judged_so_far(latest_ms, now_ms)]
    found += [StatePart(f"paused: {one}", is_bad=True) for one in paused]
    if not paused:
        unread = "whether anything is paused is not known yet"
        found.append(StatePart("nothing is paused" if pauses_read else unread))
    found += [StatePart(f"{name} waits: {why}", is_bad=True) for name, why in waiting.items()]
    if not waiting:
        found.append(StatePart("these pages are up to date"))
    return found


def _judged_so_far(latest_ms: int | None, now_ms: int) -> StatePart:
    """While these pages wait for something, what was judged since may be still to be read."""
    if latest_ms is None:
        return StatePart("nothing is read yet")
    ago_s = max(0.0, (now_ms - latest_ms) / 1000)
    return StatePart(f"the last that is read so far was judged {in_words(ago_s)} ago")


def _judged(latest_ms: int | None, now_ms: int) -> StatePart:
    if latest_ms is None:
        return StatePart("nothing has been judged yet")
    ago_s = max(0.0, (now_ms - latest_ms) / 1000)
    if ago_s < SILENT_S:
        return StatePart(f"judged last {in_words(ago_s)} ago")
    said = f"nothing was judged for {in_words(ago_s)}: no traffic, or the judge is gone"
    return StatePart(said, is_bad=True)
