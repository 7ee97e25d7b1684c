"""Chinese as the offline judge reads it: numerals, dates, opposites, denials and bigrams."""

from __future__ import annotations

import re
from typing import NamedTuple

from monitor.judge.offline.quantities import show
from monitor.judge.offline.thesaurus import CHINESE
from monitor.judge.offline.units import DAYS, MONTHS
from monitor.judge.text import word_list

_MONTH_OF = {number: name.capitalize() for name, number in reversed(MONTHS.items())}
_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "亿": 10**8}
_N = "[零〇一二两三四五六七八九十百千万亿]"
_MEASURE = (
    "(?=[天日年月周星小分秒元块个次人位名件倍岁种层米公条项款所家只张台楼页章届代级号点度省市县间"
    "杯本篇工英平辆场集座颗艘部美欧季成毫厘克吨升千份支门])"
)
_PERCENT = re.compile(rf"百分之({_N}+(?:点{_N}+)?|\d+(?:\.\d+)?)")
_ORDINAL = re.compile(rf"第({_N}+|\d+)")
_DAY = re.compile("(?:星期|礼拜|周)([一二三四五六日天])(?!天)")
_IDIOMS = "十分(?!钟|之)|千万(?=[不别要])|万一|一些|一般|一起|一定|一样|一直|统一|唯一|一切|第"
_NUMERAL = re.compile(rf"{_IDIOMS}|(?<![\d.])(?P<n>{_N}{{2,}}|{_N}{_MEASURE})")
# From the beginning of its digits on, and with as many groups as numbers have: so that a page of
# digits is read once, and not from each of them on.
_SCALED = re.compile(r"(?<!\d)(\d+(?:,\d{3}){0,9}(?:\.\d+)?)\s*([千百]?[万亿]+|千(?![克米瓦]))")
_DATE = re.compile(r"(?:(\d{4})年)?(\d{1,2})月(?:份|(\d{1,2})[日号])?")
_CLOCK = re.compile(r"(上午|早上|凌晨|中午|下午|晚上|傍晚)(\d{1,2})[点时:](半|\d{1,2})?分?")
_SYNONYM = re.compile("|".join(sorted(CHINESE, key=len, reverse=True)))
_OPPOSITES = word_list("""
增长:下降 超过:不足 至少:最多 以上:以下 之前:之后 以前:以后 最高:最低 最大:最小 首次:末次
打开:关闭 开放:关闭 国内:国际 在线:线下 进口:出口 南部:北部 东部:西部 早于:晚于 男性:女性
利润:亏损 自动:手动 公开:私密 内部:外部 永久:临时 支持:反对 强制:自愿
""")
_SAME_CONCEPT = {"至少": "超过", "以上": "超过", "打开": "开放"}
_POLES: dict[str, tuple[str, int]] = {}
for _pair in _OPPOSITES:
    _plus, _, _minus = _pair.partition(":")
    _POLES[_plus] = (_SAME_CONCEPT.get(_plus, _plus), 1)
    _POLES[_minus] = (_SAME_CONCEPT.get(_plus, _plus), -1)
_POLE = re.compile("|".join(_POLES))
_NOT_DENIALS = (
    "不(?:会|得|能|宜|可)?(?:超过|多于|高于|大于|低于|少于|足|到|满)"
    "|不同|不断|不过|不仅|不但|不少|不久|不管|不论|不锈|不等|无论|无线|未来|非常|非洲|除非|分别|特别"
    "|级别|类别|性别|区别|识别|别墅|别名|个别"
)
_DENIAL = re.compile(
    f"{_NOT_DENIALS}|(?P<no>禁止|严禁|不允许|不可|不能|不会|不得|不应|不宜|不用|没有|无法|无需|无须"
    "|拒绝|请勿|并非|从未|尚未|不是|不再|不|没|免收|免除|免交|未|无|非|勿)"
)
_STOPS = re.compile(
    "因此|所以|如果|但是|而且|并且|或者|以及|可以|允许|已经|其中|这个|这些|那个|该|[的了是在和与及将"
    "被把对从向为于以之其此这那也都就而或等们吗呢吧着过到由给让则即且会能可有]"
)
_REACH = 4


