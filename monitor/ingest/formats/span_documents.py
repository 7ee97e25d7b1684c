"""What attributes of a span hold as JSON, as flattened names, or as values; documents among it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from pydantic_core import from_json

from monitor.errors import MessageRejected
from monitor.ingest.formats.logged_interaction import MOST_PASSAGES
from monitor.ingest.formats.otlp import Span, SpanAttributes
from monitor.ingest.formats.rejection import wrong_value
from monitor.ingest.formats.reshaping import unflattened
from monitor.records import REDACTED_TEXT

_TEXTS: Final = ("content", "text", "page_content", "pageContent")
_FLAT: Final = "document."
_IDS: Final = ("id", "id_", "node_id")
#: A text that a framework has named as that of a document.
_OWN_TEXTS: Final = ("page_content", "pageContent")
#: Under which frameworks put documents into an output, the likeliest first.
_LISTED: Final = ("documents", "source_documents", "source_nodes", "nodes", "context", "contexts")
#: Names that applications have for other things, too, like drafts and the nodes of a plan.
_AMBIGUOUS: Final = frozenset({"documents", "nodes"})
#: Objects around a document: LlamaIndex's node with a score, and what both write when they save.
_AROUND: Final = ("node", "kwargs", "__data__")
_DEEPEST: Final = 8
#: What Python writes of an object that nobody has made a text of: no passage.
_REPR: Final = re.compile(r"<?[A-Z]\w*\(\w+=|<[\w.]+ object at |page_content=")
#: The ``type`` of a turn of a chat, as LangChain writes it.
_TURNS: Final = frozenset({"human", "ai", "system", "tool", "function", "chat"})


def structured(found: SpanAttributes, name: str) -> Any:
    """An attribute that may be a value, JSON in a text, or flattened: ``name.0.role``."""
    if name in found:
        return parsed(found[name])
    prefix = f"{name}."
    flat = {key[len(prefix) :]: value for key, value in found.items() if key.startswith(prefix)}
    if not flat:
        return None
    # Under one name, so that numbers are positions of a list.
    return unflattened({f"_.{key}": value for key, value in flat.items()}).get("_")


def parsed(found: Any) -> Any:
    """JSON within a text, where it is one; else the value."""
    if not isinstance(found, str) or found.lstrip()[:1] not in ("{", "["):
        return found
    try:
        return from_json(found, allow_inf_nan=False)
    except ValueError:
        return found


def documents(span: Span, name: str) -> list[dict[str, Any]] | None:
    """Passages of the documents under this name; None where the span has none there.

    Raises ``MessageRejected`` that names the span.
    """
    found = _within(structured(span.attributes, name))
    if found is None:
        return None
    path = f"retrieved_contexts ({name} of span {span.span_id})"
    if not isinstance(found, list):
        raise wrong_value(path, found, "a list of documents")
    if len(found) > MOST_PASSAGES:
        raise wrong_value(path, found, f"at most {MOST_PASSAGES}")
    return [_document(each, f"{path}.{n}") for n, each in enumerate(found)]


def output_documents(span: Span) -> list[dict[str, Any]] | None:
    """Passages of the output of a retriever or reranker; [] where it lists none.

    None: it has no output, or one that nobody understands. A list of documents, texts, or pairs of
    these with a score; or lists of them; or an object that holds one. Raises ``MessageRejected``
    that names the span.
    """
    output = parsed(span.attributes.get("output.value"))
    path = f"retrieved_contexts (output.value of span {span.span_id})"
    if not isinstance(output, dict):
        return _retrieved(output, path)
    lists = (_retrieved(parsed(output.get(name)), path) for name in (*_LISTED, "output"))
    found = [each for each in lists if each is not None]
    return next((each for each in found if each), found[0] if found else None)


def listed_in_output(span: Span) -> list[dict[str, Any]] | None:
    """Passages under a name that says so in its output, beside whatever else; None without.

    Turns of a chat, drafts and plans may have such names: only what is a document counts.
    """
    output = parsed(span.attributes.get("output.value"))
    if not isinstance(output, dict):
        return None
    for name in _LISTED:
        found = parsed(output.get(name))
        if _are_all(found, partial(_is_answered_from, name)):
            return [_document(each, "output.value") for each in found]
    return None


def lists_texts(span: Span) -> bool:
    """Whether its output is a list of objects with texts, or holds one: it may have searched."""
    output = parsed(span.attributes.get("output.value"))
    held = [output.get(name) for name in (*_LISTED, "output")] if isinstance(output, dict) else []
    return any(_are_all(parsed(each), _has_text) for each in (output, *held))


def _retrieved(found: Any, path: str) -> list[dict[str, Any]] | None:
    if not isinstance(found, list):
        return None
    items = list(_in_lists(found))
    if len(items) > MOST_PASSAGES:
        raise wrong_value(path, items, f"at most {MOST_PASSAGES} passages")
    made = [_retrieved_one(each, path) for each in items]
    passages = [each for each in made if each is not None]
    # One without a text is hidden to us; where none has any, these are no documents.
    is_hidden = all(each["text"] == REDACTED_TEXT for each in passages)
    return None if len(passages) < len(made) or (passages and is_hidden) else passages


def _in_lists(found: list[Any]) -> Iterator[Any]:
    """The items of a list, or of the lists in it; a document and its score are one."""
    for each in found:
        if isinstance(each, list) and not _is_scored(each):
            yield from each
        else:
            yield each


def _is_scored(item: list[Any]) -> bool:
    return len(item) == 2 and isinstance(item[0], dict | str) and _is_number(item[1])


def _retrieved_one(each: Any, path: str) -> dict[str, Any] | None:
    if isinstance(each, list) and _is_scored(each):
        made = _retrieved_one(each[0], path)
        return None if made is None else {"score": each[1], **made}
    if not isinstance(each, dict | str) or _is_turn(each):
        return None
    if isinstance(each, str) and _REPR.match(each):
        return None
    return _document(each, path)


def _are_all(found: Any, wanted: Callable[[Any], bool]) -> bool:
    if not isinstance(found, list) or not 0 < len(found) <= MOST_PASSAGES:
        return False
    try:
        return all(map(wanted, found))
    except MessageRejected:
        return False


def _has_text(each: Any) -> bool:
    whole = parsed(each)
    return not _is_turn(whole) and _text(_inner(whole, "")) is not None


def _is_answered_from(name: str, each: Any) -> bool:
    """Whether it is a document by its own names, or by the name under which it stands."""
    whole = parsed(each)
    if not isinstance(whole, dict) or _is_turn(whole):
        return False
    inner = _inner(whole, "")
    if any(isinstance(inner.get(own), str) for own in _OWN_TEXTS):
        return True
    is_node = "node" in whole or "text_resource" in inner or "class_name" in inner
    if is_node:
        return _text(inner) is not None
    return name not in _AMBIGUOUS and isinstance(inner.get("text"), str)


def _is_turn(found: Any) -> bool:
    """Whether it is a turn of a chat, as chat logs or LangChain write it."""
    if not isinstance(found, dict):
        return False
    names = found.get("id")
    if isinstance(names, list) and "messages" in names:
        return True
    inner = found.get("kwargs")
    inner = inner if isinstance(inner, dict) else found
    if any(name in inner for name in _OWN_TEXTS):
        return False
    if isinstance(inner.get("role"), str):
        return True
    kind = inner.get("type")
    is_of_turns = isinstance(kind, str) and (kind.lower() in _TURNS or kind.endswith("Message"))
    return is_of_turns and "content" in inner


def _within(found: Any) -> Any:
    """The list in an object that holds nothing but documents, as LangChain writes it."""
    if isinstance(found, dict) and isinstance(found.get("documents"), list | str):
        return parsed(found["documents"])
    return found


def _document(found: Any, path: str) -> dict[str, Any]:
    """As a passage; the conventions of GenAI leave out texts, which are then hidden to us."""
    if isinstance(found, str):
        inner = _inner(parsed(found), path)
        # A passage may be JSON itself: then its text is the passage.
        if _text(inner) is None:
            return {"id": None, "text": found}
    elif isinstance(found, dict):
        inner = _inner(found, path)
        if isinstance(inner, str):
            return {"id": None, "text": inner}
    else:
        raise wrong_value(path, found, "a text or an object")
    text, score = _text(inner), inner.get("score")
    name = next((inner[each] for each in _IDS if inner.get(each) is not None), None)
    made: dict[str, Any] = {
        "id": name if isinstance(name, str | int) else None,
        "text": REDACTED_TEXT if text is None else text,
    }
    if _is_number(score):
        made["score"] = score
    return made


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _inner(found: Any, path: str, depth: int = 0) -> Any:
    """The document in an object, which may be flattened, or JSON in a text.

    Raises ``MessageRejected`` at ``path`` where more than ``_DEEPEST`` objects are around it.
    """
    if not isinstance(found, dict):
        return found
    if depth > _DEEPEST:
        raise wrong_value(path, found, f"a document in at most {_DEEPEST} objects")
    if "document" in found:
        whole = found["document"]
        inner = parsed(whole)
        # As above: JSON that is no document is a passage.
        is_text = isinstance(whole, str) and _text(inner) is None
        return whole if is_text else inner if isinstance(inner, dict) else {}
    if _text(found) is None:
        for name in _AROUND:
            within = _inner(parsed(found.get(name)), path, depth + 1)
            if _text(within) is not None:
                return {"score": found.get("score"), **within}
    flat = {key[len(_FLAT) :]: each for key, each in found.items() if key.startswith(_FLAT)}
    return flat or found


def _text(inner: Any) -> str | None:
    if not isinstance(inner, dict):
        return None
    resource = inner.get("text_resource")
    texts = [inner.get(name) for name in _TEXTS]
    texts.append(resource.get("text") if isinstance(resource, dict) else None)
    return next((each for each in texts if isinstance(each, str)), None)
