"""Where e-mail addresses, card numbers, IBANs and keys stand in a text. Linear in its length.

What a library can check it checks: Luhn digits and the IBAN registry are python-stdnum's. The
shapes before that are regular expressions with possessive quantifiers, or bounded ones, that can
begin only where a run of their characters begins.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """Something found at ``text[start:end]``; ``value`` is the same however it is written."""

    start: int
    end: int
    value: str


Finder = Callable[[str], Iterator[Span]]

# Letters of European scripts; Chinese text stands next to an address without a space.
_LETTERS = "A-Za-z\u00c0-\u024f\u0370-\u052f"
_LOCAL = rf"{_LETTERS}0-9._+\-"
_EMAIL = re.compile(
    rf"(?<![{_LOCAL}])[._+\-]*+([{_LETTERS}0-9][{_LOCAL}]*+(?:@|\uff20|%40)"
    rf"(?:[{_LETTERS}0-9\-]++\.)+(xn--[A-Za-z0-9\-]{{2,59}}|[{_LETTERS}]{{2,24}})"
    rf"(?![{_LETTERS}0-9]))"
)
_AT = re.compile("@|\uff20|%40")
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
_DIGITS = re.compile(r"\d(?:\D{0,2}\d){6}")
# The looking back comes second: a search for a digit is quick.
_CARD = re.compile(
    r"\d(?<!\d\d)(?<!\d[.,]\d)"
    r"(?:\d{3}([ \u00a0]{1,2}|[._\-])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3}(?!\d))?"
    r"|\d{3}([ \u00a0]{1,2}|[._\-])\d{6}\2\d{4,5}|\d{5}[ \u00a0_\-]\d{13}|\d{12,18})(?!\d)"
)
#: Issuers by their first digits, and how long their numbers are.
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d*(?<=^.{16})"
    r"|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12,15}"
    r"|(?:6011|64[4-9]\d|65\d\d|60\d\d|81\d\d|82\d\d|508\d)\d{12,15}|62\d{14,17}"
    r"|(?:50|5[6-9]|6[0-9])\d{11,17}|220[0-4]\d{12,15}"
)

_IBAN = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:(?:[ \u00a0\-]?[A-Za-z0-9]{4}){2,7}"
    r"(?:[ \u00a0\-]?[A-Za-z0-9]{1,3})?)(?![A-Za-z0-9])"
)

_PREFIXED = (
    r"sk-(?:[a-z]{2,10}\d{0,2}-)?[A-Za-z0-9_\-]{20,200}",  # OpenAI, Anthropic and the like
    r"[spr]k_(?:live|test)_[A-Za-z0-9]{16,120}",
    r"gh[pousr]_[A-Za-z0-9]{36,255}",
    r"github_pat_[A-Za-z0-9_]{40,255}",
    r"glpat-[A-Za-z0-9_\-]{20,100}",
    r"xox[abeoprs]-[A-Za-z0-9\-]{10,250}",
    r"(?:AKIA|ASIA|AIDA|AROA)[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_\-]{35}",
    r"ya29\.[A-Za-z0-9_\-]{20,250}",
    r"(?:hf|gsk|npm|r8|dop_v1|shpat|pypi)[_\-][A-Za-z0-9_\-]{30,250}",
    r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}",
    r"LTAI[A-Za-z0-9]{12,26}",
    r"AKID[A-Za-z0-9]{32}",
    r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}",  # a JSON web token
)
KNOWN_MAKE = re.compile(
    rf"(?<![A-Za-z0-9_\-])(?:{'|'.join(_PREFIXED)})(?![A-Za-z0-9_\-])"
    # A private key, also one that was cut.
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^\-]|-(?!----))*"
    r"(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
#: What follows these words, or stands in a URL before the host, is a secret by its place.
PLACED = re.compile(
    r"(?i:(?<![a-z0-9])(?:api|secret|access|private|auth|client|account)[ _\-]?(?:access[ _\-]?)?"
    r"(?:key|token|secret)|(?<![a-z0-9])(?:password|passwd|passphrase|pwd|secret|token|kennwort"
    r"|passwort|contraseña|mot de passe)|密码|口令|密钥|令牌)"
    r"[\"']?[ \t]{0,3}(?:[:=：]|=>|is(?= )|是|为)[ \t]{0,3}[\"'“]?([!-~]{8,200})"
    r"|(?i:(?<![a-z])bearer)[ \t]{1,3}([A-Za-z0-9._~+/\-]{16,2000}=*)"
    r"|(?<=://)[^\s/:@]{1,100}:([^\s/@]{1,100})@"
)
#: One of these stands in everything that the two find; to look for them first is much quicker.
_MARKS = (
    *("sk-", "k_live_", "k_test_", "gh", "glpat-", "xox", "AKI", "ASIA", "AIDA", "AROA", "AIza"),
    *(
        "ya29.",
        "hf",
        "gsk",
        "npm",
        "r8",
        "dop_",
        "shpat",
        "pypi",
        "SG.",
        "LTAI",
        "eyJ",
        "-----BEGIN",
    ),
)
_PLACES = ("key", "token", "secret", "pass", "pwd", "kennwort", "contraseña", "bearer", "://")
_CHINESE_PLACES = ("密", "口令", "令牌")
_MARK = re.compile("|".join(map(re.escape, _MARKS)))
_PLACE = re.compile("|".join((*_PLACES, *_CHINESE_PLACES)))
#: The shortest key of a known make.
_LEAST = 15
#: The shortest phone number that is looked for, and no password is shorter.
_LEAST_NUMBER = 8
_DIGIT_OR_AT = re.compile(r"[\d@\uff20]")
_QUOTES = "\"'`,;.)]}>"
_RUN = re.compile(r"(?<![A-Za-z0-9_\-+/=])[A-Za-z0-9_\-]{32,200}(?![A-Za-z0-9_\-+/=])")
_LEAST_BITS = 4.2


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, also with a full-width or percent-encoded at sign.

    >>> [text[a:b] for text in ["see bob@example.com."] for a, b, _ in emails(text)]
    ['bob@example.com']
    """
    if not ("@" in text or "\uff20" in text or "%40" in text):
        return
    for match in _EMAIL.finditer(text):
        if match[2].lower() not in _FILES:
            yield Span(match.start(1), match.end(1), _address(match[1]))
    if _OTHER.search(text):
        yield from _emails_elsewhere(text)


