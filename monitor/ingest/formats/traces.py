"""What the spans of one trace say together: one interaction. Pure.

Conventions: OpenInference (``openinference.span.kind``, ``input.value``, ``retrieval.documents``,
``reranker.output_documents``, ``llm.*``), OpenTelemetry GenAI (``gen_ai.operation.name``,
``gen_ai.input.messages``, ``gen_ai.retrieval.documents``, the older events and
``gen_ai.prompt.0.content``), and OpenLLMetry (``traceloop.span.kind``, ``traceloop.entity.input``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from monitor.errors import MessageRejected
from monitor.ingest.event_time import parse_any_unit
from monitor.ingest.formats import chat
from monitor.ingest.formats.logged import MOST_PASSAGES, Decoded, LoggedInteraction, decoded
from monitor.ingest.formats.otlp import Span, SpanAttributes
from monitor.ingest.formats.rejection import listed, missing_field, named, rejected, wrong_value
from monitor.ingest.formats.reshaping import unflattened
from monitor.records import REDACTED_TEXT, Source

LLM, AGENT, CHAIN = "LLM", "AGENT", "CHAIN"
RETRIEVER, RERANKER = "RETRIEVER", "RERANKER"
_OPERATIONS: Final = {
    "chat": LLM,
    "text_completion": LLM,
    "generate_content": LLM,
    "invoke_agent": AGENT,
    "invoke_workflow": CHAIN,
    "retrieval": RETRIEVER,
    "execute_tool": "TOOL",
    "embeddings": "EMBEDDING",
}
_TRACELOOP: Final = {"workflow": CHAIN, "task": CHAIN, "agent": AGENT, "tool": "TOOL"}
#: Where applications put a question and an answer within an object, the likeliest first.
_ASKED: Final = (
    "question",
    "query",
    "user_input",
    "input",
    "query_str",
    "prompt",
    "messages",
    "query_bundle",
    "str_or_query_bundle",
    "inputs",
    "kwargs",
    "args",
    "message",
    "text",
    "content",
)
_SAID: Final = (
    "answer",
    "response",
    "output",
    "result",
    "output_text",
    "messages",
    "message",
    "generations",
    "choices",
    "completion",
    "generation",
    "outputs",
    "text",
    "content",
    "kwargs",
    "data",
)
_DEEPEST: Final = 8
#: What the conventions define; every other attribute of the root is the application's own.
_DEFINED: Final = (
    "openinference.",
    "input.",
    "output.",
    "llm.",
    "gen_ai.",
    "retrieval.",
    "reranker.",
    "embedding.",
    "document.",
    "tool.",
    "tool_call.",
    "message.",
    "prompt.",
    "traceloop.",
    "session.",
    "user.",
    "tag.",
    "exception.",
)
_NO_NAME: Final = "unknown_service"
#: Fields of a turn that hold no words to anybody, even where they are the only ones.
_NO_TEXT: Final = frozenset(
    {"tool_calls", "tool_call", "function_call", "finish_reason", "finish_reasons", "role", "type"}
)
#: In a name, in a message, or as the reason why a model has stopped; and where these stand.
_TOOL_CALL: Final = "tool_call"
_SAYING_TOOLS: Final = (
    "llm.output_messages.",
    "gen_ai.completion.",
    "gen_ai.output.messages",
    "gen_ai.response.finish_reason",
    "message",
    "finish_reason",
    "tool_calls",
)


def kind(span: Span) -> str | None:
    """What it is about, in the words of OpenInference; None where no convention says."""
    found = span.attributes
    named_kind = found.get("openinference.span.kind")
    if isinstance(named_kind, str):
        return named_kind.upper()
    operation = found.get("gen_ai.operation.name")
    if isinstance(operation, str):
        return _OPERATIONS.get(operation.lower())
    if "llm.request.type" in found or "gen_ai.prompt.0.content" in found:
        return LLM
    if "gen_ai.retrieval.documents" in found:
        return RETRIEVER
    traceloop = found.get("traceloop.span.kind")
    return _TRACELOOP.get(traceloop) if isinstance(traceloop, str) else None


def root_of(spans: Iterable[Span], *, or_remote: bool = False) -> Span | None:
    """The span without a parent that has ended, the first one of several; None: there is none.

    With ``or_remote`` else one whose parent is in another process, and did not come.
    """
    ended = [span for span in spans if span.ended_ns]
    roots = [span for span in ended if span.parent_id is None]
    if not roots and or_remote:
        known = {span.span_id for span in ended}
        roots = [s for s in ended if s.has_remote_parent and s.parent_id not in known]
    return min(roots, key=_begin, default=None)


def _end(span: Span) -> int:
    return span.ended_ns


def _begin(span: Span) -> tuple[int, str]:
    return span.started_ns, span.span_id


def answers(spans: Sequence[Span], root: Span) -> bool:
    """Whether a model has a part in it: traces of other work are in every collector, too.

    Where each call of a model is a trace of its own, one that only asks for a tool answers nobody.
    """
    kinds = {kind(span) for span in spans}
    if kinds & {LLM, AGENT}:
        return (
            not any(map(_calls_a_tool, spans)) or _said(_belonging(spans, root), root) is not None
        )
    # A model that nobody has instrumented, within a chain that says what it answered.
    return bool(kinds & {RETRIEVER, RERANKER}) and kind(root) == CHAIN and _has_output(root)


def _calls_a_tool(span: Span) -> bool:
    """Whether a model asks for a tool, by any convention."""
    if kind(span) != LLM:
        return False
    events = (each.attributes for each in span.events)
    return any(
        _TOOL_CALL in name or _TOOL_CALL in str(value)
        for found in (span.attributes, *events)
        for name, value in found.items()
        if name.startswith(_SAYING_TOOLS)
    )


def interaction(
    spans: Sequence[Span], root: Span, source: Source, broker_ms: int, *, of_file: bool = False
) -> Decoded:
    """The interaction of a trace; ``broker_ms`` is the time of its root's record, epoch ms.

    Its time is the end of its root. Raises ``MessageRejected`` naming what was looked for.
    """
    ordered = sorted(_belonging(spans, root), key=_begin)
    fields: dict[str, Any] = {
        "interaction_id": root.trace_id,
        "timestamp": root.ended_ns,
        "application": _application(root),
        "user_input": _question(ordered, root),
        "response": _answer(ordered, root),
        "retrieved_contexts": _passages(ordered),
        "attributes": _attributes(ordered, root),
    }
    at = source.model_copy(update={"trace_id": root.trace_id, "spans": len(spans)})
    try:
        logged = LoggedInteraction.model_validate(fields)
        return decoded(logged, at, broker_ms, parse_any_unit, of_file=of_file)
    except ValidationError as error:
        raise rejected(error, b"") from None


def _belonging(spans: Sequence[Span], root: Span) -> list[Span]:
    """Those that are not another root's: what was retrieved for it was not for this question."""
    others = {one.span_id for one in spans if one.parent_id is None and one is not root}
    if not others:
        return list(spans)
    children: dict[str | None, list[Span]] = {}
    for span in spans:
        children.setdefault(span.parent_id, []).append(span)
    level = sorted(others)
    while level:
        level = [c.span_id for name in level for c in children.get(name, ())]
        level = [name for name in level if name not in others]
        others.update(level)
    return [span for span in spans if span.span_id not in others or span is root]


