"""When a baseline comes: what those who learn it tell those who show it."""

from __future__ import annotations

from typing import NamedTuple


class Outlook(NamedTuple):
    """When a baseline comes of one that is learned: ``least`` slots and a week of time are enough.

    ``week_helps`` where a week is held; None while a pace to come decides it. ``comes_s``
    is when one comes by that (epoch seconds), None before there are so many. ``is_week_over``: they
    are all that lacks. ``is_unlikely``: at this pace it comes late or never.
    """

    least: int
    week_helps: bool | None
    comes_s: float | None
    is_week_over: bool
    is_unlikely: bool
