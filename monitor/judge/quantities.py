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

from monitor.judge.text import word_list

Need = tuple[str, ...]

_MONTH_NAMES = word_list("""january february march april may june july august september october november
december""")
MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, 1)}
MONTHS |= {name[:3]: i for name, i in MONTHS.items()} | {"sept": 9}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_ONES = word_list("""zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen""")
NUMBER_WORDS = {word: float(i) for i, word in enumerate(_ONES)}
_TENS = word_list("twenty thirty forty fifty sixty seventy eighty ninety")
NUMBER_WORDS |= {word: 20.0 + 10 * i for i, word in enumerate(_TENS)}
NUMBER_WORDS |= {"twice": 2.0, "dozen": 12.0, "half": 0.5}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALES |= {"k": 1e3, "bn": 1e9}
_ORDINALS = word_list("""zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh
twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth
twentieth""")
ORDINALS = {word: i for i, word in enumerate(_ORDINALS) if i != 2}

_UNITS: dict[str, tuple[str, float]] = {}
for _base, _factor, _names in (
    ("s", 1, "second seconds sec 秒 秒钟"),
    ("s", 60, "minute minutes min mins 分钟"),
    ("s", 3600, "hour hours hr hrs 小时 个小时"),
    ("s", 86400, "day days 天 日 个工作日"),
    ("s", 604800, "week weeks 周 个星期 星期"),
    ("month", 1, "month months 个月"),
    ("month", 12, "year years yr yrs 年"),
    ("%", 1, "% percent pct percentage"),
    ("usd", 1, "$ dollar dollars usd 美元"),
    ("eur", 1, "€ euro euros eur 欧元"),
    ("gbp", 1, "£ pounds gbp 英镑"),
    ("cny", 1, "¥ yuan rmb cny 元 块 块钱 元人民币"),
    ("m", 0.001, "mm 毫米"),
    ("m", 0.01, "cm centimeters centimetres 厘米"),
    ("m", 1, "m meter meters metre metres 米"),
    ("m", 1000, "km kilometer kilometers kilometre kilometres 公里 千米"),
    ("mile", 1, "mile miles 英里"),
    ("g", 0.001, "mg milligrams 毫克"),
    ("g", 1, "g gram grams 克"),
    ("g", 1000, "kg kilogram kilograms kilos 公斤 千克"),
    ("g", 1000000, "ton tons tonne tonnes 吨"),
    ("l", 0.001, "ml milliliters millilitres 毫升"),
    ("l", 1, "liter liters litre litres 升"),
    ("mb", 1, "mb megabytes"),
    ("mb", 1024, "gb gigabytes"),
    ("mb", 1048576, "tb terabytes"),
):
    _UNITS |= {name: (_base, _factor) for name in _names.split()}
_CJK_UNIT = re.compile("|".join(sorted((u for u in _UNITS if u > "\u2fff"), key=len, reverse=True)))
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


class Fact(NamedTuple):
    """One number, date, time, amount or ordinal and the index of the token where it begins.

    ``need`` is empty where a claim need not find it again, as the "one" of "one of them".
    """

    at: int
    need: Need
    offers: tuple[str, ...]


def is_numeric(word: str) -> bool:
    """Whether a lower-case token may begin a number, a date or an ordinal."""
    return word in _HINT


def show(value: float) -> str:
    """One spelling for equal numbers.

    >>> show(1200.0), show(3.50)
    ('1200', '3.5')
    """
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0")


def read_facts(words: Sequence[str]) -> list[Fact]:
    """The facts in the lower-case tokens of one sentence, in order.

    >>> [fact.need for fact in read_facts(["within", "two", "weeks"])]
    [('q:s:1209600', 'n:2')]
    >>> [fact.need for fact in read_facts(["on", "3", "may"])]
    [('d:05-03',)]
    """
    facts: list[Fact] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word[0].isdigit() or word in _HINT:
            found, i = _read_at(words, i)
            facts += found
        else:
            i += 1
    return facts


def _read_at(words: Sequence[str], i: int) -> tuple[list[Fact], int]:
    word = words[i]
    if word in MONTHS:
        return _read_month(words, i)
    if word in ORDINALS or (word[0].isdigit() and word[-2:] in _ENDINGS):
        return _read_ordinal(words, i)
    if not word[0].isdigit() or _PLAIN.match(word):
        return _read_number(words, i)
    clock = _CLOCK.match(word)
    if clock and i + 1 < len(words) and words[i + 1] in _AFTERNOON:
        return [_time(i, int(clock[1]), int(clock[2]), words[i + 1])], i + 2
    return [Fact(i, need, (*need, *_months_of(need))) for need in _compound(word)], i + 1