class CjkRun(NamedTuple):
    """One run of CJK characters as tokens: all, those denied, and opposites with their sign."""

    tokens: tuple[str, ...]
    denied: tuple[str, ...]
    denies: bool
    signs: tuple[tuple[str, int], ...]


def numeral(text: str) -> float:
    """The value of a Chinese numeral.

    >>> [numeral(t) for t in ("五", "十二", "三百二十", "一万两千", "二〇二四")]
    [5.0, 12.0, 320.0, 12000.0, 2024.0]
    """
    if len(text) > 1 and all(c in _DIGITS for c in text):
        return float("".join(str(_DIGITS[c]) for c in text))
    total, section, digit = 0.0, 0.0, 0
    for c in text:
        if c in _DIGITS:
            digit = _DIGITS[c]
        elif c in _SMALL:
            section, digit = section + (digit or 1) * _SMALL[c], 0
        else:
            total, section, digit = (total + section + digit or 1) * _LARGE[c], 0.0, 0
    return total + section + digit


def normalise_cjk(text: str) -> str:
    """Chinese numerals, dates and times spelled as the number reader knows them.

    >>> normalise_cjk("百分之五的订单在三十天内")
    '5%的订单在30天内'
    >>> normalise_cjk("2024年5月3日下午3点半")
    ' May 3 2024  15:30 '
    """
    text = _PERCENT.sub(lambda m: _percent(m[1]), text)
    text = _DAY.sub(lambda m: f" {DAYS['一二三四五六日天'.index(m[1]) % 7]} ", text)
    text = _ORDINAL.sub(lambda m: f" {_digits(m[1])}th ", text)
    text = _NUMERAL.sub(lambda m: _digits(m[0]) if m["n"] else m[0], text)
    text = _SCALED.sub(lambda m: _scaled(m[1], m[2]), text)
    text = _DATE.sub(_date, text)
    return _CLOCK.sub(_clock, text)


def _percent(text: str) -> str:
    whole, point, decimals = text.partition("点")
    if not point:
        return f"{_digits(text)}%"
    return f"{_digits(whole)}.{''.join(str(_DIGITS.get(c, 0)) for c in decimals)}%"


def _digits(text: str) -> str:
    return text if text[0].isdigit() and text[0] not in _DIGITS else show(numeral(text))


def _scaled(number: str, scale: str) -> str:
    value = float(number.replace(",", ""))
    for c in scale:
        value *= _SMALL.get(c) or _LARGE[c]
    return show(value)


def _date(match: re.Match[str]) -> str:
    year, month, day = match[1], int(match[2]), match[3]
    if not 1 <= month <= 12:
        return match[0]
    return f" {_MONTH_OF[month]} {f'{day} ' if day else ''}{f'{year} ' if year else ''}"


def _clock(match: re.Match[str]) -> str:
    hour = int(match[2])
    if match[1] in ("下午", "晚上", "傍晚") and hour < 12:
        hour += 12
    minute = "30" if match[3] == "半" else f"{int(match[3] or 0):02}"
    return f" {hour:02}:{minute} "


def read_run(run: str) -> CjkRun:
    """Bigrams of a run of CJK characters, split at function words; what a denial reaches."""
    run = _SYNONYM.sub(lambda m: CHINESE[m[0]], run)
    signs = tuple(_POLES[word] for word in _POLE.findall(run))
    pieces: list[tuple[str, bool]] = []
    end, denying, denies = 0, False, False
    for match in _DENIAL.finditer(run):
        if match["no"]:
            pieces.append((run[end : match.start()], denying))
            end, denying, denies = match.end(), True, True
    pieces.append((run[end:], denying))
    tokens: list[str] = []
    denied: list[str] = []
    for piece, after_denial in pieces:
        found = _bigrams(piece)
        tokens += found
        if after_denial:
            denied += found[:_REACH]
    return CjkRun(tuple(tokens), tuple(denied), denies, signs)


def _bigrams(piece: str) -> list[str]:
    found: list[str] = []
    for chunk in _STOPS.split(piece):
        if len(chunk) == 1:
            found.append(chunk)
        else:
            found += [chunk[i : i + 2] for i in range(len(chunk) - 1)]
    return found