def cards(text: str) -> Iterator[Span]:
    """Card numbers of 13 to 19 digits that an issuer may have given, and whose check digit fits.

    >>> [value for _, _, value in cards("4111 1111 1111 1111 and 4111 1111 1111 1112")]
    ['4111111111111111']
    """
    if not may_hold_numbers(text):
        return
    from stdnum import luhn

    for match in _CARD.finditer(text):
        # With what follows in a group of its own (a longer number), and without it (a year).
        shorter = match.start() + 16 + 3 * len(match[1] or "")
        for end in (match.end(), shorter)[: 1 + (match[1] is not None and match.end() > shorter)]:
            value = _digits(text[match.start() : end])
            if len(set(value)) > 1 and _ISSUERS.fullmatch(value) and luhn.is_valid(value):
                yield Span(match.start(), end, value)
                break


def ibans(text: str) -> Iterator[Span]:
    """International bank account numbers of the registry, with fitting check digits.

    >>> [value for _, _, value in ibans("pay to DE89 3704 0044 0532 0130 00 today")]
    ['DE89370400440532013000']
    """
    for match in _IBAN.finditer(text) if may_hold_numbers(text) else ():
        end = match.end()
        while end - match.start() >= 15:
            value = re.sub(r"[ \u00a0\-]", "", text[match.start() : end]).upper()
            if _is_iban(value):
                yield Span(match.start(), end, value)
                break
            # A word may follow it: without the last group.
            end = max(text.rfind(sign, match.start(), end) for sign in " \u00a0-")


def keys(text: str) -> Iterator[Span]:
    """Keys of known makes, secrets by their place, and long mixed strings of high entropy."""
    for match in known_makes(text):
        yield Span(match.start(), match.end(), match[0])
    yield from _placed(text)
    for match in _RUN.finditer(text):
        if _random(match[0]):
            yield Span(match.start(), match.end(), match[0])


