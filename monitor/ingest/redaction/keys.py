"""Where keys, tokens and passwords stand in a text. Linear in its length."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator

from monitor.ingest.redaction.matches import TextMatch

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
_ALL_PLACES = (*_PLACES, *_CHINESE_PLACES)
_PLACE = re.compile("|".join(_ALL_PLACES))
#: The shortest key of a known make.
LEAST = 15
#: Name and password of HTTP, which are no secret in this writing but to the eye.
_BASIC = re.compile(
    r"(?i:(?<![a-z])basic)[ \t]{1,3}([A-Za-z0-9+/]{8,2000}+={0,2}+)(?![A-Za-z0-9+/=])"
)
#: Of Amazon: forty signs, also / and +; what stands before it tells it from a path.
_AMAZONS = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AMAZONS_WORD = re.compile("aws|akia|secret|key")
_AMAZONS_REACH, _AMAZONS_LENGTH = 60, 40
#: A password of words, and what documents write in the place of one.
_PASSWORD = re.compile(
    r"(?:(?i:password|passwd|passphrase|pwd|kennwort|passwort|contraseña|mot de passe)|密码|口令)"
    r"[\"']?[ \t]{0,3}(?:[:=：]|=>)"
)
_WORDS = re.compile(r"[A-Za-z]{3,}(?:[\-_.+~][A-Za-z]{3,}){2,}")
_LEAST_WORDS = 16
_PLACEHOLDER = re.compile("your|here|enter|change|example|pass|secret|insert|replace|none", re.I)
_QUOTES = "\"'`,;.)]}>"
_RUN = re.compile(r"(?<![A-Za-z0-9_\-+/=])[A-Za-z0-9_\-]{32,200}(?![A-Za-z0-9_\-+/=])")
_LEAST_BITS = 4.2


def keys(text: str) -> Iterator[TextMatch]:
    """Keys of known makes, secrets by their place, and long mixed strings of high entropy."""
    for match in known_makes(text):
        yield TextMatch(match.start(), match.end(), match[0])
    lower = in_lower_case(text)
    has_place = any(map(lower.__contains__, _ALL_PLACES))
    if has_place:
        yield from _placed(text, lower)
    if "basic" in lower:
        yield from _basic(text)
    if has_place or "aws" in lower or "AKIA" in text:
        yield from _amazons(text, lower)
    for match in _RUN.finditer(text):
        if _random(match[0]):
            yield TextMatch(match.start(), match.end(), match[0])


def known_makes(text: str) -> Iterator[re.Match[str]]:
    """All matches of ``KNOWN_MAKE``."""
    if any(map(text.__contains__, _MARKS)):
        yield from _near(_MARK.finditer(text), KNOWN_MAKE, text, before=1)  # [spr]k_live_


def secret_places(text: str, lower: str) -> Iterator[re.Match[str]]:
    """All matches of ``PLACED``; ``lower`` is the text ``in_lower_case``."""
    # The word may stand behind others (client access key); a URL's user begins behind its sign.
    return _near(_PLACE.finditer(lower), PLACED, text, before=20, after=3)


def _placed(text: str, lower: str) -> Iterator[TextMatch]:
    for match in secret_places(text, lower):
        group = match.lastindex or 0
        value = match[group].rstrip(_QUOTES)
        if group == 3 or _mixed(value) or (group == 1 and _is_of_words(match[0], value)):
            yield TextMatch(match.start(group), match.start(group) + len(value), value)


def _basic(text: str) -> Iterator[TextMatch]:
    for match in _BASIC.finditer(text):
        try:
            decoded = b64decode(match[1], validate=True).decode()
        except ValueError:
            continue
        if ":" in decoded and decoded.isprintable():
            yield TextMatch(*match.span(1), match[1])


def _amazons(text: str, lower: str) -> Iterator[TextMatch]:
    for word in _AMAZONS_WORD.finditer(lower):
        start = word.end()
        end = start + _AMAZONS_REACH + _AMAZONS_LENGTH
        match = _AMAZONS.search(text, start, end + 1)
        if match and match.end() <= end and _random(match[0], digits=1):
            yield TextMatch(*match.span(), match[0])


def _is_of_words(found: str, value: str) -> bool:
    """A password like ``correct-horse-battery``."""
    if len(value) < _LEAST_WORDS or not _WORDS.fullmatch(value) or _PLACEHOLDER.search(value):
        return False
    return _PASSWORD.match(found) is not None


def in_lower_case(text: str) -> str:
    """Sign for sign."""
    # The only letter that becomes two in lower case would move all places behind it.
    return text.replace("İ", "I").lower()


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


def _mixed(value: str) -> bool:
    """Letters and digits, as no word has them, and no token or placeholder."""
    kinds = (any(map(str.isalpha, value)), any(map(str.isdigit, value)))
    return len(value) >= 8 and all(kinds) and value[0] not in "<{$%["


def _random(value: str, digits: int = 3) -> bool:
    groups = ("[a-z]", "[A-Z]", ".*".join(["[0-9]"] * digits))
    if not all(re.search(group, value) for group in groups):
        return False
    counts, n = Counter(value).values(), len(value)
    # To the last bit the same on every Python, and a hair below the bar is on it.
    return -math.fsum(k / n * math.log2(k / n) for k in counts) >= _LEAST_BITS - 1e-9
