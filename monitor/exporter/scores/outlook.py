"""When a baseline comes: what those who learn it tell those who show it."""

from __future__ import annotations

from typing import NamedTuple


class Outlook(NamedTuple):
    """When a baseline comes of one that is learned: ``least`` slots do for a week of them.

    None where a week is never held. ``week_s`` is when the week is over (epoch seconds), None
    before there is any slot. ``is_unlikely``: at this pace it comes late or never.
    """

    least: int | None
    week_s: float | None
    is_unlikely: bool
