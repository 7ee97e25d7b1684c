"""What the spans of one trace say together: one interaction. Pure.

Conventions: OpenInference (``openinference.span.kind``, ``input.value``, ``retrieval.documents``,
``reranker.output_documents``, ``llm.*``), OpenTelemetry GenAI (``gen_ai.operation.name``,
``gen_ai.input.messages``, ``gen_ai.retrieval.documents``, the older events and
``gen_ai.prompt.0.content``), and OpenLLMetry (``traceloop.span.kind``, ``traceloop.entity.input``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from monitor.errors import MessageRejected
from monitor.ingest.event_time import parse_any_unit
from monitor.ingest.formats import chat
from monitor.ingest.formats.logged_interaction import LoggedInteraction, decoded
from monitor.ingest.formats.otlp import Span, SpanAttributes
from monitor.ingest.formats.protocol import Decoded
from monitor.ingest.formats.rejection import UNKNOWN, missing_field, named, refuse_packed, rejected
from monitor.ingest.formats.reshaping import unflattened
from monitor.ingest.formats.span_documents import (
    documents,
    listed_in_output,
    lists_texts,
    output_documents,
    parsed,
    structured,
)
from monitor.records import REDACTED_TEXT, Source

LLM, AGENT, CHAIN = "LLM", "AGENT", "CHAIN"
RETRIEVER, RERANKER = "RETRIEVER", "RERANKER"
_RETRIEVING: Final = (RETRIEVER, RERANKER)
#: The attributes under which they have documents.
_DOCUMENTS: Final = {
    RETRIEVER: ("retrieval.documents", "gen_ai.retrieval.documents"),
    RERANKER: ("reranker.output_documents",),
}
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
#: Characters of a passage that stand in no question by chance.
_TELLING: Final = 20
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
#: Of a trace, in one message.
_MOST_KINDS: Final = 12
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


def root_of(spans: Sequence[Span], *, or_remote: bool = False) -> Span | None:
    """The span without a parent that has ended, the first one of several; None: there is none.

    One with a chain, an agent or a model goes before what only retrieves, or is other work. With
    ``or_remote`` else one whose parent is in another process, and did not come.
    """
    ended = [span for span in spans if span.ended_ns]
    roots = [span for span in ended if span.parent_id is None]
    if not roots and or_remote:
        known = {span.span_id for span in ended}
        roots = [s for s in ended if s.has_remote_parent and s.parent_id not in known]
    if len(roots) < 2:
        return roots[0] if roots else None
    leading = _leading_ids(spans)
    return min(roots, key=lambda span: (span.span_id not in leading, *_begin(span)))


def _leading_ids(spans: Sequence[Span]) -> set[str]:
    """The ids of chains, agents and models, and of all above them."""
    by_id, found = {span.span_id: span for span in spans}, set[str]()
    for span in spans:
        at: Span | None = span if _may_answer(span) else None
        while at is not None and at.span_id not in found:
            found.add(at.span_id)
            at = by_id.get(at.parent_id or "")
    return found


def _may_answer(span: Span) -> bool:
    """False for one that cannot be read: whoever decodes it says why."""
    try:
        return kind(span) in (CHAIN, AGENT, LLM)
    except MessageRejected:
        return False


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
            not any(map(_calls_a_tool, spans))
            or _answer_of(_belonging(spans, root), root) is not None
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
    passages = _passages(ordered)
    fields: dict[str, Any] = {
        "interaction_id": root.trace_id,
        "timestamp": root.ended_ns,
        "application": _application(root),
        "user_input": _question(ordered, root, passages),
        "response": _answer(ordered, root),
        "retrieved_contexts": passages,
        "attributes": _attributes(ordered, root),
    }
    refuse_packed(fields)
    at = source.model_copy(update={"trace_id": root.trace_id, "spans": len(spans)})
    try:
        logged = LoggedInteraction.model_validate(fields)
        return decoded(logged, at, broker_ms, parse_any_unit, of_file=of_file)
    except ValidationError as error:
        raise rejected(error, b"") from None


def _belonging(spans: Sequence[Span], root: Span) -> list[Span]:
    """Those that are not another root's: what was retrieved for it was not for this question.

    But where a link says that it was.
    """
    tops = [one.span_id for one in spans if one.parent_id is None and one is not root]
    if not tops:
        return list(spans)
    children = _children(spans)
    top_of = {one: top for top in tops for one in _descendants([top], children)}
    top_of.pop(root.span_id, None)
    taken = _Links(spans, children, top_of).searches()
    return [span for span in spans if span.span_id not in top_of or span.span_id in taken]


class _Links:
    """Links between what is below one root and below the others, ``top_of`` whose spans these are.

    They are followed from one root to the next, as by way of a job, but in one direction only.
    """

    def __init__(
        self,
        spans: Sequence[Span],
        children: Mapping[str | None, list[Span]],
        top_of: Mapping[str, str],
    ) -> None:
        self._spans, self._children, self._top_of = spans, children, top_of
        self._by_id = {span.span_id: span for span in spans}
        self._whole: dict[str, list[Span]] = {}
        for span in spans:
            if span.span_id in top_of:
                self._whole.setdefault(top_of[span.span_id], []).append(span)
        self._taken: set[str] = set()
        self._known: set[str] = set()

    def searches(self) -> set[str]:
        """The ids of those that belong to the question, too, without what models say there."""
        own = [span for span in self._spans if span.span_id not in self._top_of]
        level = own
        while level:
            level = [one for span in level for one in self._led_to(span)]
        back: dict[str, list[Span]] = {}
        for span in self._spans:
            if span.span_id in self._top_of:
                for name in _linked_ids(span):
                    back.setdefault(name, []).append(span)
        level = own
        while level:
            led = (one for span in level for one in back.get(span.span_id, ()))
            level = [one for span in led for one in self._whole_of(span)]
        models = {one for one in self._taken if kind(self._by_id[one]) in (LLM, AGENT)}
        return self._taken - models

    def _led_to(self, span: Span) -> list[Span]:
        """Of a retriever that it names nothing else counts, whatever else was asked there."""
        found: list[Span] = []
        for name in _linked_ids(span):
            if name not in self._top_of or name in self._taken:
                continue
            if kind(self._by_id[name]) in _RETRIEVING:
                self._taken |= _descendants([name], self._children)
            else:
                found += self._whole_of(self._by_id[name])
        return found

    def _whole_of(self, span: Span) -> list[Span]:
        """All below its root, once; nothing where that is another question with an answer."""
        top = self._top_of[span.span_id]
        if top in self._known:
            return []
        self._known.add(top)
        whole = self._whole[top]
        if self._answers_itself(self._by_id[top], whole):
            return []
        self._taken |= {one.span_id for one in whole}
        return whole

    def _answers_itself(self, top: Span, whole: Sequence[Span]) -> bool:
        """Whether a model says something there that is no query of a retriever."""
        searches = [one.span_id for one in whole if kind(one) in _RETRIEVING]
        rewriting = _descendants(searches, self._children)
        models = [
            one for one in whole if kind(one) in (LLM, AGENT) and one.span_id not in rewriting
        ]
        if not models:
            return False
        is_whole = _ASKING.of(top) is not None and _SAYING.of(top) is not None
        return is_whole or max(map(_end, models)) >= _retrieved_ns(whole)


def _linked_ids(span: Span) -> set[str]:
    """The spans of its own trace that it links to."""
    return {link.span_id for link in span.links if link.trace_id == span.trace_id}


def links_elsewhere(spans: Sequence[Span], root: Span) -> bool:
    """Whether a span of it links to another trace, which nobody looks for.

    What that holds may be read by another scorer, be left out by the hash, or have ended.
    """
    belonging = _belonging(spans, root)
    return any(link.trace_id != root.trace_id for span in belonging for link in span.links)


def _application(root: Span) -> str | None:
    service, project = (
        root.resource.get(n) for n in ("service.name", "openinference.project.name")
    )
    if isinstance(service, str) and service and not service.startswith(_NO_NAME):
        return service
    return project if isinstance(project, str) and project else None


# Question and answer


def _question(spans: Sequence[Span], root: Span, passages: Sequence[Mapping[str, Any]] = ()) -> str:
    """Of the root, or the chain or agent next to it; else of the model that answers.

    Where that has none, or a prompt that holds the passages, it is the query of the retriever,
    which may be another one's words.
    """
    for span in _leading_to_the_model(spans, root):
        if (found := _ASKING.of(span)) is None:
            continue
        if kind(span) != LLM or not _holds_passages(found, passages):
            return found
    for wanted in (RETRIEVER, LLM):
        for span in spans:
            if kind(span) == wanted and (found := _ASKING.of(span)) is not None:
                return found
    beside = _leading_of_several(spans, root)
    if beside is not None and (found := _ASKING.of(beside)) is not None:
        return found
    raise _nothing("user_input", "input", spans, root)


def _holds_passages(prompt: str, passages: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a text is what was retrieved, with a question somewhere in it."""
    texts = (each["text"] for each in passages)
    return any(isinstance(t, str) and len(t) >= _TELLING and t in prompt for t in texts)


