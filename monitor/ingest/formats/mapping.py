"""What a mapping says of each field of an interaction: where it stands in a record. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from monitor.errors import MessageRejected
from monitor.ingest.formats.rejection import missing_field
from monitor.ingest.formats.reshaping import Reshaping, there
from monitor.runtime.expressions import Expression, ExpressionFailed, Nothing

#: Cause of the dead letter of a record that an expression's or a user's function fails on.
FAILED = "mapping_failed"


@dataclass(frozen=True)
class Place:
    """Where a value stands: an expression, or a function of the record; ``text`` as it was set."""

    text: str
    find: Expression | Callable[[Any], Any]
    may_be_absent: bool = False

    def value(self, record: Any, name: str, whole: str = "the record") -> Any:
        """What stands there; None where it may be absent, and is.

        ``name`` is that of the field, ``whole`` what ``record`` is called. Raises
        ``MessageRejected`` that names the field, its place, and what is there instead.
        """
        path = f"{name} ({self.text})"
        if isinstance(self.find, Expression):
            return self._expressed(self.find, record, path, whole)
        try:
            found = self.find(record)
        except SystemExit:
            raise failed(path, "the function called sys.exit") from None
        except Exception as error:  # noqa: BLE001 - it is not ours; its words may quote a text
            raise failed(path, f"the function raised {type(error).__name__}") from None
        if found is None and not self.may_be_absent:
            raise missing_field(f"{path}: the function gave null, expected a value")
        return found

    def _expressed(self, find: Expression, record: Any, path: str, whole: str) -> Any:
        try:
            found = find.value(record)
        except ExpressionFailed as error:
            end = find.end(record)
            beside = f"; {_in_words(end, whole)}" if end.path else ""
            raise failed(path, f"{error}{beside}") from None
        if found is None and not self.may_be_absent:
            beside = _in_words(find.end(record), whole)
            raise missing_field(f"{path}: found nothing, expected a value; {beside}")
        return found


def _in_words(end: Nothing, whole: str) -> str:
    found = there(end.path or whole, end.value)
    return f"{found}, {end.why}" if end.why else found


def failed(path: str, why: str) -> MessageRejected:
    """The error of a function that fails on a record."""
    return MessageRejected(f"{path}: {why}", stage="validate", cause=FAILED)


@dataclass(frozen=True)
class PassagePlaces:
    """Where passages stand, and within each of them its text and what is known of it.

    Without a place for the text a passage is a text, or an object with the native names.
    ``of_one_text`` is what else a passage has that is all of the context.
    """

    of: Place
    text: Place | None = None
    id: Place | None = None
    score: Place | None = None
    relevant: Place | None = None
    of_one_text: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordMapping:
    """``texts`` has ``user_input``, ``response`` and, where one is logged, ``reference``.

    ``attributes`` by their names. Of ``objects`` every field becomes an attribute. ``rest``: all
    fields of the record that no expression reads. ``zone`` is that of times without an offset.
    """

    texts: Mapping[str, Place]
    passages: PassagePlaces
    interaction_id: Place | None = None
    timestamp: Place | None = None
    application: Place | None = None
    attributes: Mapping[str, Place] = field(default_factory=dict)
    objects: tuple[Place, ...] = ()
    rest: bool = False
    reshaping: Reshaping = field(default_factory=Reshaping)
    zone: tzinfo | None = None

    def read_fields(self) -> frozenset[str]:
        """The record's own fields that expressions read."""
        passages = self.passages.of
        places = [self.interaction_id, self.timestamp, self.application, passages, *self.objects]
        places += [*self.texts.values(), *self.attributes.values()]
        return frozenset(
            root
            for place in places
            if place is not None and isinstance(place.find, Expression)
            for root in place.find.roots
        )
