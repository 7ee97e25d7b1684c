"""Texts with tokens in place of what is found in them; the same value gets the same token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from monitor.errors import ConfigurationError, MessageRejected
from monitor.ingest.redaction.kinds import BUILT_IN, NUMBERS, too_short
from monitor.ingest.redaction.matches import Finder, TextMatch
from monitor.ingest.redaction.own import OwnPattern
from monitor.ingest.redaction.phones import phones
from monitor.ingest.redaction.pieces import FAILED, REDACT, Piece, Search, replaced
from monitor.ingest.redaction.reach import ReadTooFar
from monitor.records import Interaction, Passage
from monitor.runtime.patterns import INSTALL

#: Raised with every change of what is found, so that scores of two rule sets are never mixed.
RULES_VERSION: Final = "4"
OFF: Final = "off"
#: Without a salt, a short token says little of a value that somebody guesses.
_TOKEN_BYTES = 3


@contextmanager
def foreseen() -> Iterator[None]:
    """Whatever goes wrong inside becomes ``MessageRejected``, whose message holds no text."""
    try:
        yield
    except MessageRejected:
        raise
    except Exception as error:  # noqa: BLE001 - a text that cannot be redacted must not get out
        last = error.__traceback__
        while last and last.tb_next:
            last = last.tb_next
        where = f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else "?"
        raise MessageRejected(
            f"redaction: {type(error).__name__} at {where}; key, value and headers stay on the "
            "source topic",
            stage=REDACT,
            cause=FAILED,
        ) from None  # the message of the cause may hold what was to be redacted


@dataclass(frozen=True)
class RedactionRules:
    """What is redacted: built-in ``kinds``, phone numbers of ``regions``, and own ``patterns``.

    ``salt`` keys the tokens: without it nobody can tell a value from its token by trying.
    """

    kinds: tuple[str, ...] = ("key", "email", "iban", "card", "phone")
    regions: tuple[str, ...] = ()
    patterns: Mapping[str, str] = field(default_factory=dict)
    salt: str = field(default="", repr=False)

    @property
    def tag(self) -> str:
        """What of it may change a verdict, for the version of a judge."""
        parts = (*sorted(self.kinds), *sorted(self.regions), *sorted(self.patterns.items()))
        said = "\0".join(map(repr, (RULES_VERSION, *parts)))
        return f"on-{blake2b(said.encode(errors='replace'), digest_size=3).hexdigest()}"


class Redactor:
    """Replaces what ``rules`` find (None: nothing); ``count`` hears the kind of each one.

    Where that fails, all methods raise ``MessageRejected`` with the cause ``FAILED``.
    """

    def __init__(
        self, rules: RedactionRules | None, count: Callable[[str], None] = lambda kind: None
    ) -> None:
        self._count = count
        self.tag = rules.tag if rules else OFF
        # Own patterns go first, for they are meant.
        patterns = rules.patterns if rules else {}
        self._own = [_OwnSearch(name, _own(name, it)) for name, it in patterns.items()]
        kinds = rules.kinds if rules else ()
        self._typed = [_Typed(kind, find) for kind, find in BUILT_IN.items() if kind in kinds]
        # Last, for they are guessed.
        self._made = [_phones(rules)] if rules and "phone" in kinds else []
        salt = rules.salt.encode() if rules else b""
        self._key = blake2b(salt).digest() if salt else b""

    @property
    def is_on(self) -> bool:
        """Whether anything can be found."""
        return bool(self._own or self._typed or self._made)

    @property
    def has_own(self) -> bool:
        """Whether it looks for patterns of the user's own."""
        return bool(self._own)

    def searches(self) -> Sequence[Search]:
        """What looks for values in one text, in order."""
        return [*self._own, *self._typed, *(made() for made in self._made)]

    def text(self, text: str) -> str:
        """The text with tokens. Done again, it changes nothing more: tokens are left alone."""
        if not self._own and too_short(text):
            return text
        with foreseen():
            return replaced(text, self.searches(), self._counted)

    def message(self, error: MessageRejected) -> MessageRejected:
        """The error with tokens in its message, which names fields; or that of failing at it."""
        try:
            said = self.text(str(error))
        except MessageRejected as failed:
            return failed
        return MessageRejected(said, stage=error.stage, cause=error.cause)

    def value(self, found: Any) -> Any:
        """A JSON value: texts and keys in it, and whole numbers that are values as digits.

        A whole number may be written as ``4111111111111111.0``: some tools make it that.
        """
        if isinstance(found, str):
            return self.text(found)
        if isinstance(found, list):
            return [self.value(each) for each in found]
        if isinstance(found, dict):
            return {self.text(key): self.value(each) for key, each in found.items()}
        is_whole = isinstance(found, int) or (isinstance(found, float) and found.is_integer())
        if is_whole and not isinstance(found, bool):
            digits = str(int(found))
            return found if (clean := self.text(digits)) == digits else clean
        return found

    def interaction(self, found: Interaction) -> Interaction:
        """The interaction with tokens in its texts and attributes; names and ids stay."""
        if not self.is_on:
            return found
        with foreseen():
            return found.model_copy(
                update={
                    "user_input": self.text(found.user_input),
                    "response": self.text(found.response),
                    "retrieved_contexts": tuple(map(self._passage, found.retrieved_contexts)),
                    "reference": None if found.reference is None else self.text(found.reference),
                    "attributes": self.value(found.attributes),
                }
            )

    def _passage(self, passage: Passage) -> Passage:
        text = self.text(passage.text)
        # Itself where nothing is found: of a hundred thousand passages copies take long.
        return passage if text == passage.text else passage.model_copy(update={"text": text})

    def _counted(self, kind: str, value: str) -> str:
        self._count(kind)
        return self._token(kind, value)

    def _token(self, kind: str, value: str) -> str:
        raw = value.encode(errors="surrogatepass")
        digest = blake2b(raw, key=self._key, digest_size=_TOKEN_BYTES, person=kind.encode()[:16])
        return f"<{kind.upper()}:{digest.hexdigest()}>"


