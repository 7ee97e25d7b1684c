"""Where e-mail addresses, card numbers and IBANs stand in a text. Linear in its length.

They are given the shadow of a text, in which blanks, hyphens and digits are plain. What a library
can check it checks: Luhn digits and the IBAN registry are python-stdnum's. The shapes before that
are regular expressions with possessive quantifiers, or bounded ones, that can begin only where a
run of their characters begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.ingest.redaction.keys import LEAST, keys
from monitor.ingest.redaction.matches import Finder, TextMatch

# Letters of European scripts; Chinese text stands next to an address without a space.
_LETTERS = "A-Za-z\u00c0-\u024f\u0370-\u052f"
_LOCAL = rf"{_LETTERS}0-9._+\-"
_EMAIL = re.compile(
    rf"(?<![{_LOCAL}])[._+\-]*+([{_LETTERS}0-9][{_LOCAL}]*+(?:@|%40)"
    rf"(?:[{_LETTERS}0-9\-]++\.)+(xn--[A-Za-z0-9\-]{{2,59}}|[{_LETTERS}]{{2,24}})"
    rf"(?![{_LETTERS}0-9]))"
)
_AT = re.compile("@|%40")
#: ``bob (at) example (dot) com``.
_AT_IN_WORDS = re.compile(r"[(\[{] ?[aA][tT] ?[)\]}]")
_DOT_IN_WORDS = re.compile(r" ?[(\[{] ?[dD][oO][tT] ?[)\]}] ?")
_IN_WORDS = re.compile(
    rf"(?<![{_LOCAL}])([{_LETTERS}0-9][{_LOCAL}]{{0,63}}+) ?{_AT_IN_WORDS.pattern} ?"
    rf"((?:[{_LETTERS}0-9\-]{{1,63}}+(?:\.|{_DOT_IN_WORDS.pattern})){{1,8}}[{_LETTERS}]{{2,24}})"
    rf"(?![{_LETTERS}0-9])"
)
# Letters and their marks of all other scripts, of which Chinese and Japanese put no space between
# words: there an address ends with a top level domain that is one.
_OTHERS = "\u0530-\u1fff\u2c00-\u2dff\u3040-\ud7ff\uf900-\ufdff\ufe70-\ufefc\U00020000-\U0003ffff"
_CHINESE = (
    *("中国", "中國", "台湾", "台灣", "香港", "澳门", "澳門", "新加坡", "公司", "网络", "網路"),
    *("网址", "网店", "网站", "商城", "商店", "在线", "中文网", "集团", "政务", "政府", "公益"),
    *("移动", "组织机构", "机构", "信息", "世界", "企业", "健康", "コム", "みんな"),
)
_ELSEWHERE = re.compile(
    rf"(?:[{_LETTERS}{_OTHERS}0-9\-]{{1,63}}+\.){{1,8}}"
    rf"(?:xn--[A-Za-z0-9\-]{{2,59}}|[{_LETTERS}]{{2,24}}|{'|'.join(_CHINESE)}"
    r"|[\u0530-\u1fff\uac00-\ud7a3\ufb1d-\ufdff\ufe70-\ufefc]{2,24})"
    rf"(?![{_LETTERS}0-9])"
)
_BEFORE_AT = re.compile(rf"[{_LETTERS}0-9][{_LOCAL}]{{0,63}}$")
_BEFORE_AT_ELSEWHERE = re.compile(rf"[{_OTHERS}0-9][{_OTHERS}0-9._+\-]{{0,63}}$")
_OTHER = re.compile(f"[{_OTHERS}]")
#: Like ``icon@2x.png``.
_FILES = frozenset(
    ["css", "gif", "htm", "html", "ico", "jpeg", "jpg", "js", "json", "pdf", "png", "svg", "webp"]
)

#: Cards, accounts and phone numbers all have so many digits, this close together.
_DIGITS = re.compile(r"\d(?:\D{0,3}\d){6}")
#: What may stand between groups: blanks, or the end of a line or of a table's cell ...
_BLANK = r"(?: {1,2}|[\t\n]|\r\n)"
#: ... or one of these, the same each time.
_SIGN = r"([._\-]| - )"
# The looking back comes second: a search for a digit is quick.
_CARD = re.compile(
    r"\d(?<!\d\d)(?<!\d[.,]\d)"
    rf"(?:(\d{{3}}(?:{_BLANK}\d{{4}}){{3}})(?:{_BLANK}\d{{1,3}}(?!\d))?"
    rf"|(\d{{3}}{_SIGN}\d{{4}}\3\d{{4}}\3\d{{4}})(?:\3\d{{1,3}}(?!\d))?"
    rf"|\d{{3}}(?:{_BLANK}\d{{6}}{_BLANK}\d{{4,5}}|{_SIGN}\d{{6}}\4\d{{4,5}})"
    rf"|\d{{5}}(?:{_BLANK}|[_\-]| - )\d{{13}}|\d{{12,18}})(?!\d)"
)
#: Issuers by their first digits, and how long their numbers are.
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d*(?<=^.{16})"
    r"|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12,15}"
    r"|(?:6011|64[4-9]\d|65\d\d|60\d\d|81\d\d|82\d\d|508\d)\d{12,15}|62\d{14,17}"
    r"|(?:50|5[6-9]|6[0-9])\d{11,17}|220[0-4]\d{12,15}"
)

_GROUP = r"(?: - |\r\n|[ \t\n\-])?[A-Za-z0-9]"
# From its first digits on, as digits are rarer than letters; the two letters are before them.
_IBAN = re.compile(
    r"\d\d(?<=(?<![A-Za-z0-9])[A-Za-z]{2}\d\d)"
    rf"(?:{_GROUP}{{4}}){{2,7}}(?:{_GROUP}{{1,3}})?(?![A-Za-z0-9])"
)

#: The shortest phone number that is looked for, and no password is shorter.
_LEAST_NUMBER = 8
_ATS = frozenset("@\uff20\ufe6b")
_DIGIT_OR_AT = re.compile(
    r"[\d@\uff20\ufe6b&\u00b2\u00b3\u00b9\u2070-\u2089\u2460-\u2468\u24ea\u2776-\u277e]"
    r"|[(\[{] ?[aA][tT] ?[)\]}]"
)


def emails(text: str) -> Iterator[TextMatch]:
    """E-mail addresses, also with a percent-encoded at sign, or one in words between brackets.

    >>> [text[a:b] for text in ["see bob@example.com."] for a, b, _ in emails(text)]
    ['bob@example.com']
    >>> [value for _, _, value in emails("bob (at) example.com")]
    ['bob@example.com']
    """
    if "@" in text or "%40" in text:
        for match in _EMAIL.finditer(text):
            if match[2].lower() not in _FILES:
                yield TextMatch(match.start(1), match.end(1), _address(match[1]))
        if _OTHER.search(text):
            yield from _emails_elsewhere(text)
    if any(sign in text for sign in "([{") and _AT_IN_WORDS.search(text):
        for match in _IN_WORDS.finditer(text):
            domain = _DOT_IN_WORDS.sub(".", match[2])
            if domain.rpartition(".")[2].lower() not in _FILES:
                yield TextMatch(*match.span(), f"{match[1]}@{domain}".lower())


def cards(text: str) -> Iterator[TextMatch]:
    """Card numbers of 13 to 19 digits that an issuer may have given, and whose check digit fits.

    >>> [value for _, _, value in cards("4111 1111 1111 1111 and 4111 1111 1111 1112")]
    ['4111111111111111']
    """
    from stdnum import luhn

    for match in _CARD.finditer(text):
        # With what follows in a group of its own (a longer number), and without it (a year).
        shorter = max(match.end(1), match.end(2))
        for end in (match.end(), shorter)[: 1 + (0 < shorter < match.end())]:
            value = re.sub(r"\D", "", text[match.start() : end])
            if len(set(value)) > 1 and _ISSUERS.fullmatch(value) and luhn.is_valid(value):
                yield TextMatch(match.start(), end, value)
                break


def ibans(text: str) -> Iterator[TextMatch]:
    """International bank account numbers of the registry, with fitting check digits.

    >>> [value for _, _, value in ibans("pay to DE89 3704 0044 0532 0130 00 today")]
    ['DE89370400440532013000']
    """
    for match in _IBAN.finditer(text):
        start, end = match.start() - 2, match.end()
        while end - start >= 15:
            value = re.sub(r"[\s\-]", "", text[start:end]).upper()
            if _is_iban(value):
                yield TextMatch(start, end, value)
                break
            # A word may follow it: without the last group.
            end = _before_last_group(text, start, end)


#: Of these kinds nothing is found where ``may_hold_numbers`` says no.
NUMBERS = frozenset(["iban", "card", "phone"])
BUILT_IN: dict[str, Finder] = {"key": keys, "email": emails, "iban": ibans, "card": cards}
"""All but phone numbers, in the order in which they are looked for."""


def too_short(text: str) -> bool:
    """Whether nothing built in can stand there: a short word, as names of fields are, or number.

    Numbers and passwords have digits, addresses a sign for «at», and keys are longer.
    """
    if len(text) < _LEAST_NUMBER:
        return _ATS.isdisjoint(text)
    return len(text) < LEAST and _DIGIT_OR_AT.search(text) is None


def may_hold_numbers(text: str) -> bool:
    """Whether there are enough digits close together; quick to say."""
    return _DIGITS.search(text) is not None


def _emails_elsewhere(text: str) -> Iterator[TextMatch]:
    """Addresses with letters that are not European; of Chinese text, the whole run before it."""
    for at in _AT.finditer(text):
        domain = _ELSEWHERE.match(text, at.end())
        before = text[max(0, at.start() - 64) : at.start()]
        is_other = _OTHER.match(before[-1:]) is not None
        if domain and (is_other or _OTHER.search(domain[0])):
            name = (_BEFORE_AT_ELSEWHERE if is_other else _BEFORE_AT).search(before)
            if name:
                start = at.start() - len(name[0])
                yield TextMatch(start, domain.end(), _address(text[start : domain.end()]))


def _address(raw: str) -> str:
    return _AT.sub("@", raw).lower()


def _before_last_group(text: str, start: int, end: int) -> int:
    place = max(text.rfind(sign, start, end) for sign in " \t\n-")
    return start + len(text[start:place].rstrip(" \t\r\n-")) if place > start else start


def _is_iban(value: str) -> bool:
    # The remainder first: the registry takes a hundred times as long.
    if (
        not value.isascii()
        or int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 != 1
    ):
        return False
    from stdnum import iban

    return iban.is_valid(value, check_country=False)
