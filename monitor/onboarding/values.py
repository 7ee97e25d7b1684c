"""What a value has to be for a field, whatever its place is called. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from monitor.errors import MessageRejected
from monitor.ingest.event_time import parse_any_unit
from monitor.ingest.formats import chat
from monitor.onboarding.names import word_set, words_of

_LONGEST_ID, _LONGEST_NAME = 200, 100
_LINK = re.compile(r"[a-z][\w+.-]*://\S+|www\.\S+", re.IGNORECASE)
_FILE = re.compile(
    r"[^\n]{1,200}\.(?:pdf|docx?|xlsx?|pptx?|html?|md|txt|csv|jsonl?|xml|png|jpe?g)(?:[#?]\S*)?",
    re.IGNORECASE,
)
_ID = re.compile(
    r"\d+|[0-9a-f]{12,}|[0-9a-f]+(?:-[0-9a-f]+){4}|\w+(?:[-_:#/]\w+)*[-_:#/]\d+",
    re.IGNORECASE | re.ASCII,
)
_TOKEN = re.compile(r"[\x21-\x7e]+")
#: Names that say that texts stand there, be they ever so short.
_TEXTS: Final = word_set("context passage snippet text evidence 上下文 片段 内容")
#: Keys like doc-1 and doc-2 number passages; others that all records share name something else.
_NUMBERED = re.compile(r".*\d")
#: From so many values on, one text in so large a share of them is no question, or no answer.
_FEW, _SAME_QUESTION, _SAME_ANSWER = 5, 0.8, 0.95
#: Words of a title.
_TITLE: Final = 5
_OTHERS: Final = word_set("system developer tool function")
#: Roles whose text is not that of a field.
WRONG_ROLES: Final[dict[str, frozenset[str]]] = {
    "user_input": _OTHERS | {"assistant", "ai", "model", "bot"},
    "response": _OTHERS | {"user", "human"},
}
_ROLES: Final = WRONG_ROLES["user_input"] | WRONG_ROLES["response"]
WRONG_ROLES["reference"] = _ROLES


def is_text(value: Any) -> bool:
    """Whether it is one, and not an empty one."""
    return isinstance(value, str) and bool(value.strip())


def _is_question(value: Any) -> bool:
    return is_text(value) or _gives_text(chat.question, value, "user_input")


def _is_answer(value: Any) -> bool:
    return is_text(value) or _gives_text(chat.answer, value, "response")


def _gives_text(read: Callable[[Any, str], Any], value: Any, field_name: str) -> bool:
    if not isinstance(value, list | dict):
        return False
    if isinstance(value, dict) and role_of(value) in WRONG_ROLES[field_name]:
        return False
    try:
        return isinstance(read(value, ""), str)
    except MessageRejected:
        return False


def role_of(value: dict[str, Any]) -> str | None:
    """Who says what stands in an object, if it says so."""
    role = value.get("role", value.get("type"))
    return role.lower() if isinstance(role, str) else None


def are_turns(value: Any) -> bool:
    """Whether it is the turns of a chat, which hold both a question and an answer."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and role_of(each) in _ROLES for each in value)
    )


def text_of(field_name: str, value: Any) -> Any:
    """The text that is read of a question or an answer."""
    return chat.question(value, "") if field_name == "user_input" else chat.answer(value, "")


def is_same_in_all(field_name: str, texts: Sequence[Any]) -> bool:
    """Whether nearly all records have the same text: a system prompt, or a status.

    >>> is_same_in_all("user_input", ["Answer."] * 9), is_same_in_all("user_input", ["Why?"])
    (True, False)
    """
    if len(texts) < _FEW:
        return False
    most = Counter(map(str, texts)).most_common(1)[0][1]
    return most >= (_SAME_QUESTION if field_name == "user_input" else _SAME_ANSWER) * len(texts)


def differ_too_much(values: Sequence[Any]) -> bool:
    """Whether they are no names of applications: nearly every record has its own."""
    return len(values) >= _FEW and 2 * len(set(map(str, values))) > len(values)


def are_short(values: Sequence[Any]) -> bool:
    """Whether passages are texts of few words each, as titles are."""
    texts = [text for value in values if isinstance(value, list) for text in value]
    return bool(texts) and all(
        isinstance(text, str) and text.isascii() and len(text.split()) <= _TITLE for text in texts
    )


def is_passage(text: Any, name: str) -> bool:
    """Whether a text below a name is one of words: no address, file, id, or single token.

    >>> is_passage("It lasts 24 months.", "docs"), is_passage("https://x.org/a b", "docs")
    (True, True)
    >>> [is_passage(each, "contexts") for each in ("https://x.org/a.pdf", "a.pdf", "doc_12", "x")]
    [False, False, False, True]
    """
    if not is_text(text):
        return False
    if any(each.fullmatch(text) for each in (_LINK, _FILE, _ID)):
        return False
    return _says_texts(name) or not _TOKEN.fullmatch(text)


def _says_texts(name: str) -> bool:
    return any(word in _TEXTS or word.endswith(("片段", "内容")) for word in words_of(name))


def passages_at(name: str, *, is_sure: bool) -> Callable[[Any], bool]:
    """What tells passages below a ``name``; ``is_sure``: it is that of a field, not one near it."""

    def fits(value: Any) -> bool:
        if isinstance(value, str):
            return is_sure and not name.endswith("内容") and is_passage(value, name)
        if isinstance(value, dict):
            return all(map(is_text, value.values())) and _mostly(value.values(), name)
        if not isinstance(value, list) or not value:
            return False
        if all(isinstance(each, dict) for each in value):
            return not are_turns(value)
        return all(isinstance(each, str | dict) for each in value) and _mostly(
            [each for each in value if isinstance(each, str)], name
        )

    return fits


def _mostly(texts: Iterable[Any], name: str) -> bool:
    found = [is_passage(text, name) for text in texts]
    return 2 * sum(found) > len(found)


def have_own_keys(values: Sequence[Any]) -> bool:
    """Whether objects of texts are by id: their keys differ between records, or number them."""
    objects = [value for value in values if isinstance(value, dict)]
    keys = {frozenset(each) for each in objects}
    return (
        len(objects) < len(values)
        or 2 * len(keys) > len(objects) > 1
        or all(_NUMBERED.fullmatch(key) for each in keys for key in each)
    )


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_ID
    return isinstance(value, int) and not isinstance(value, bool)


def _is_person(value: Any) -> bool:
    """An id, or a name; no question of one."""
    return _is_id(value) and not str(value).rstrip().endswith(("?", "\uff1f"))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME


def is_time(value: Any) -> bool:
    """Whether it says when, with its offset."""
    try:
        return parse_any_unit(value) is not None
    except ValueError:
        return False


def _is_time_of_any_zone(value: Any) -> bool:
    return is_time(value) or (isinstance(value, str) and is_time(f"{value}Z"))


FITS: Final[dict[str, Callable[[Any], bool]]] = {
    "user_input": _is_question,
    "response": _is_answer,
    "reference": is_text,
    "interaction_id": _is_id,
    "timestamp": _is_time_of_any_zone,
    "application": _is_name,
    "model": _is_name,
    "prompt_version": lambda value: _is_name(value) or isinstance(value, int),
    "session": _is_id,
    "user": _is_person,
    "deployment": lambda value: _is_name(value) or _is_id(value),
    "text": is_text,
    "id": _is_id,
    "score": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "relevant": lambda value: isinstance(value, bool),
}