def _application(root: Span) -> str | None:
    service, project = (
        root.resource.get(n) for n in ("service.name", "openinference.project.name")
    )
    if isinstance(service, str) and service and not service.startswith(_NO_NAME):
        return service
    return project if isinstance(project, str) and project else None


# Question and answer


def _question(spans: Sequence[Span], root: Span) -> str:
    """Of the root, or the chain or agent next to it; else of the retriever, else of the model."""
    for span in _from_the_top(spans, root):
        if (found := _ASKING.of(span)) is not None:
            return found
    for wanted in (RETRIEVER, LLM):
        for span in spans:
            if kind(span) == wanted and (found := _ASKING.of(span)) is not None:
                return found
    raise _nothing("user_input", "input", spans, root)


def _answer(spans: Sequence[Span], root: Span) -> str:
    if (found := _said(spans, root)) is not None:
        return found
    raise _nothing("response", "output", spans, root)


def _said(spans: Sequence[Span], root: Span) -> str | None:
    """Of the root, or the chain or agent next to it; else of the model that ended last."""
    models = (span for span in sorted(spans, key=_end, reverse=True) if kind(span) == LLM)
    each = (_SAYING.of(span) for span in (*_from_the_top(spans, root), *models))
    return next((found for found in each if found is not None), None)


def _nothing(field: str, what: str, spans: Sequence[Span], root: Span) -> MessageRejected:
    kinds = {str(kind(span)) for span in spans}
    return missing_field(
        f"{field}: found no {what} in the root span {named(root.name)}, nor in the spans below; "
        f"{len(spans)} spans, kinds there: {listed(sorted(kinds), len(kinds))}"
    )


