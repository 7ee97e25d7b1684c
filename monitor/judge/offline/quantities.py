"""Numbers, dates, times and amounts, in one spelling whatever language they were written in.

A text *offers* facts, a claim *needs* them. Each need is a tuple of alternatives: a claim of
"30 days" is met by 30 days, 720 hours or a bare 30, but not by 30 weeks.

``a:30`` any number 30 · ``n:30`` a 30 without a known unit · ``q:s:2592000`` an amount of a unit
· ``d:05-03`` a day of the year · ``m:5`` a month · ``t:15:30`` a time · ``o:3`` an ordinal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from monitor.judge.offline.units import CJK_UNIT, MONTHS, NUMBER_WORDS, ORDINALS, SCALES, UNITS
from monitor.judge.text import word_list

QuantityWords = tuple[str, ...]

_BETWEEN = frozenset(word_list("business working calendar consecutive full whole of us u.s."))
_CURRENCY = frozenset("$€£¥")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2,4})$")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?$")
_PLAIN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?$|\d+(?:\.\d+)?$")
_PARTS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NOT_DIGIT = re.compile(r"\D")
_ENDINGS = frozenset(word_list("st nd rd th"))
_ALSO_WORDS = frozenset(word_list("may march mar second"))
_BEFORE_MONTH = frozenset(word_list("in of since until by early late mid every from to next last"))
_HINT = frozenset([*MONTHS, *NUMBER_WORDS, *ORDINALS])
_AFTERNOON = {"pm": 12, "p.m": 12, "p.m.": 12, "am": 0, "a.m": 0, "a.m.": 0}


class Quantity(NamedTuple):
    """One number, date, time, amount or ordinal: tokens ``at`` to ``end``, the unit included.

    ``need`` is empty where a claim need not find it again, as the "one" of "one of them".
    """

    at: int
    end: int
    need: QuantityWords
    offers: tuple[str, ...]


def is_numeric(word: str) -> bool:
    """Whether a lower-case token may begin a number, a date or an ordinal."""
    return word in _HINT


def show(value: float) -> str:
    """One spelling for equal numbers.

    >>> show(1200.0), show(3.50)
    ('1200', '3.5')
    """
    if value > 1e15:
        return f"{value:.9g}"
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0")


def read_facts(words: Sequence[str]) -> list[Quantity]:
    """The facts in the lower-case tokens of one sentence, in order.

    >>> [fact.need for fact in read_facts(["within", "two", "weeks"])]
    [('q:s:1209600', 'n:2')]
    >>> [fact.need for fact in read_facts(["on", "3", "may"])]
    [('d:05-03',)]
    """
    facts: list[Quantity] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word[0].isdigit() or word in _HINT:
            found, i = _read_at(words, i)
            facts += found
        else:
            i += 1
    return facts


def _read_at(words: Sequence[str], i: int) -> tuple[list[Quantity], int]:
    word = words[i]
    if word in MONTHS:
        return _read_month(words, i)
    if word in ORDINALS or (word[0].isdigit() and word[-2:] in _ENDINGS):
        return _read_ordinal(words, i)
    if not word[0].isdigit() or _PLAIN.match(word):
        return _read_number(words, i)
    clock = _CLOCK.match(word)
    if clock and i + 1 < len(words) and words[i + 1] in _AFTERNOON:
        return [_time(i, i + 2, int(clock[1]), int(clock[2]), words[i + 1])], i + 2
    return [Quantity(i, i + 1, n, (*n, *_months_of(n))) for n in _compound(word)], i + 1


@lru_cache(maxsize=4096)
def _compound(word: str) -> tuple[QuantityWords, ...]:
    """The facts of a token like 2024-05-03, 5/3/2024, 10:30, 10-15 or 1.2.3."""
    if match := _DATE.match(word):
        return ((f"d:{int(match[2]):02}-{int(match[3]):02}",), (f"a:{match[1]}",))
    if match := _SLASHED.match(word):
        a, b = int(match[1]), int(match[2])
        return ((f"d:{a:02}-{b:02}", f"d:{b:02}-{a:02}"), (f"a:{match[3]}",))
    if match := _CLOCK.match(word):
        return ((f"t:{int(match[1]):02}:{match[2]}",),)
    parts = _PARTS.findall(word)
    return tuple((f"a:{show(float(part.replace(',', '')))}",) for part in parts)


def _months_of(need: QuantityWords) -> list[str]:
    return [f"m:{int(fact[2:4])}" for fact in need if fact.startswith("d:")]


def _read_month(words: Sequence[str], i: int) -> tuple[list[Quantity], int]:
    """``May 3`` or a month alone; a month after its day was read with the day."""
    month, after = MONTHS[words[i]], words[i + 1] if i + 1 < len(words) else ""
    if day := _day(after):
        return [_date(i, i + 2, month, day)], i + 2
    year = after.isdigit() and len(after) == 4
    if words[i] in _ALSO_WORDS and not year and (words[i - 1] if i else "") not in _BEFORE_MONTH:
        return [], i + 1
    return [Quantity(i, i + 1, (f"m:{month}",), (f"m:{month}",))], i + 1


def _day(word: str) -> int:
    digits = word[:-2] if word[-2:] in _ENDINGS else word
    return int(digits) if digits.isdecimal() and len(digits) <= 2 and 0 < int(digits) <= 31 else 0


def _date(at: int, end: int, month: int, day: int) -> Quantity:
    fact = f"d:{month:02}-{day:02}"
    return Quantity(at, end, (fact,), (fact, f"m:{month}", f"a:{day}", f"o:{day}"))


def _time(at: int, end: int, hour: int, minute: int, half: str) -> Quantity:
    fact = f"t:{hour % 12 + _AFTERNOON[half]:02}:{minute:02}"
    return Quantity(at, end, (fact,), (fact, f"a:{hour}"))


def _read_ordinal(words: Sequence[str], i: int) -> tuple[list[Quantity], int]:
    word = words[i]
    value = ORDINALS[word] if word in ORDINALS else int(_NOT_DIGIT.sub("", word)[:15] or 0)
    j = i + 2 if i + 1 < len(words) and words[i + 1] == "of" else i + 1
    if j < len(words) and words[j] in MONTHS and 0 < value <= 31:
        return [_date(i, j + 1, MONTHS[words[j]], value)], j + 1
    need = (f"o:{value}",) if value != 1 else ()
    return [Quantity(i, i + 1, need, (f"o:{value}", f"a:{value}"))], i + 1


def _read_number(words: Sequence[str], i: int) -> tuple[list[Quantity], int]:
    value, j = _value(words, i)
    follower = words[j] if j < len(words) else ""
    if follower in MONTHS and 0 < value <= 31 and value == int(value):
        return [_date(i, j + 1, MONTHS[follower], int(value))], j + 1
    if follower in _AFTERNOON and 0 < value <= 12.59:
        minute = round(value % 1 * 100)
        return [_time(i, j + 1, int(value), minute, follower)], j + 1
    (unit, end), number = _unit(words, i, j), show(value)
    if unit is None:
        need = () if words[i] in ("one", "half") else (f"a:{number}",)
        return [Quantity(i, j, need, (f"a:{number}", f"n:{number}"))], j
    amount = f"q:{unit[0]}:{show(round(value * unit[1], 6))}"
    return [Quantity(i, end, (amount, f"n:{number}"), (amount, f"a:{number}"))], j


def _value(words: Sequence[str], i: int, parts: int = 4) -> tuple[float, int]:
    """The number that begins at token i, of at most so many parts, and the index after it."""
    word, j = words[i], i + 1
    if word[0].isdigit():
        value = float(word.replace(",", ""))
    else:
        value = NUMBER_WORDS[word]
        if value >= 20 and j < len(words) and 0 < NUMBER_WORDS.get(words[j], 99) < 10:
            value, j = value + NUMBER_WORDS[words[j]], j + 1
    total = 0.0
    while j < len(words):
        if words[j] in SCALES:
            value, j = value * SCALES[words[j]], j + 1
        elif parts > 1 and value >= 100 and not word[0].isdigit() and _continues(words, j):
            more, j = _value(words, j + (words[j] == "and"), parts - 1)
            total, value = total + value, more
        elif words[j : j + 3] == ["and", "a", "half"]:
            value, j = value + 0.5, j + 3
        else:
            break
    return total + value, j


def _continues(words: Sequence[str], j: int) -> bool:
    if words[j] == "and":
        j += 1
    return j < len(words) and words[j] in NUMBER_WORDS


def _unit(words: Sequence[str], i: int, j: int) -> tuple[tuple[str, float] | None, int]:
    """The unit of the number in tokens i to j, and where number and unit end."""
    if i and words[i - 1] in _CURRENCY:
        return UNITS[words[i - 1]], j
    if words[j : j + 2] == ["per", "cent"]:
        return UNITS["%"], j + 2
    unit_at = j + 1 if j + 1 < len(words) and words[j] in _BETWEEN else j
    if unit_at >= len(words):
        return None, j
    word = words[unit_at]
    if found := UNITS.get(word):
        return found, unit_at + 1 if unit_at == j and word[0] < "\u2fff" else j
    match = CJK_UNIT.match(word) if word[0] > "\u2fff" else None
    return (UNITS[match[0]] if match else None), j
