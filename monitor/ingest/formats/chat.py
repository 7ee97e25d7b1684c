"""One text of what chat logs hold in its place: turns with roles, or a list of parts.

Turns are objects with a ``role`` (or a ``type``, as LangChain writes them) and a ``content`` (or
``parts``, as the OpenTelemetry conventions have them); a content is a text, or a list of parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from monitor.errors import MessageRejected
from monitor.ingest.formats.rejection import listed, missing_field, wrong_value

_USER: Final = frozenset({"user", "human"})
_ASSISTANT: Final = frozenset({"assistant", "ai", "model"})
#: Roles that are told by a ``type``, which parts of a text have, too.
_ROLES: Final = _USER | _ASSISTANT | {"system", "developer", "tool", "function"}
#: Of turns of one chat, or parts of one text: each is an object, that may be empty.
MOST_PARTS: Final = 10_000
_EXPECTED: Final = "a text, turns with role and content, or parts with a text"


def question(found: Any, path: str) -> Any:
    """The last turn of the user, where there are turns; else as ``plain_text``.

    >>> question([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}], "")
    'Why?'
    """
    turns = _turns(found, path)
    if turns is None:
        return _one_turn(found, path, _USER, "user")
    asked = [turn for turn in turns if _role(turn) in _USER]
    if not asked:
        raise _no_turn(path, turns, "user")
    return _content(asked[-1], path)


def answer(found: Any, path: str) -> Any:
    """The last turn of the assistant, where there are turns: behind all of the user.

    >>> answer([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}], "")
    'So.'
    """
    turns = _turns(found, path)
    if turns is None:
        return _one_turn(found, path, _ASSISTANT, "assistant")
    # An answer that stands before the question is one to an earlier question.
    last = max((n for n, turn in enumerate(turns) if _role(turn) in _USER), default=-1)
    said = [turn for turn in turns[last + 1 :] if _role(turn) in _ASSISTANT]
    if not said:
        raise _no_turn(path, turns, "assistant", " behind the last one of the user")
    return _content(said[-1], path)


def plain_text(found: Any, path: str) -> Any:
    r"""The text of one turn, or of a list of parts, joined by line breaks.

    What is no text is given back as it is: it is refused where the fields are checked.

    >>> plain_text([{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}], "response")
    'a\nb'
    """
    if isinstance(found, dict) and _role(found) is not None:
        return _content(found, path)
    return _joined(found, path) if isinstance(found, list) else found


def _one_turn(found: Any, path: str, roles: frozenset[str], role: str) -> Any:
    """As ``plain_text``; a turn of somebody else is refused, as it is in a list."""
    if isinstance(found, dict) and (said := _role(found)) is not None:
        is_told = isinstance(found.get("role"), str) or said in _ROLES
        if is_told and said not in roles:
            raise _no_turn(path, [found], role)
    return plain_text(found, path)


def _turns(found: Any, path: str) -> list[dict[str, Any]] | None:
    """None where it is no list of turns; a list within the list is one conversation of many."""
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    if not isinstance(found, list) or not found:
        return None
    _not_too_many(found, path)
    are_turns = all(isinstance(each, dict) and _role(each) is not None for each in found)
    return found if are_turns else None


def _role(turn: dict[str, Any]) -> str | None:
    """None where it is no turn."""
    inner = _inner(turn)
    if not {"content", "parts"} & inner.keys():
        return None
    role = turn.get("role", turn.get("type", inner.get("type")))
    return role.lower() if isinstance(role, str) else None


def _inner(turn: dict[str, Any]) -> dict[str, Any]:
    """Where its content stands: LangChain has ways of its own to write a message."""
    for name in ("kwargs", "data"):
        found = turn.get(name)
        if isinstance(found, dict) and "content" in found:
            return found
    return turn


def _content(turn: dict[str, Any], path: str) -> Any:
    inner = _inner(turn)
    found = inner["content"] if inner.get("content") is not None else inner.get("parts")
    if isinstance(found, list):
        return _joined(found, path)
    if not isinstance(found, str):
        raise wrong_value(f"{path}: content", found, "a text, or a list of parts")
    return found


def _joined(parts: Sequence[Any], path: str) -> str:
    """Their texts; a picture or a call of a tool has none, but one of them must."""
    _not_too_many(parts, path)
    texts = [text for part in parts if (text := _text_of(part)) is not None]
    if not texts:
        raise wrong_value(path, parts, _EXPECTED)
    return "\n".join(texts)


def _not_too_many(found: Sequence[Any], path: str) -> None:
    if len(found) > MOST_PARTS:
        raise wrong_value(path, found, f"at most {MOST_PARTS:,} turns or parts")


def _text_of(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        kind = part.get("type")
        if isinstance(kind, str) and "text" not in kind.lower():
            return None  # a picture's bytes, a call of a tool, what a model thinks before it speaks
        found = (part.get(name) for name in ("text", "content"))
        return next((each for each in found if isinstance(each, str)), None)
    return None


def _no_turn(
    path: str, turns: Sequence[dict[str, Any]], role: str, where: str = ""
) -> MessageRejected:
    roles = [str(_role(turn)) for turn in turns]
    return missing_field(
        f"{path}: found no turn of the {role}{where}, in {len(turns)}; roles there: "
        + listed(dict.fromkeys(roles), len(set(roles)))
    )