def _from_the_top(spans: Sequence[Span], root: Span) -> Iterator[Span]:
    """The root, and the chains and agents below it as long as these are its only way down."""
    children: dict[str | None, list[Span]] = {}
    for span in spans:
        children.setdefault(span.parent_id, []).append(span)
    level, seen = [root], {root.span_id}
    while level:
        yield from level
        below = [one for parent in level for one in children.get(parent.span_id, ())]
        below = [one for one in below if one.span_id not in seen]
        # A request to a database beside the chain says nothing, and hides nothing.
        leading = [one for one in below if kind(one) in (CHAIN, AGENT)]
        level = leading or [one for one in below if kind(one) is None]
        seen |= {one.span_id for one in level}
        # Of steps side by side, one's output is another one's input, and neither the answer.
        if len(level) > 1:
            return


class _Side(NamedTuple):
    """Where a question stands, or an answer: by the names of attributes and of an event.

    ``likely`` are fields of an object, and ``read`` takes the right turn of several.
    """

    messages: str
    llm_messages: str
    older: str
    event: str
    values: tuple[str, ...]
    likely: Sequence[str]
    read: Callable[[Any, str], Any]

    def of(self, span: Span) -> str | None:
        """What stands there; messages go before values, which may be of any shape."""
        found = span.attributes
        messages = (
            _structured(found, self.messages),
            _openinference_messages(found, self.llm_messages),
            _positions(_structured(found, self.older)),
            *_of_events(span, self.messages, self.event),
        )
        values = (_value(found, name) for name in self.values)
        texts = (_text(each, self.likely, self.read) for each in (*messages, *values))
        return next((text for text in texts if text is not None), None)


_ASKING: Final = _Side(
    "gen_ai.input.messages",
    "llm.input_messages",
    "gen_ai.prompt",
    "gen_ai.user.message",
    ("gen_ai.retrieval.query.text", "input.value", "traceloop.entity.input"),
    _ASKED,
    chat.question,
)
_SAYING: Final = _Side(
    "gen_ai.output.messages",
    "llm.output_messages",
    "gen_ai.completion",
    "gen_ai.choice",
    ("output.value", "traceloop.entity.output"),
    _SAID,
    chat.answer,
)


def _has_output(span: Span) -> bool:
    return _SAYING.of(span) is not None


def _text(
    found: Any, names: Sequence[str], read: Callable[[Any, str], Any], depth: int = 0
) -> str | None:
    """The text of turns, of parts, or of the likeliest field of an object; None: there is none."""
    if isinstance(found, str):
        return found if found.strip() else None
    if depth > _DEEPEST or not isinstance(found, list | dict) or not found:
        return None
    try:
        text = read(found, "")
    except MessageRejected:
        text = None
    if isinstance(text, str):
        return text if text.strip() else None
    if isinstance(found, list):
        return _text(found[0], names, read, depth + 1) if len(found) == 1 else None
    for name in names:
        if (inner := _text(_parsed(found.get(name)), names, read, depth + 1)) is not None:
            return inner
    (only, value), *more = found.items()
    if more or only in names or only in _NO_TEXT:
        return None
    return _text(value, names, read, depth + 1)


def _of_events(span: Span, *names: str) -> Iterator[Any]:
    """Messages that stand in events: all in one attribute, or one event each."""
    whole, single = names
    for event in span.events:
        if whole in event.attributes:
            yield _parsed(event.attributes[whole])
        elif event.name == single:
            for name in ("message", "content"):
                if name in event.attributes:
                    yield _parsed(event.attributes[name])


def _positions(found: Any) -> Any:
    """Turns by their positions: under the same prefix stand the name and version of a prompt."""
    return found if isinstance(found, list) else None


def _value(found: SpanAttributes, name: str) -> Any:
    """A value; JSON within a text, unless it is said to be plain text."""
    value, kind_of = found.get(name), found.get(f"{name.rpartition('.')[0]}.mime_type")
    is_plain = isinstance(kind_of, str) and kind_of.lower().startswith("text/")
    return value if is_plain else _parsed(value)


def _openinference_messages(found: SpanAttributes, prefix: str) -> Any:
    messages = _structured(found, prefix)
    if not isinstance(messages, list):
        return None
    return [_openinference_message(each) for each in messages]


def _openinference_message(found: Any) -> Any:
    message = found.get("message", found) if isinstance(found, dict) else None
    if not isinstance(message, dict) or "content" in message:
        return message
    parts = message.get("contents")
    if not isinstance(parts, list):
        return message
    inner = [part.get("message_content", part) for part in parts if isinstance(part, dict)]
    return {**message, "content": inner}


