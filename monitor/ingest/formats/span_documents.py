"""What attributes of a span hold as JSON, as flattened names, or as values; documents among it."""

from __future__ import annotations

from typing import Any, Final

from pydantic_core import from_json

from monitor.ingest.formats.logged import MOST_PASSAGES
from monitor.ingest.formats.otlp import Span, SpanAttributes
from monitor.ingest.formats.rejection import wrong_value
from monitor.ingest.formats.reshaping import unflattened
from monitor.records import REDACTED_TEXT

_TEXTS: Final = ("content", "text", "page_content", "pageContent")
_FLAT: Final = "document."
_IDS: Final = ("id", "id_", "node_id")
#: Under which frameworks put documents into an output, the likeliest first.
_LISTED: Final = ("documents", "source_documents", "source_nodes", "nodes", "context", "contexts")
#: Objects around a document: LlamaIndex's node with a score, and what both write when they save.
_AROUND: Final = ("node", "kwargs", "__data__")


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
    """Passages of its output, where that is a list of objects with texts, or holds one; else None.

    As LangChain and LlamaIndex write documents and nodes.
    """
    output = parsed(span.attributes.get("output.value"))
    return _listed_documents(output) or listed_in_output(span)


def listed_in_output(span: Span) -> list[dict[str, Any]] | None:
    """Passages under a name that says so in its output, beside whatever else; None without."""
    output = parsed(span.attributes.get("output.value"))
    if not isinstance(output, dict):
        return None
    found = (_listed_documents(parsed(output.get(name))) for name in _LISTED)
    return next((each for each in found if each), None)


def _listed_documents(found: Any) -> list[dict[str, Any]] | None:
    is_of_documents = isinstance(found, list) and 0 < len(found) <= MOST_PASSAGES
    if not is_of_documents or any(_text(_inner(parsed(each))) is None for each in found):
        return None
    return [_document(each, "output.value") for each in found]


def _within(found: Any) -> Any:
    """The list in an object that holds nothing but documents, as LangChain writes it."""
    if isinstance(found, dict) and isinstance(found.get("documents"), list | str):
        return parsed(found["documents"])
    return found


def _document(found: Any, path: str) -> dict[str, Any]:
    """As a passage; the conventions of GenAI leave out texts, which are then hidden to us."""
    if isinstance(found, str):
        inner = _inner(parsed(found))
        # A passage may be JSON itself: then its text is the passage.
        if _text(inner) is None:
            return {"id": None, "text": found}
    elif isinstance(found, dict):
        inner = _inner(found)
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
    if isinstance(score, int | float) and not isinstance(score, bool):
        made["score"] = score
    return made


def _inner(found: Any) -> Any:
    """The document in an object, which may be flattened, or JSON in a text."""
    if not isinstance(found, dict):
        return found
    if "document" in found:
        whole = found["document"]
        inner = parsed(whole)
        # As above: JSON that is no document is a passage.
        is_text = isinstance(whole, str) and _text(inner) is None
        return whole if is_text else inner if isinstance(inner, dict) else {}
    if _text(found) is None:
        for name in _AROUND:
            within = _inner(parsed(found.get(name)))
            if _text(within) is not None:
                return {"score": found.get("score"), **within}
    flat = {key[len(_FLAT) :]: each for key, each in found.items() if key.startswith(_FLAT)}
    return flat or found


def _text(inner: Any) -> str | None:
    if not isinstance(inner, dict):
        return None
    texts = (inner.get(name) for name in _TEXTS)
    text = next((each for each in texts if isinstance(each, str)), None)
    resource = inner.get("text_resource")
    return _text(resource) if text is None and isinstance(resource, dict) else text