def _answer(spans: Sequence[Span], root: Span) -> str:
    if (found := _answer_of(spans, root)) is not None:
        return found
    raise _nothing("response", "output", spans, root)


def _answer_of(spans: Sequence[Span], root: Span) -> str | None:
    """Of the root, or the chain or agent next to it; else of the model that answers."""
    for span in _leading_to_the_model(spans, root):
        if (found := _SAYING.of(span)) is not None:
            return found
    beside = _leading_of_several(spans, root)
    return None if beside is None else _SAYING.of(beside)


def _leading_to_the_model(spans: Sequence[Span], root: Span) -> Iterator[Span]:
    """The root, what is next to it, and the model that answers: it is sought only if need be."""
    yield from _from_the_top(spans, root)
    yield from _answering(spans)


def _answering(spans: Sequence[Span]) -> list[Span]:
    """The one model that answers, if one says something; question and answer are both of it.

    The first that ends after all retrieval, for a title may be made after it; else the last one.
    """
    models = [span for span in sorted(spans, key=_end) if kind(span) == LLM]
    retrieved = _retrieved_ns(spans)
    after = [span for span in models if span.ended_ns > retrieved] if retrieved else []
    likely = (span for span in after if not _calls_a_tool(span))
    found = (span for span in chain(likely, reversed(models)) if _has_output(span))
    return list(islice(found, 1))


