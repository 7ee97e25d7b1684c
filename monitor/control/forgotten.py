"""Whose texts are to be kept nowhere, as the control topic has it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from monitor.control.state import WrittenAt
from monitor.records import ScoreRecord
from monitor.records.control import FORGOTTEN, ControlRecord, ForgottenRecord, Removed
from monitor.records.forgetting import ForgottenKind, without_texts


class ForgottenTexts:
    """Knows of a record whether it was forgotten. ``report`` is told of each that is new."""

    def __init__(self, report: Callable[[ForgottenRecord], None] = lambda _: None) -> None:
        self._report = report
        self._fingerprints: set[str] = set()
        #: How many records on the topic ask for each way to compute a fingerprint.
        self._kinds: dict[ForgottenKind, set[str]] = {}

    @property
    def salt(self) -> str | None:
        """One that is in use, so that there need not be more of them; None before the first."""
        return next((kind.salt for kind in self._kinds), None)

    def apply(self, found: ControlRecord | Removed, _written: WrittenAt) -> None:
        """What is to be forgotten from now on, or no longer."""
        if isinstance(found, Removed):
            self._remove(found.key.removeprefix(f"{FORGOTTEN}/"))
        elif isinstance(found, ForgottenRecord):
            is_new = found.fingerprint not in self._fingerprints
            self._fingerprints.add(found.fingerprint)
            self._kinds.setdefault(found.kind_of_value, set()).add(found.fingerprint)
            if is_new:
                self._report(found)

    def _remove(self, fingerprint: str) -> None:
        self._fingerprints.discard(fingerprint)
        for kind, held in list(self._kinds.items()):
            held.discard(fingerprint)
            if not held:
                del self._kinds[kind]

    def kind_of(self, record: ScoreRecord) -> ForgottenKind | None:
        """Why a record was forgotten; None where it was not."""
        for kind, held in self._kinds.items():
            if kind.of(record) in held:
                return kind
        return None

    def cleared(self, record: ScoreRecord) -> ScoreRecord:
        """The record, without its texts where they were forgotten."""
        kind = self.kind_of(record)
        return record if kind is None else without_texts(record, kind.attribute)
