"""Which places of a log are the fields of an interaction: by their names, and what stands there.

Pure. A guess is written with an example and the number of records that have it, for somebody to
look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from monitor.errors import MessageRejected
from monitor.ingest.event_time import parse_any_unit
from monitor.ingest.formats import chat
from monitor.onboarding.shapes import FoundPlace, LogView, viewed

REQUIRED: Final = ("user_input", "response", "retrieved_contexts")
#: Usual names of each field, the likeliest first; written small, with underscores.
NAMES: Final = {
    "user_input": "user_input question user_question query user_query prompt user_message messages "
    "input inputs message utterance search_query request text 问题 用户问题 提问 用户输入 输入",
    "response": "response answer generated_answer output outputs completion reply result "
    "prediction generated_text assistant_message bot_response final_answer response_text replies "
    "message content text messages 回答 答案 回复 模型回答 输出",
    "retrieved_contexts": "retrieved_contexts contexts context retrieved_documents documents docs "
    "source_documents chunks retrieved passages sources source_nodes search_results hits nodes "
    "retrieval_results retriever_resources retrieved_chunks retrieved_references retrieval "
    "retriever retrieve 上下文 检索结果 检索内容 参考资料 知识片段 片段 文档 引用",
    "reference": "reference ground_truth golden_answer gold_answer expected_answer expected_output "
    "reference_answer expected golden gold ideal 参考答案 标准答案 正确答案",
    "interaction_id": "interaction_id id request_id trace_id run_id message_id row_id event_id "
    "uuid turn_id record_id 编号 请求编号 消息编号",
    "timestamp": "timestamp event_time time created_at created asked_at start_time logged_at ts "
    "datetime date 时间 时间戳 创建时间",
    "application": "application application_name app app_name service service_name project "
    "project_name session_name bot bot_name assistant 应用 应用名称",
    "model": "model model_name model_id llm_model deployment_name 模型 模型名称",
    "prompt_version": "prompt_version prompt_template_version template_version prompt_id "
    "prompt_hash prompt_name",
    "session": "session session_id conversation_id thread_id chat_id 会话 会话编号",
    "user": "user user_id end_user enduser_id customer_id customer 用户 用户编号",
    "deployment": "deployment deployment_id release revision revision_id app_version "
    "application_version version build build_number build_id image_tag git_sha commit_sha "
    "git_commit commit",
}
_PASSAGE: Final = {
    "text": "text content page_content body chunk passage chunk_text document snippet value "
    "内容 文本 正文",
    "id": "id doc_id document_id chunk_id segment_id source_id source uri url 编号",
    "score": "score similarity relevance_score similarity_score 分数 得分 相似度",
    "relevant": "relevant is_relevant",
}
_ALL: Final = {name: tuple(words.split()) for name, words in (NAMES | _PASSAGE).items()}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_ID, _LONGEST_NAME = 200, 100
#: Names that say nothing of what stands there: the one around them does.
_GENERIC: Final = frozenset({"text", "content", "value"})
#: What steps are called whose words are for the next step, and nobody's answer.
_BETWEEN: Final = (
    *("rewrit", "condens", "reformulat", "expan", "search", "retriev", "rerank", "embed", "rout"),
    *("classif", "guard", "plan", "title"),
)
_STEP: Final = re.compile(r"\[\?\w+=='([^']*)'\]")
#: An id tells records apart: some may be logged twice, not many.
_LEAST_DISTINCT: Final = 0.9


class GuessedPlace(NamedTuple):
    """An expression, in how many records it was found, and a value of the first that has one."""

    expression: str
    found: int
    example: Any


@dataclass
class Guess:
    """A mapping by field; ``within``: of passages that are objects. ``records`` were looked at.

    ``needs_zone``: times have no offset. ``repeated`` is a place with a name of an id, of which
    so many values are distinct that it is none.
    """

    records: int
    parse: tuple[str, ...]
    unflatten: str | None
    fields: dict[str, GuessedPlace] = field(default_factory=dict)
    within: dict[str, GuessedPlace] = field(default_factory=dict)
    needs_zone: bool = False
    repeated: GuessedPlace | None = None

    @property
    def missing(self) -> list[str]:
        """Fields without which there is no interaction, and that were not found."""
        return [name for name in REQUIRED if name not in self.fields]


def guessed(view: LogView) -> Guess:
    """The likeliest place of each field; of each place at most one field."""
    guess = Guess(len(view.records), view.parse, view.unflatten)
    taken: set[str] = set()
    for name in ("retrieved_contexts", "user_input", "response", "reference"):
        _choose(guess, name, view.places, taken)
    for name in NAMES:
        if name not in guess.fields:
            _choose(guess, name, view.places, taken)
    if "retrieved_contexts" in guess.fields:
        guess.within = _within(view, guess.fields["retrieved_contexts"].expression)
    for name, text_of in (("user_input", chat.question), ("response", chat.answer)):
        if name in guess.fields:
            choice = guess.fields[name]
            guess.fields[name] = choice._replace(example=text_of(choice.example, name))
    if "timestamp" in guess.fields:
        guess.needs_zone = not _is_time(guess.fields["timestamp"].example)
    return guess


def _choose(guess: Guess, name: str, places: Sequence[FoundPlace], taken: set[str]) -> None:
    best, best_score = None, 0.0
    passages = guess.fields.get("retrieved_contexts")
    for place in places:
        if passages is not None and _is_within(place.expression, passages.expression):
            continue  # the id of a passage is not that of the record
        # What is in no own name of its place has to look like it.
        fits = _FITS[name] if _weight(name, place.names[-1]) else _SURELY.get(name, _FITS[name])
        # Turns of a chat hold both the question and the answer.
        is_taken = place.expression in taken and place.names[-1] != "messages"
        weight = _named(name, place.names)
        if is_taken or not weight or not any(map(fits, place.values)):
            continue
        if name == "response" and _repeats_the_question(guess, place):
            continue
        fitting = [value for value in place.values if fits(value)]
        share = len(fitting) / guess.records
        if name == "interaction_id":  # what many records have in common names something else
            distinct = len(set(fitting))
            share *= distinct / len(fitting)
            if distinct < _LEAST_DISTINCT * len(fitting):
                guess.repeated = guess.repeated or GuessedPlace(
                    place.expression, distinct, fitting[0]
                )
                continue
        score = weight * share - 0.02 * len(place.names) - _of_step(name, place.expression)
        if score > best_score:
            best, best_score = place, score
    if best is not None:
        chosen = [value for value in best.values if _FITS[name](value)]
        guess.fields[name] = GuessedPlace(best.expression, len(chosen), chosen[0])
        taken.add(best.expression)


def _repeats_the_question(guess: Guess, place: FoundPlace) -> bool:
    """What was asked stands in the inputs of several steps, under names that say little."""
    asked = guess.fields.get("user_input")
    return asked is not None and place.values[0] == asked.example


def _of_step(field_name: str, expression: str) -> float:
    """What a place within one step loses; the answer is none of a step that only leads to it."""
    step = _STEP.search(expression)
    if step is None:
        return 0.0
    words = re.split(r"[\W_]+", _snake(step[1]))
    is_between = any(word.startswith(_BETWEEN) for word in words)
    return 0.4 if is_between and field_name == "response" else 0.1


def _is_within(expression: str, around: str) -> bool:
    return expression.startswith((f"{around}.", f"{around}["))


def _named(field_name: str, names: Sequence[str]) -> float:
    """How well the last name is one of the field, or the one before it where that says nothing."""
    own = _weight(field_name, names[-1])
    if len(names) < 2:
        return own
    # Like session.id or prompt.version: both names together are a usual one, of this field or not.
    both = f"{_snake(names[-2])}_{_snake(names[-1])}"
    if both in _ALL[field_name]:
        return _weight(field_name, both)
    if any(both in _ALL[other] for other in NAMES):
        return 0.0
    if field_name in NAMES and _snake(names[-1]) in _GENERIC:
        around = _weight(field_name, names[-2])
        # The text of an answer is no question.
        is_others = not around and any(_snake(names[-2]) in _ALL[other] for other in REQUIRED)
        return 0.0 if is_others else max(own, 0.9 * around)
    if own:
        return own
    # Like output.answer_text, where the last name is nobody's; or a step that is called retrieval.
    is_said = any(_weight(other, names[-1]) for other in NAMES if other != field_name)
    return 0.5 * _weight(field_name, names[-2]) if not is_said or names[-1] == "output" else 0.0


def _weight(field_name: str, name: str) -> float:
    """1 for the likeliest name, less for others; half where the name only ends with one."""
    snake, words = _snake(name), _ALL[field_name]
    if snake in words:
        return 1.0 - 0.5 * words.index(snake) / len(words)
    if field_name in NAMES and any(snake in _ALL[other] for other in NAMES):
        return 0.0  # like expected_answer, which is no answer
    ends = [n for n, word in enumerate(words) if snake.endswith(f"_{word}") and len(word) > 2]
    return 0.4 - 0.2 * ends[0] / len(words) if ends else 0.0


def _snake(name: str) -> str:
    """Small, with underscores between words.

    >>> _snake("promptVersion"), _snake("_id"), _snake("App-Version"), _snake("@timestamp")
    ('prompt_version', 'id', 'app_version', 'timestamp')
    """
    return _CAMEL.sub("_", name).lower().replace("-", "_").replace(" ", "_").strip("_@")


def _within(view: LogView, expression: str) -> dict[str, GuessedPlace]:
    """Where text, id, score and label stand in passages that are objects; {} for other ones."""
    place = next(each for each in view.places if each.expression == expression)
    first = [items[0] for items in place.values if isinstance(items, list) and items]
    objects = [each for each in first if isinstance(each, dict)]
    if not objects or len(objects) < len(first):
        return {}
    inner, found = viewed([dict(each) for each in objects]), Guess(len(objects), (), None)
    for name in _PASSAGE:
        _choose(found, name, inner.places, set())
    return found.fields


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_question(value: Any) -> bool:
    return _is_text(value) or _gives_text(chat.question, value)


def _is_answer(value: Any) -> bool:
    return _is_text(value) or _gives_text(chat.answer, value)


def _gives_text(read: Callable[[Any, str], Any], value: Any) -> bool:
    if not isinstance(value, list | dict):
        return False
    try:
        return isinstance(read(value, ""), str)
    except MessageRejected:
        return False


def _are_passages(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value) and all(map(_is_text, value.values()))
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str | dict) for each in value)
    return _is_text(value)


def _are_surely_passages(value: Any) -> bool:
    return not isinstance(value, str) and _are_passages(value)


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_ID
    return isinstance(value, int) and not isinstance(value, bool)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME


def _is_time(value: Any) -> bool:
    try:
        return parse_any_unit(value) is not None
    except ValueError:
        return False


def _is_time_of_any_zone(value: Any) -> bool:
    return _is_time(value) or (isinstance(value, str) and _is_time(f"{value}Z"))


_FITS: Final[dict[str, Callable[[Any], bool]]] = {
    "user_input": _is_question,
    "response": _is_answer,
    "retrieved_contexts": _are_passages,
    "reference": _is_text,
    "interaction_id": _is_id,
    "timestamp": _is_time_of_any_zone,
    "application": _is_name,
    "model": _is_name,
    "prompt_version": lambda value: _is_name(value) or isinstance(value, int),
    "session": _is_id,
    "user": _is_id,
    "deployment": lambda value: _is_name(value) or _is_id(value),
    "text": _is_text,
    "id": _is_id,
    "score": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "relevant": lambda value: isinstance(value, bool),
}
_SURELY: Final = {"retrieved_contexts": _are_surely_passages}