def _retrieved_ns(spans: Iterable[Span]) -> int:
    """The end of the last retriever or reranker; 0: there is none."""
    ends = (span.ended_ns for span in spans if kind(span) in _RETRIEVING)
    return max(ends, default=0)


def _nothing(field: str, what: str, spans: Sequence[Span], root: Span) -> MessageRejected:
    kinds = sorted({_kind_name(span) for span in spans})[:_MOST_KINDS]
    return missing_field(
        f"{field}: found no {what} in the root span {root.span_id} ({_kind_name(root)}), in a "
        f"chain or agent below, nor in a model's span; {len(spans)} spans, kinds there: "
        + ", ".join(kinds)
    )


def _kind_name(span: Span) -> str:
    found = kind(span)
    if found is None:
        return "no kind"
    return found if named(found) != UNKNOWN else "a kind that is no name"


def _from_the_top(spans: Sequence[Span], root: Span) -> Iterator[Span]:
    """The root, and the chains and agents below it as long as these are its only way down."""
    yield root
    children, one = _children(spans), root
    seen = {root.span_id}
    is_step = False
    while True:
        # Of steps side by side, one's output is another one's input, and neither the answer.
        is_step = is_step or kind(one) is not None
        level = [each for each in _level_below(one, children) if each.span_id not in seen]
        if not level or (len(level) > 1 and is_step):
            return
        one = level[0] if len(level) == 1 else _leading(level, spans)
        seen.add(one.span_id)
        yield one