def known_makes(text: str) -> Iterator[re.Match[str]]:
    """All matches of ``KNOWN_MAKE``."""
    if any(mark in text for mark in _MARKS):
        yield from _near(_MARK.finditer(text), KNOWN_MAKE, text, before=1)  # [spr]k_live_


def secret_places(text: str) -> Iterator[re.Match[str]]:
    """All matches of ``PLACED``."""
    # The only letter that becomes two in lower case would move all places behind it.
    lower = text.replace("İ", "I").lower()
    if any(word in lower for word in (*_PLACES, *_CHINESE_PLACES)):
        # The word may stand behind others (client access key); a URL's user begins behind its sign.
        yield from _near(_PLACE.finditer(lower), PLACED, text, before=20, after=3)


BUILT_IN: dict[str, Finder] = {"key": keys, "email": emails, "iban": ibans, "card": cards}
"""All but phone numbers, in the order in which they are looked for."""


def too_short(text: str) -> bool:
    """Whether nothing built in can stand there: a short word, as names of fields are, or number.

    Numbers and passwords have digits, addresses a sign for «at», and keys are longer.
    """
    if len(text) < _LEAST_NUMBER:
        return "@" not in text and "\uff20" not in text
    return len(text) < _LEAST and _DIGIT_OR_AT.search(text) is None


def may_hold_numbers(text: str) -> bool:
    """Whether there are enough digits close together; quick to say."""
    return _DIGITS.search(text) is not None


def _emails_elsewhere(text: str) -> Iterator[Span]:
    """Addresses with letters that are not European; of Chinese text, the whole run before it."""
    for at in _AT.finditer(text):
        domain = _ELSEWHERE.match(text, at.end())
        before = text[max(0, at.start() - 64) : at.start()]
        is_other = _OTHER.match(before[-1:]) is not None
        if domain and (is_other or _OTHER.search(domain[0])):
            name = (_BEFORE_AT_ELSEWHERE if is_other else _BEFORE_AT).search(before)
            if name:
                start = at.start() - len(name[0])
                yield Span(start, domain.end(), _address(text[start : domain.end()]))


def _address(raw: str) -> str:
    return _AT.sub("@", raw).lower()


def _placed(text: str) -> Iterator[Span]:
    for match in secret_places(text):
        group = match.lastindex or 0
        value = match[group].rstrip(_QUOTES)
        if group == 3 or _mixed(value):
            yield Span(match.start(group), match.start(group) + len(value), value)


def _near(
    hints: Iterator[re.Match[str]], pattern: re.Pattern[str], text: str, before: int, after: int = 0
) -> Iterator[re.Match[str]]:
    """What the pattern finds, much quicker: tried where it may begin, not everywhere.

    That is at most ``before`` characters before the beginning of a hint, or ``after`` behind it.
    """
    start = 0
    for hint in hints:
        start = max(start, hint.start() - before)
        while start <= hint.start() + after:
            match = pattern.match(text, start)
            if match:
                yield match
            start = match.end() if match else start + 1


def _digits(text: str) -> str:
    return re.sub(r"[^0-9]", "", unicodedata.normalize("NFKC", text))


def _is_iban(value: str) -> bool:
    # The remainder first: the registry takes a hundred times as long.
    if (
        not value.isascii()
        or int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 != 1
    ):
        return False
    from stdnum import iban

    return iban.is_valid(value, check_country=False)


def _mixed(value: str) -> bool:
    """Letters and digits, as no word has them, and no token or placeholder."""
    kinds = (any(map(str.isalpha, value)), any(map(str.isdigit, value)))
    return len(value) >= 8 and all(kinds) and value[0] not in "<{$%["


def _random(value: str) -> bool:
    groups = ("[a-z]", "[A-Z]", "[0-9].*[0-9].*[0-9]")
    if not all(re.search(group, value) for group in groups):
        return False
    counts, n = Counter(value).values(), len(value)
    # To the last bit the same on every Python, and a hair below the bar is on it.
    return -math.fsum(k / n * math.log2(k / n) for k in counts) >= _LEAST_BITS - 1e-9
