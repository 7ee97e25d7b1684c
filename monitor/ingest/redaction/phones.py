"""Phone numbers in a text: international ones, and those of some regions as they are written there.

What may be one is decided by a regular expression; whether it is one by Google's library of
numbering plans (phonenumberslite), by length, prefix and grouping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from monitor.ingest.redaction.matches import Finder, TextMatch

_GAP = r"[ ().\-/\u2013]{0,3}"
#: A line may end within a number that begins with + or 00, and not within a list of others.
_WRAPPED = r"[ ().\-/\u2013\t\r\n]{0,3}"
# What must not stand before them comes second: a search for a sign is quick.
_INTERNATIONAL = re.compile(
    rf"[+0](?<![\dA-Za-z+].)(?:(?<=\+)|0)[1-9](?:{_WRAPPED}\d){{6,14}}(?!\d)"
)
_NATIONAL = re.compile(
    r"[(\d](?<![A-Za-z0-9_.,/+\-].)(?:(?<=\()\d|(?<=\d))"
    rf"(?:{_GAP}\d){{7,12}}(?![\-./]?\d)(?![A-Za-z_@])"
)
_DATE = re.compile(
    r"\d{4}([ .\-/])\d{1,2}\1\d{1,2}(?:\D|$)|\d{1,2}([.\-/])\d{1,2}\2(?:19|20)\d\d(?:\D|$)"
)
_THREE_GROUPS = re.compile(r"\D*\d+(?:\D+\d+){2}")
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")
_TOLD = re.compile(
    r"(?i:tel|telephone|phone|mobile|cell|fax|whatsapp|call|ring|text|dial|telefon|handy|mobil|rufnummer"
    r"|téléphone|tél|portable|teléfono|móvil|telefono|cellulare|telefoon|number is|nummer)"
    r"\.?[ \t]{0,2}(?:no\.?|nr\.?|number|me at|us at|at|on|is)?[ \t:：#.\-]{0,3}$"
    r"|(?:电话|手机|座机|传真|热线|联系方式|号码|致电|拨打)[是为号码 :：]{0,4}$"
)
_LINES = str.maketrans("\t\r\n", "   ")
#: So many candidates of a text are looked up, at half a millisecond each; after that the shape will
#: do, so that a page full of numbers does not hold up the process, and nothing slips through.
MOST_LOOKED_UP = 50
_LEAST_DIGITS = 7


def phones(regions: Sequence[str]) -> Callable[[], Finder]:
    """Makes a finder for one text, of which it may be given piece by piece, and again.

    It finds numbers that begin with + or 00, and national ones of ``regions`` (like US, DE).
    Raises ``ValueError`` for a region that is not known.
    """
    import phonenumbers

    unknown = [region for region in regions if region not in phonenumbers.SUPPORTED_REGIONS]
    if unknown:
        raise ValueError(f"found {unknown[0]!r}, expected two letters like US, of a known region")
    known = tuple(regions)
    return lambda: _Phones(known).find


class _Phones:
    """Finds numbers in the pieces of one text, and remembers which ones it has looked up."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self._known = known
        self._seen: dict[tuple[str, tuple[str, ...]], TextMatch | None] = {}

    def find(self, text: str) -> Iterator[TextMatch]:
        for match, where in _candidates(text, self._known):
            found = self._looked_up(match[0], where)
            if found is not None:
                start = match.start()
                yield TextMatch(start + found.start, start + found.end, found.value)

    def _looked_up(self, raw: str, where: tuple[str, ...]) -> TextMatch | None:
        asked = raw, where
        if asked not in self._seen:
            if len(self._seen) >= MOST_LOOKED_UP:
                return _whole(raw)
            self._seen[asked] = _looked_up(raw, where)
        return self._seen[asked]


def _candidates(
    text: str, known: tuple[str, ...]
) -> Iterator[tuple[re.Match[str], tuple[str, ...]]]:
    """What has the shape of a number, and the regions whose number it may be (none: any)."""
    for match in _INTERNATIONAL.finditer(text):
        yield match, ()
    if known:
        for match in _NATIONAL.finditer(text):
            if _is_written_like_one(match):
                yield match, known


def _is_written_like_one(match: re.Match[str]) -> bool:
    """Grouped digits, a leading zero, or a word before it; a bare run of digits may be anything."""
    raw = match[0]
    if _DATE.match(raw):
        return False
    if raw[0] in "(0" or _THREE_GROUPS.match(raw) or _CHINESE_MOBILE.fullmatch(raw):
        return True
    before = match.string[max(0, match.start() - 30) : match.start()]
    # All of these words end with a letter: quick to say of the digits of a table.
    return before.rstrip(" \t:：#.-")[-1:].isalpha() and _TOLD.search(before) is not None


def _whole(raw: str) -> TextMatch:
    return TextMatch(0, len(raw), re.sub(r"\D", "", raw))


@lru_cache(4096)
def _looked_up(raw: str, regions: tuple[str, ...]) -> TextMatch | None:
    """The number within a candidate, as it is dialled from abroad; None when there is none."""
    found = _numbered(raw, regions)
    unwrapped = raw.translate(_LINES)
    return _numbered(unwrapped, regions) if found is None and unwrapped != raw else found


def _numbered(raw: str, regions: tuple[str, ...]) -> TextMatch | None:
    from phonenumbers import Leniency, PhoneNumberFormat, PhoneNumberMatcher, format_number

    how = Leniency.STRICT_GROUPING if regions else Leniency.VALID
    # Of an international number the region says only what stands for the plus.
    for region in regions or ("GB",):
        for match in PhoneNumberMatcher(raw, region, leniency=how):
            value = format_number(match.number, PhoneNumberFormat.E164)
            if len(re.findall(r"\d", match.raw_string)) >= _LEAST_DIGITS:
                return TextMatch(match.start, match.end, value)
    return None