@lru_cache(maxsize=4096)
def _compound(word: str) -> tuple[Need, ...]:
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


def _months_of(need: Need) -> list[str]:
    return [f"m:{int(fact[2:4])}" for fact in need if fact.startswith("d:")]


def _read_month(words: Sequence[str], i: int) -> tuple[list[Fact], int]:
    """``May 3`` or a month alone; a month after its day was read with the day."""
    month, after = MONTHS[words[i]], words[i + 1] if i + 1 < len(words) else ""
    if day := _day(after):
        return [_date(i, month, day)], i + 2
    year = after.isdigit() and len(after) == 4
    if words[i] in _ALSO_WORDS and not year and (words[i - 1] if i else "") not in _BEFORE_MONTH:
        return [], i + 1
    return [Fact(i, (f"m:{month}",), (f"m:{month}",))], i + 1


def _day(word: str) -> int:
    digits = word[:-2] if word[-2:] in _ENDINGS else word
    return int(digits) if digits.isdigit() and len(digits) <= 2 and 0 < int(digits) <= 31 else 0


def _date(at: int, month: int, day: int) -> Fact:
    fact = f"d:{month:02}-{day:02}"
    return Fact(at, (fact,), (fact, f"m:{month}", f"a:{day}", f"o:{day}"))


def _time(at: int, hour: int, minute: int, half: str) -> Fact:
    fact = f"t:{hour % 12 + _AFTERNOON[half]:02}:{minute:02}"
    return Fact(at, (fact,), (fact, f"a:{hour}"))


def _read_ordinal(words: Sequence[str], i: int) -> tuple[list[Fact], int]:
    word = words[i]
    value = ORDINALS[word] if word in ORDINALS else int(_NOT_DIGIT.sub("", word) or 0)
    j = i + 2 if i + 1 < len(words) and words[i + 1] == "of" else i + 1
    if j < len(words) and words[j] in MONTHS and 0 < value <= 31:
        return [_date(i, MONTHS[words[j]], value)], j + 1
    need = (f"o:{value}",) if value != 1 else ()
    return [Fact(i, need, (f"o:{value}", f"a:{value}"))], i + 1


def _read_number(words: Sequence[str], i: int) -> tuple[list[Fact], int]:
    value, j = _value(words, i)
    follower = words[j] if j < len(words) else ""
    if follower in MONTHS and value == int(value) and 0 < value <= 31:
        return [_date(i, MONTHS[follower], int(value))], j + 1
    if follower in _AFTERNOON and 0 < value <= 12.59:
        minute = round(value % 1 * 100)
        return [_time(i, int(value), minute, follower)], j + 1
    unit, number = _unit(words, i, j), show(value)
    if unit is None:
        need = () if words[i] in ("one", "half") else (f"a:{number}",)
        return [Fact(i, need, (f"a:{number}", f"n:{number}"))], j
    amount = f"q:{unit[0]}:{show(round(value * unit[1], 6))}"
    return [Fact(i, (amount, f"n:{number}"), (amount, f"a:{number}"))], j


def _value(words: Sequence[str], i: int) -> tuple[float, int]:
    """The number that begins at token i and the index after it."""
    word, j = words[i], i + 1
    if word[0].isdigit():
        value = float(word.replace(",", ""))
    else:
        value = NUMBER_WORDS[word]
        if value >= 20 and j < len(words) and 0 < NUMBER_WORDS.get(words[j], 99) < 10:
            value, j = value + NUMBER_WORDS[words[j]], j + 1
    total = 0.0
    while j < len(words):
        if words[j] in _SCALES:
            value, j = value * _SCALES[words[j]], j + 1
        elif value >= 100 and not word[0].isdigit() and _continues(words, j):
            more, j = _value(words, j + (words[j] == "and"))
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


def _unit(words: Sequence[str], i: int, j: int) -> tuple[str, float] | None:
    if i and words[i - 1] in _CURRENCY:
        return _UNITS[words[i - 1]]
    if j + 1 < len(words) and words[j] in _BETWEEN:
        j += 1
    if j >= len(words):
        return None
    found = _UNITS.get(words[j])
    if found is None and words[j][0] > "\u2fff" and (match := _CJK_UNIT.match(words[j])):
        return _UNITS[match[0]]
    return found