@dataclass(frozen=True)
class _Typed:
    """A built-in kind, in the shadow of a text."""

    kind: str
    find: Finder

    def __call__(self, piece: Piece) -> Iterable[TextMatch]:
        if piece.is_too_short or (self.kind in NUMBERS and not piece.may_hold_numbers):
            return ()
        seen = piece.shadow
        found = self.find(seen.plain)
        if seen.is_in_place:  # as most are, and it is looked into many times for a chain
            return found
        return (TextMatch(*seen.place(start, end), value) for start, end, value in found)

    def sure(self, piece: Piece) -> int:
        return len(piece.text)  # none is longer than what is left of a window


@dataclass(frozen=True)
class _OwnSearch:
    """A pattern of the user's own, in the text as it was logged."""

    kind: str
    find: OwnPattern

    def __call__(self, piece: Piece) -> Iterator[TextMatch]:
        try:
            yield from self.find.found(piece.text, piece.before, piece.after)
        except ReadTooFar:
            raise MessageRejected(
                f"redaction.patterns.{self.kind}: reads on behind each of its many matches in a "
                f"text of {len(piece.text)} characters. Bound the length of what follows, like "
                ".{0,200}. Key, value and headers stay on the source topic",
                stage=REDACT,
                cause=FAILED,
            ) from None

    def sure(self, piece: Piece) -> int:
        return self.find.sure(piece.text, piece.before)


def _phones(rules: RedactionRules) -> Callable[[], _Typed]:
    """Phone numbers: anew for every text, of which so many are looked up."""
    try:
        made = phones(rules.regions)
    except ValueError as error:
        raise ConfigurationError(f"redaction.regions: {error}") from None
    return lambda: _Typed("phone", made())


def _own(name: str, pattern: str) -> OwnPattern:
    try:
        return OwnPattern(pattern)
    except ValueError as error:
        raise ConfigurationError(f"redaction.patterns.{name}: found {pattern!r}, {error}") from None
    except ImportError:
        raise ConfigurationError(
            f"redaction.patterns: own patterns need google-re2; {INSTALL}"
        ) from None
