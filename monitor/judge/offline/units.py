"""Months, number words and units: what each name stands for."""

from __future__ import annotations

import re

from monitor.judge.text import word_list

_MONTH_NAMES = word_list("""
january february march april may june july august september october november december
""")
MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, 1)}
MONTHS |= {name[:3]: i for name, i in MONTHS.items()} | {"sept": 9}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_ONES = word_list("""
zero one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen""")
NUMBER_WORDS = {word: float(i) for i, word in enumerate(_ONES)}
_TENS = word_list("twenty thirty forty fifty sixty seventy eighty ninety")
NUMBER_WORDS |= {word: 20.0 + 10 * i for i, word in enumerate(_TENS)}
NUMBER_WORDS |= {"twice": 2.0, "dozen": 12.0, "half": 0.5}
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
SCALES |= {"k": 1e3, "bn": 1e9}
_ORDINALS = word_list("""
zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh
twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth
twentieth""")
ORDINALS = {word: i for i, word in enumerate(_ORDINALS) if i != 2}

UNITS: dict[str, tuple[str, float]] = {}
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
    UNITS |= dict.fromkeys(_names.split(), (_base, _factor))
CJK_UNIT = re.compile("|".join(sorted((u for u in UNITS if u > "\u2fff"), key=len, reverse=True)))
