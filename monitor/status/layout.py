"""How much of the demo's picture fits a terminal."""

from __future__ import annotations

from typing import Final, NamedTuple

#: Columns with their gap of two.
_NAME, _WINDOW, _GAP = 32, 14, 2
_BARS, _COURSES = (14, 36), (14, 30)


class Detail(NamedTuple):
    """How much is shown: latest events, lines per metric, a table of outcomes, and empty lines.

    ``every``: all metrics, not only those that tell of the incident.
    """

    events: int
    lines: int
    table: bool
    gaps: bool
    every: bool = False


#: From the most to the least; the first that fits the terminal's height is shown.
DETAILS: Final = (
    Detail(3, 3, True, True, every=True),
    Detail(3, 2, True, True, every=True),
    Detail(3, 3, True, True),
    Detail(3, 2, True, True),
    Detail(2, 2, True, True),
    Detail(2, 1, True, True),
    Detail(2, 1, False, True),
    Detail(1, 1, False, True),
    Detail(1, 1, False, False),
)


class Layout(NamedTuple):
    """What fits: columns of the bar and the course (0: none), and windows."""

    bar: int
    course: int
    windows: tuple[str, ...]


def layout(width: int, windows: tuple[str, ...]) -> Layout:
    """Windows first, then a course if there is room, and the bar takes the rest.

    >>> layout(80, ("15s", "1m", "5m"))
    Layout(bar=17, course=0, windows=('15s', '1m'))
    >>> layout(150, ("15s", "1m", "5m"))
    Layout(bar=36, course=30, windows=('15s', '1m', '5m'))
    """
    room = width - 1 - _NAME - _GAP
    shown = windows[: max(1, (room - _BARS[0]) // _WINDOW)]
    room -= _WINDOW * len(shown)
    if room < _BARS[0] + _GAP + _COURSES[0]:
        return Layout(max(_BARS[0], min(_BARS[1], room)), 0, shown)
    course_width = min(_COURSES[1], (room - _GAP) // 2)
    return Layout(min(_BARS[1], room - _GAP - course_width), course_width, shown)