def _leading_of_several(spans: Sequence[Span], root: Span) -> Span | None:
    """Of steps side by side, where nothing else says anything, the one with the answer's model."""
    children = _children(spans)
    *_, last = _from_the_top(spans, root)
    level = [each for each in _level_below(last, children) if each is not root]
    return _leading(level, spans) if len(level) > 1 else None


def _level_below(parent: Span, children: Mapping[str | None, list[Span]]) -> list[Span]:
    """Its chains and agents; else what no convention knows, like the handler of a request."""
    below = children.get(parent.span_id, [])
    # A request to a database beside the chain says nothing, and hides nothing.
    leading = [one for one in below if kind(one) in (CHAIN, AGENT)]
    return leading or [one for one in below if kind(one) is None]


def _leading(level: Sequence[Span], spans: Sequence[Span]) -> Span:
    """That above the model that answers, else above the last retriever; else the last to end."""
    ordered, retrieved = sorted(spans, key=_end), _retrieved_ns(spans)
    models = [span for span in ordered if kind(span) == LLM]
    searches = [span for span in ordered if kind(span) in _RETRIEVING]
    after = [span for span in models if span.ended_ns > retrieved] if retrieved else []
    by_id, tops = {span.span_id: span for span in spans}, {one.span_id for one in level}
    for inner in (*after[:1], *searches[-1:], *models[-1:]):
        seen: set[str] = set()
        at: Span | None = inner
        while at is not None and at.span_id not in seen:
            if at.span_id in tops:
                return at
            seen.add(at.span_id)
            at = by_id.get(at.parent_id or "")
    return max(level, key=_end)


def _children(spans: Iterable[Span]) -> dict[str | None, list[Span]]:
    found: dict[str | None, list[Span]] = {}
    for span in spans:
        found.setdefault(span.parent_id, []).append(span)
    return found


def _descendants(tops: Iterable[str], children: Mapping[str | None, list[Span]]) -> set[str]:
    """The ids of these spans and of all below them."""
    found = set(tops)
    level = sorted(found)
    while level:
        level = [c.span_id for name in level for c in children.get(name, ())]
        level = [name for name in level if name not in found]
        found.update(level)
    return found


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
            structured(found, self.messages),
            _openinference_messages(found, self.llm_messages),
            _positions(structured(found, self.older)),
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
        if (inner := _text(parsed(found.get(name)), names, read, depth + 1)) is not None:
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
            yield parsed(event.attributes[whole])
        elif event.name == single:
            for name in ("message", "content"):
                if name in event.attributes:
                    yield parsed(event.attributes[name])


def _positions(found: Any) -> Any:
    """Turns by their positions: under the same prefix stand the name and version of a prompt."""
    return found if isinstance(found, list) else None


def _value(found: SpanAttributes, name: str) -> Any:
    """A value; JSON within a text, unless it is said to be plain text."""
    value, kind_of = found.get(name), found.get(f"{name.rpartition('.')[0]}.mime_type")
    is_plain = isinstance(kind_of, str) and kind_of.lower().startswith("text/")
    return value if is_plain else parsed(value)


def _openinference_messages(found: SpanAttributes, prefix: str) -> Any:
    messages = structured(found, prefix)
    if not isinstance(messages, list):
        return None
    return [_openinference_message(each) for each in messages]


def _openinference_message(found: Any) -> Any:
    found = _nested(parsed(found))
    message = found.get("message", found) if isinstance(found, dict) else None
    if not isinstance(message, dict) or "content" in message:
        return message
    parts = message.get("contents")
    if not isinstance(parts, list):
        return message
    nested = (_nested(part) for part in parts)
    inner = [part.get("message_content", part) for part in nested if isinstance(part, dict)]
    return {**message, "content": inner}


