"""Phone numbers in a text: international ones, and those of some regions as they are written there.

What may be one is decided by a regular expression; whether it is one by Google's library of
numbering plans (phonenumberslite), by length, prefix and grouping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from unicodedata import normalize

from monitor.ingest.redaction.kinds import Finder, Span, may_hold_numbers

_GAP = r"[ \u00a0().\-/\u2010\u2011\u2013]{0,3}"
_INTERNATIONAL = re.compile(rf"(?<![\d+＋A-Za-z])(?:[+＋]|00)[1-9](?:{_GAP}\d){{6,14}}(?!\d)")
_NATIONAL = re.compile(
    rf"(?<![A-Za-z0-9_.,/+＋\-])\(?\d(?:{_GAP}\d){{7,12}}(?![\-./]?\d)(?![A-Za-z_@])"
)
_DATE = re.compile(
    r"\d{4}([ .\-/])\d{1,2}\1\d{1,2}(?:\D|$)|\d{1,2}([.\-/])\d{1,2}\2(?:19|20)\d\d(?:\D|$)"
)
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")
_TOLD = re.compile(
    r"(?i:tel|telephone|phone|mobile|cell|fax|whatsapp|call|ring|text|dial|telefon|handy|mobil|rufnummer"
    r"|téléphone|tél|portable|teléfono|móvil|telefono|cellulare|telefoon|number is|nummer)"
    r"\.?[ \t]{0,2}(?:no\.?|nr\.?|number|me at|us at|at|on|is)?[ \t:：#.\-]{0,3}$"
    r"|(?:电话|手机|座机|传真|热线|联系方式|号码|致电|拨打)[是为号码 :：]{0,4}$"
)
#: So many candidates of a text are looked up, at half a millisecond each; after that the shape will
#: do, so that a page full of numbers does not hold up the process, and nothing slips through.
MOST_LOOKED_UP = 50
_LEAST_DIGITS = 7


def phones(regions: Sequence[str]) -> Finder:
    """Finds numbers that begin with + or 00, and national ones of ``regions`` (like US, DE).

    Raises ``ValueError`` for a region that is not known.
    """
    import phonenumbers

    unknown = [region for region in regions if region not in phonenumbers.SUPPORTED_REGIONS]
    if unknown:
        raise ValueError(f"found {unknown[0]!r}, expected two letters like US, of a known region")
    known = tuple(regions)

    def found(text: str) -> Iterator[Span]:
        left = MOST_LOOKED_UP
        for match, where in _candidates(text, known):
            left -= 1
            start = match.start()
            found = _looked_up(match[0], where) if left >= 0 else _whole(match[0])
            if found is not None:
                yield Span(start + found.start, start + found.end, found.value)

    return found


def _candidates(
    text: str, known: tuple[str, ...]
) -> Iterator[tuple[re.Match[str], tuple[str, ...]]]:
    """What has the shape of a number, and the regions whose number it may be (none: any)."""
    if not may_hold_numbers(text):
        return
    for match in _INTERNATIONAL.finditer(text):
        yield match, ()
    if known:
        for match in _NATIONAL.finditer(text):
            if _is_written_like_one(match):
                yield match, known


def _is_written_like_one(match: re.Match[str]) -> bool:
    """Grouped digits, a leading zero, or a word before it; a bare run of digits may be anything."""
    raw = normalize("NFKC", match[0])
    if _DATE.match(raw):
        return False
    groups = re.findall(r"\d+", raw)
    if raw[0] in "(0" or len(groups) >= 3 or _CHINESE_MOBILE.fullmatch(raw):
        return True
    before = match.string[max(0, match.start() - 30) : match.start()]
    return _TOLD.search(before) is not None


def _whole(raw: str) -> Span:
    return Span(0, len(raw), re.sub(r"\D", "", normalize("NFKC", raw)))


@lru_cache(4096)
def _looked_up(raw: str, regions: tuple[str, ...]) -> Span | None:
    """The number within a candidate, as it is dialled from abroad; None when there is none."""
    from phonenumbers import Leniency, PhoneNumberFormat, PhoneNumberMatcher, format_number

    how = Leniency.STRICT_GROUPING if regions else Leniency.VALID
    # Of an international number the region says only what stands for the plus.
    for region in regions or ("GB",):
        for match in PhoneNumberMatcher(raw, region, leniency=how):
            value = format_number(match.number, PhoneNumberFormat.E164)
            if len(re.findall(r"\d", match.raw_string)) >= _LEAST_DIGITS:
                return Span(match.start, match.end, value)
    return None
