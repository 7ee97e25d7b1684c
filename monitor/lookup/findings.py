"""What was found, with its place. Pure."""

from __future__ import annotations

from typing import NamedTuple

from monitor.records import Interaction, Reason, ScoreRecord


class PlacedScore(NamedTuple):
    """A score record, and where it stands on its topic."""

    record: ScoreRecord
    partition: int
    offset: int


class PlacedInput(NamedTuple):
    """A record of an input topic: its interaction, or what is wrong with it (``error``, by cause).

    ``timestamp`` is the broker's, in epoch seconds. ``committed`` is where the scorers' group
    stands in its partition, None where nobody may ask. ``hash_value`` is of its sampling key,
    which ``has_key`` says is the configured one. ``rate`` is what its rules give it now, and
    ``dropped`` why it is not even decoded; None where it is. Of ``of_offsets`` of its block the
    hash takes one: 1 where a slot decides (``has_slot``), or nothing more; None where the limits
    set how many.
    ``held_back`` is the rule of ``ingest`` that holds it back. ``is_copy`` says that an equal
    record was written shortly before it, ``is_hidden`` that the log hides what is to be judged.
    It ``was_too_old`` to be judged when it was logged already, or ``is_too_old`` by now.
    """

    topic: str
    partition: int
    offset: int
    timestamp: float
    interaction: Interaction | None
    error: str | None = None
    cause: str | None = None
    committed: int | None = None
    hash_value: float = 0.0
    has_key: bool = True
    rate: float = 1.0
    dropped: Reason | None = None
    of_offsets: int | None = 1
    has_slot: bool = False
    is_trace: bool = False
    held_back: str | None = None
    is_copy: bool = False
    is_hidden: bool = False
    was_too_old: bool = False
    is_too_old: bool = False

    @property
    def is_read(self) -> bool | None:
        """Whether the scorers' group is past it; None where nobody knows."""
        return None if self.committed is None else self.committed > self.offset


class LookupFindings(NamedTuple):
    """All that the topics hold of an id.

    ``scores`` are its own, ``slot`` the record of another one that was judged for its slot.
    ``dead_letters`` are its dead letters as rows. ``paused`` says what is paused now, for its
    application. ``searched`` are the topics that were read.
    """

    interaction_id: str
    scores: tuple[PlacedScore, ...] = ()
    inputs: tuple[PlacedInput, ...] = ()
    dead_letters: tuple[dict[str, object], ...] = ()
    slot: PlacedScore | None = None
    paused: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