def _structured(found: SpanAttributes, name: str) -> Any:
    """An attribute that may be a value, JSON in a text, or flattened: ``name.0.role``."""
    if name in found:
        return _parsed(found[name])
    prefix = f"{name}."
    flat = {key[len(prefix) :]: value for key, value in found.items() if key.startswith(prefix)}
    if not flat:
        return None
    # Under one name, so that numbers are positions of a list.
    return unflattened({f"_.{key}": value for key, value in flat.items()}).get("_")


def _parsed(found: Any) -> Any:
    """JSON within a text, where it is one; else the value."""
    if not isinstance(found, str) or found.lstrip()[:1] not in ("{", "["):
        return found
    try:
        return from_json(found, allow_inf_nan=False)
    except ValueError:
        return found


# Passages


def _passages(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """What the model saw: of the reranker that ended last, or of all retrievers, each once."""
    reranked = [
        documents
        for span in sorted(spans, key=lambda one: one.ended_ns)
        if kind(span) == RERANKER
        and (documents := _documents(span, "reranker.output_documents")) is not None
    ]
    if reranked:
        return reranked[-1]
    found: dict[tuple[Any, str], dict[str, Any]] = {}
    for span in spans:
        if kind(span) != RETRIEVER:
            continue
        for name in ("retrieval.documents", "gen_ai.retrieval.documents"):
            for each in _documents(span, name) or ():
                found.setdefault((each["id"], each["text"]), each)
    return list(found.values())


def _documents(span: Span, name: str) -> list[dict[str, Any]] | None:
    """None where the span has none under this name."""
    found = _structured(span.attributes, name)
    if found is None:
        return None
    if not isinstance(found, list):
        raise wrong_value(f"retrieved_contexts ({name})", found, "a list of documents")
    if len(found) > MOST_PASSAGES:
        raise wrong_value(f"retrieved_contexts ({name})", found, f"at most {MOST_PASSAGES}")
    return [_document(each) for each in found if isinstance(each, dict | str)]


def _document(found: dict[str, Any] | str) -> dict[str, Any]:
    """As a passage; the conventions of GenAI leave out texts, which are then hidden to us."""
    if isinstance(found, str):
        return {"id": None, "text": found}
    inner = found.get("document", found)
    if isinstance(inner, str):
        return {"id": None, "text": inner}
    inner = inner if isinstance(inner, dict) else {}
    texts = (inner.get(name) for name in ("content", "text", "page_content", "pageContent"))
    text = next((each for each in texts if isinstance(each, str)), REDACTED_TEXT)
    name = inner.get("id")
    made: dict[str, Any] = {"id": name if isinstance(name, str | int) else None, "text": text}
    score = inner.get("score")
    if isinstance(score, int | float) and not isinstance(score, bool):
        made["score"] = score
    return made


# Attributes


def _attributes(spans: Sequence[Span], root: Span) -> dict[str, Any]:
    """Metadata and the root's own go first; what the conventions name goes before them."""
    own = {
        key: value
        for key, value in root.attributes.items()
        if not key.startswith(_DEFINED) and key != "metadata"
    }
    metadata = _parsed(root.attributes.get("metadata"))
    found = own | (metadata if isinstance(metadata, dict) else {})
    named_ones = {
        "model": _model(spans),
        "prompt_version": _first(spans, "llm.prompt_template.version", "gen_ai.prompt.version"),
        "session": _first([root, *spans], "session.id", "gen_ai.conversation.id"),
        "user": _first([root, *spans], "user.id", "enduser.id"),
        "tags": root.attributes.get("tag.tags"),
        "service": root.resource.get("service.name"),
        "deployment": root.resource.get("service.version"),
        "environment": root.resource.get("deployment.environment.name")
        or root.resource.get("deployment.environment"),
    }
    if root.has_failed:
        named_ones["status"] = "error"
    return found | {key: value for key, value in named_ones.items() if value is not None}


def _model(spans: Sequence[Span]) -> Any:
    names = ("gen_ai.response.model", "llm.model_name", "gen_ai.request.model")
    models = [span for span in reversed(spans) if kind(span) == LLM]
    return _first(models, *names)


def _first(spans: Iterable[Span], *names: str) -> Any:
    found: Iterator[Any] = (span.attributes.get(name) for span in spans for name in names)
    return next((each for each in found if each not in (None, "")), None)


def by_trace(spans: Iterable[Span]) -> Mapping[str, list[Span]]:
    """The spans of each trace, in the order in which the traces appear."""
    found: dict[str, list[Span]] = {}
    for span in spans:
        found.setdefault(span.trace_id, []).append(span)
    return found
