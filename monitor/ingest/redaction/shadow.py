"""A text as it would be typed: what typography and HTML put in place of plain signs is undone.

Values are looked for in that shadow, and places in it lead back to the text. PDFs and web pages
give narrow and no-break spaces, soft hyphens, joiners without a width, other hyphens, digits of
other scripts and full-width signs in the middle of numbers and addresses.

A sign is read by itself and by its next neighbours, so that a piece of a text has the same shadow
wherever the piece comes from, but for the dashes at its ends.
"""

from __future__ import annotations

import html
import re
import unicodedata
from array import array
from bisect import bisect_right
from functools import lru_cache
from io import StringIO
from typing import NamedTuple

#: Signs of a format that can be seen, before numbers of Arabic scripts.
_VISIBLE = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u08e2")
_HYPHENS = "\u2010\u2011\u2012\ufe63\uff0d"
_LIGATURES = "".join(map(chr, range(0xFB00, 0xFB07)))
_MATHEMATICAL = "".join(map(chr, range(0x1D400, 0x1D800)))
_WIDE = "".join(map(chr, (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))))
#: Signs without a width that are no signs of a format: marks and fillers that cannot be seen.
_UNSEEN_PLACES = (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, 0xFFA0)
_UNSEEN = "".join(map(chr, (*_UNSEEN_PLACES, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
_SIGNS = "\uff20\ufe6b\uff0e\ufe52\u2024\uff0b\ufe62\uff0f\uff3f"
#: Where spaces, digits and signs without a width have their places.
_LOOKED_AT = (*range(0x80, 0x3100), *range(0xA000, 0xAC00), 0xFEFF, *range(0xFFF9, 0xFFFC))
_LOOKED_AT += (*range(0x10000, 0x1D400), *range(0x1E000, 0x1EA00), *range(0x1FBF0, 0x1FBFA))
_LOOKED_AT += tuple(range(0xE0000, 0xE0080))


def _plain() -> dict[str, str]:
    """What stands for a sign; nothing for those that have no width."""
    found = {}
    for sign in map(chr, _LOOKED_AT):
        category = unicodedata.category(sign)
        if category == "Cf" and sign not in _VISIBLE:
            found[sign] = ""
        elif category == "Zs":
            found[sign] = " "
        elif category in ("Zl", "Zp"):
            found[sign] = "\n"
        elif category == "Nd":
            found[sign] = str(unicodedata.digit(sign))
    found |= dict.fromkeys(_HYPHENS, "-") | dict.fromkeys(_UNSEEN, "") | {"\u2800": " "}
    for sign in (*_LIGATURES, *_MATHEMATICAL, *_WIDE, *_SIGNS):
        found[sign] = unicodedata.normalize("NFKC", sign)
    return found


_PLAIN = _plain()
#: Dashes are hyphens within a number or between its groups; elsewhere they part sentences. The
#: full-width brackets of Chinese are those of an area code only next to a digit.
_DASHES = "\u2013\u2212\u2014\u2015\uff08\uff09"
_DASH = re.compile(
    f"[{_DASHES}](?:"
    "(?<=[\u2013\u2212])(?:(?<=[A-Z\\d].)(?=\\d)|(?<=\\d.)(?=[A-Z])"
    "|(?<=[A-Z\\d]\\s.)(?=\\s\\d)|(?<=\\d\\s.)(?=\\s[A-Z]))"
    "|(?<=\\d[\u2014\u2015])(?=\\d)|(?<=\uff08)(?=\\d)|(?<=\\d\uff09))"
)
_IN_PLACE = {**dict.fromkeys(_DASHES, "-"), "\uff08": "(", "\uff09": ")"}
#: Raised, lowered and circled digits are those of a number where there are three and more of them;
#: one or two are a footnote's, or a list's.
_SMALL_PLACES = (0xB2, 0xB3, 0xB9, *range(0x2070, 0x208A), *range(0x2460, 0x2469), 0x24EA)
_SMALL_PLACES += tuple(range(0x2776, 0x277F))
_SMALL = {
    sign: str(unicodedata.digit(sign))
    for sign in map(chr, _SMALL_PLACES)
    if unicodedata.category(sign) == "No"
}
_SMALLS = "".join(_SMALL)
_SMALL_NUMBER = re.compile(f"[{_SMALLS}](?:[ .\\-]?[{_SMALLS}]){{2,}}")
#: Other dots in the domain of an address, where they stand in the place of all dots.
_DOTS = "\u3002\uff61\u00b7\u30fb"
_DOTTED = re.compile(f"@[A-Za-z0-9\\-]{{1,63}}(?:[{_DOTS}][A-Za-z0-9\\-]{{1,63}}){{1,8}}")
_SMALL_PLAIN = str.maketrans(_SMALL)
_DOTS_PLAIN = str.maketrans(dict.fromkeys(_DOTS, "."))
#: Entities, also of a text that was escaped twice, and the end of a line.
_ENTITY = re.compile(
    "<[bB][rR] ?/?>|&(?:amp;)?(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|commat|period|lowbar|plus"
    "|sol|nbsp|ensp|emsp|emsp13|emsp14|thinsp|hairsp|numsp|puncsp|shy|zwnj|zwj|dash|hyphen|minus"
    "|ndash|mdash);"
)
_SAME_LENGTH = {sign: plain for sign, plain in _PLAIN.items() if len(plain) == 1}
_OTHER_LENGTH = {sign: plain for sign, plain in _PLAIN.items() if len(plain) != 1}
# By ranges where a sign takes four bytes: one by one they would be tried one by one.
_FAR = "\U00010000-\U0001eaff\U0001fbf0-\U0001fbf9\U000e0000-\U000e01ef"
_NEAR = re.escape("".join(sign for sign in _PLAIN if sign <= "\uffff"))
_ANY = re.compile(f"[{_NEAR}{_FAR}]")
#: What fills the books; the rest is looked for all at once.
_OFTEN = "\u00a0\u202f\u2009\u2010\u2011\u3000"
_MOVING_NEAR = re.escape("".join(sign for sign in _OTHER_LENGTH if sign <= "\uffff"))
_MOVES = re.compile(f"[{_MOVING_NEAR}{_FAR}]")
_MOVING = re.compile(f"{_MOVES.pattern}|{_ENTITY.pattern}")
#: From so many different signs on they are replaced in one go, which is slow at first.
_MANY = 8


class _Odd(NamedTuple):
    """Signs ``begin`` to ``end`` of the text, which are ``start`` to ``stop`` of the shadow."""

    start: int
    stop: int
    begin: int
    end: int


class Shadow:
    """The shadow of a text, ``plain``, with the way back to places in the text.

    ``odds`` are the numbers of all ``_Odd``, one after the other: there may be millions.
    """

    __slots__ = ("_odds", "plain")

    def __init__(self, plain: str, odds: array[int] | None = None) -> None:
        self.plain = plain
        self._odds = odds

    @property
    def is_in_place(self) -> bool:
        """Whether each of its signs stands where that of the text does."""
        return self._odds is None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text ``plain[start:end]`` stands; signs without a width around it do not."""
        if self._odds is None:
            return start, end
        first = _before(self._odds, start)
        begin = start if first is None else _within(first, start, first.begin)
        last = _before(self._odds, end - 1)
        return begin, end if last is None else _within(last, end, last.end)


def _before(odds: array[int], place: int) -> _Odd | None:
    """The last one that begins there in the shadow, or before."""
    i = 4 * bisect_right(range(len(odds) // 4), place, key=lambda i: odds[4 * i])
    return _Odd(*odds[i - 4 : i]) if i else None


def _within(odd: _Odd, place: int, inside: int) -> int:
    return inside if place < odd.stop else odd.end + place - odd.stop


def shadow(text: str) -> Shadow:
    """The shadow of a text, which is the text itself where all of it is plain.

    >>> shadow("4111\u202f1111\u202f1111\u202f1111 bob\uff20example.com").plain
    '4111 1111 1111 1111 bob@example.com'
    >>> found = shadow("a\u00adb c&#64;d")
    >>> found.plain, found.place(0, 2), found.place(3, 6)
    ('ab c@d', (0, 3), (4, 11))
    """
    plain = text
    if not text.isascii():
        for sign in _OFTEN:
            if sign in plain:
                plain = plain.replace(sign, _PLAIN[sign])
        if any(sign in plain for sign in _DASHES):
            plain = _DASH.sub(lambda match: _IN_PLACE[match[0]], plain)
        if _ANY.search(plain) is not None:
            plain = _in_place(plain)
            if _MOVES.search(plain) is not None:
                return _moved(_small_and_dotted(plain))
        plain = _small_and_dotted(plain)
    is_html = ("&" in plain or "<" in plain) and _ENTITY.search(plain) is not None
    return _moved(plain) if is_html else Shadow(plain)


def _small_and_dotted(text: str) -> str:
    if any(sign in text for sign in _DOTS) and "@" in text:
        text = _DOTTED.sub(lambda match: match[0].translate(_DOTS_PLAIN), text)
    return _SMALL_NUMBER.sub(lambda match: match[0].translate(_SMALL_PLAIN), text)


def _in_place(text: str) -> str:
    signs = _SAME_LENGTH.keys() & set(_ANY.findall(text))
    if len(signs) > _MANY:
        return text.translate({ord(sign): _SAME_LENGTH[sign] for sign in signs})
    for sign in signs:
        text = text.replace(sign, _SAME_LENGTH[sign])
    return text


def _moved(text: str) -> Shadow:
    """With the signs of another length, so that places have to be remembered."""
    parts, odds = StringIO(), array("I")
    last = length = 0
    for match in _MOVING.finditer(text):
        begin, end = match.span()
        sign = match[0]
        plain = _OTHER_LENGTH.get(sign, sign) if end - begin == 1 else _entity(sign)
        if plain == sign:
            continue
        start = length + begin - last
        parts.write(text[last:begin])
        parts.write(plain)
        last, length = end, start + len(plain)
        odds.extend((start, length, begin, end))
    parts.write(text[last:])
    return Shadow(parts.getvalue(), odds)


@lru_cache(1024)
def _entity(written: str) -> str:
    """The sign that HTML writes so; as it is written where that is none of a value."""
    if written.startswith("<"):
        return "\n"
    sign = html.unescape(written.replace("&amp;", "&", 1))
    plain = _PLAIN.get(sign, _IN_PLACE.get(sign, sign))
    return plain if plain.isascii() and plain.isprintable() else written