def _nested(found: Any) -> Any:
    """An object in a list may have flat names of its own, like ``message.role``."""
    is_flat = isinstance(found, dict) and any("." in key for key in found)
    return unflattened(found) if is_flat else found


# Passages


def _passages(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """What the model saw: of the reranker that ended last, or of all retrievers, each once.

    Where no span of these kinds has any, those that a chain says it has answered from.
    """
    rerankers = (span for span in sorted(spans, key=_end, reverse=True) if kind(span) == RERANKER)
    for span in rerankers:
        kept = _documents(span)
        if kept is not None:
            return kept
    retrieved = [_documents(span) for span in spans if kind(span) == RETRIEVER]
    # That nothing was found is a result, too.
    if all(found is None for found in retrieved):
        return _in_answers(spans)
    return _each_once([one for found in retrieved for one in found or ()])


def _each_once(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A retriever within another one may tell the same again, and without ids."""
    once: dict[Any, dict[str, Any]] = {}
    with_id = {each["text"] for each in found if each["id"] is not None}
    for each in found:
        text = each["text"]
        # Of hidden ones without an id nobody knows whether they are the same.
        is_hidden = text == REDACTED_TEXT
        if each["id"] is not None or (not is_hidden and text not in with_id):
            once.setdefault((each["id"], text), each)
        elif is_hidden:
            once[len(once)] = each
    return list(once.values())


def _in_answers(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """Like ``source_documents`` beside the answer: of the one that ended last, the root at best."""
    latest = sorted(spans, key=_end, reverse=True)
    chains = (one for one in latest if kind(one) in (CHAIN, AGENT))
    return next((found for one in chains if (found := listed_in_output(one))), [])


def overlooked(spans: Sequence[Span], root: Span) -> str | None:
    """The step whose output may hold passages that nobody has read; None: there is none.

    A retriever or reranker with an output that is not understood. Of an interaction without
    passages also any other step that has a list of texts.
    """
    belonging = sorted(_belonging(spans, root), key=_begin)
    if (unread := _unread(belonging)) is not None:
        return _step(unread)
    if _passages(belonging):
        return None
    steps = [span for span in belonging if kind(span) not in (*_RETRIEVING, LLM)]
    found = next((span for span in steps if lists_texts(span)), None)
    if found is None and any(map(_linked_ids, spans)):
        own = {span.span_id for span in belonging}
        left = (span for span in spans if span.span_id not in own and kind(span) in _RETRIEVING)
        other = next(left, None)
        return None if other is None else f"{_step(other)} below another root"
    return None if found is None else _step(found)


def _unread(spans: Sequence[Span]) -> Span | None:
    """The first with an output that is not understood, below none whose documents are known."""
    searches = [span for span in spans if kind(span) in _RETRIEVING]
    read = {span.span_id for span in searches if _documents(span) is not None}
    within = _descendants(read, _children(spans))
    said = (span for span in searches if span.attributes.get("output.value") not in (None, ""))
    return next((span for span in said if span.span_id not in within), None)


def _step(span: Span) -> str:
    return f"{named(span.name)} ({_kind_name(span)})"


def _documents(span: Span) -> list[dict[str, Any]] | None:
    """Those that it names, else its output, where that is documents; None: it has none."""
    names = _DOCUMENTS.get(kind(span) or "", ())
    found = [each for name in names if (each := documents(span, name)) is not None]
    return [one for each in found for one in each] if found else output_documents(span)


# Attributes


def _attributes(spans: Sequence[Span], root: Span) -> dict[str, Any]:
    """Metadata and the root's own go first; what the conventions name goes before them."""
    own = {
        key: value
        for key, value in root.attributes.items()
        if not key.startswith(_DEFINED) and key != "metadata"
    }
    metadata = parsed(root.attributes.get("metadata"))
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
