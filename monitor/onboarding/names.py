"""What places of a log are called: the usual names of each field, and words that rule one out.

Pure. Chinese names have no sign between their words: they are compared by their endings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

REQUIRED: Final = ("user_input", "response", "retrieved_contexts")
#: Usual names of each field, the likeliest first; written small, with underscores.
NAMES: Final = {
    "user_input": "user_input question user_question query user_query query_str prompt "
    "user_message messages input inputs message utterance search_query request text "
    "conversation dialogue dialog chat turns transcript 问题 用户问题 提问 用户输入 提问内容 输入",
    "response": "response answer generated_answer output outputs completion reply result "
    "prediction generated_text generated assistant_message bot_response final_answer "
    "response_text replies system_answer system_response message content text messages "
    "conversation dialogue dialog chat turns transcript 回答 答案 回复 模型回答 系统回答 "
    "回答内容 输出",
    "retrieved_contexts": "reranked_documents reranked_contexts reranked_chunks reranked_passages "
    "reranked retrieved_contexts retrieval_context retrieved_context contexts context "
    "retrieved_documents documents docs "
    "source_documents chunks retrieved passages passage sources source_nodes search_results hits "
    "nodes retrieval_results retriever_resources retrieved_chunks retrieved_references "
    "retrieved_text snippets evidence grounding ctxs retrieval retriever retrieve 重排结果 "
    "重排文档 上下文 检索结果 检索内容 参考资料 知识片段 片段 文档 引用 内容",
    "reference": "reference ground_truth golden_answer gold_answer expected_answer expected_output "
    "reference_answer expected golden gold ideal truth 参考答案 标准答案 正确答案",
    "interaction_id": "interaction_id id request_id trace_id run_id message_id row_id event_id "
    "uuid turn_id record_id 编号 请求编号 消息编号 请求id 消息id 日志id",
    "timestamp": "timestamp event_time time created_at created asked_at start_time logged_at ts "
    "datetime date 时间 时间戳 创建时间",
    "application": "application application_name app app_name service service_name project "
    "project_name session_name bot bot_name assistant 应用 应用名称",
    "model": "model model_name model_id llm_model deployment_name 模型 模型名称",
    "prompt_version": "prompt_version prompt_template_version template_version prompt_id "
    "prompt_hash prompt_name",
    "session": "session session_id conversation_id thread_id chat_id 会话 会话编号 会话id",
    "user": "user user_id end_user enduser_id customer_id customer 用户 用户编号 用户id",
    "deployment": "deployment deployment_id release revision revision_id app_version "
    "application_version version build build_number build_id image_tag git_sha commit_sha "
    "git_commit commit",
}
PASSAGE: Final = {
    "text": "text content page_content body chunk passage chunk_text document snippet value "
    "内容 文本 正文",
    "id": "id doc_id document_id chunk_id segment_id source_id source uri url 编号 "
    "文档编号 文档id 片段编号 片段id",
    "score": "score similarity relevance_score similarity_score 分数 得分 相似度",
    "relevant": "relevant is_relevant",
}
_ALL: Final = {name: tuple(words.split()) for name, words in (NAMES | PASSAGE).items()}
#: Names of a chat as a whole: what stands there counts only where it is turns.
CHATS: Final = frozenset({"conversation", "dialogue", "dialog", "chat", "turns", "transcript"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: Names that say nothing of what stands there: the one around them does.
_GENERIC: Final = frozenset({"text", "content", "value"})


def word_set(words: str) -> frozenset[str]:
    """Words between spaces."""
    return frozenset(words.split())


#: Fields whose Chinese names are known by their endings; 响应时间, how long it took, is no time.
_BY_ENDING: Final = frozenset((*REQUIRED, "reference", "text"))
_ENGLISH, _CHINESE = re.compile(r"[a-z]+"), re.compile(r"[^\x00-\x7f]+")
#: Words of a right answer, of which the application did not give it.
_RIGHT: Final = word_set(
    "truth groundtruth gt correct true best accepted human expert gold golden label target "
    "reference example expected ideal corrected annotated 参考 标准 正确 期望 预期 人工 "
    "标注 纠正 修正"
)
#: An example is a right answer as often as one that the prompt shows, and what people ask is asked.
_EXAMPLE, _PEOPLE = frozenset({"example"}), frozenset({"human", "expert", "人工"})
#: Words of what is said about an answer, or on the way to it.
_ABOUT: Final = word_set(
    "feedback rating comment review eval evaluation evaluator judge judgement judgment critique "
    "template history previous few shot example 反馈 评价 评分 评论 评审 模板 历史 示例"
)
#: Words of what was not used, or came before or after what the user saw.
_UNUSED: Final = word_set(
    "rejected discarded positive negative irrelevant wrong incorrect draft revised edited improved"
)
_AROUND: Final = (
    _ABOUT
    | _UNUSED
    | word_set("system sys developer instruction score grade tool function error 系统 工具 错误")
)
#: Of questions: those that a model or a program wrote.
_WRITTEN: Final = word_set(
    "rewritten rewrite condensed standalone expanded suggested suggestion recommended related "
    "followup follow sql cypher 改写 推荐 相关 建议"
)
#: As ragas calls passages that an answer should have been made from.
_EXPECTED: Final = word_set("reference_contexts reference_context reference_passages")
_RULED_OUT: Final = {
    "user_input": (_RIGHT - _PEOPLE) | _AROUND | _WRITTEN,
    "response": _RIGHT | _AROUND,
    # Chat products call what they retrieved references; what is expected was not retrieved.
    "retrieved_contexts": _ABOUT
    | _UNUSED
    | (_RIGHT - word_set("reference 参考 best target human")),
    "reference": _AROUND - {"example", "示例"},
}
#: Endings that say little: of whom the text is stands before them, or nobody knows.
_VAGUE: Final = word_set("text content message messages request result")
_WHOSE: Final = {
    "user_input": word_set("user question query customer client human prompt"),
    "response": word_set("answer bot assistant ai model llm generated agent response"),
}


def snake(name: str) -> str:
    """Small, with underscores between words.

    >>> snake("promptVersion"), snake("_id"), snake("App-Version"), snake("@timestamp")
    ('prompt_version', 'id', 'app_version', 'timestamp')
    """
    return _CAMEL.sub("_", name).lower().replace("-", "_").replace(" ", "_").strip("_@")


def is_usual(field_name: str, name: str) -> bool:
    """Whether it is one of the usual names of a field as it is."""
    return snake(name) in _ALL[field_name]


def words_of(name: str) -> Iterator[str]:
    """English words of one number, and Chinese texts.

    >>> list(words_of("groundTruths")), list(words_of("eval-prompt_2")), list(words_of("用户反馈"))
    (['ground', 'truth'], ['eval', 'prompt'], ['用户反馈'])
    """
    small = snake(name)
    found = _ENGLISH.findall(small)
    yield from (word[:-1] if word.endswith("s") and len(word) > 3 else word for word in found)
    yield from _CHINESE.findall(small)


def _says(names: Sequence[str], words: frozenset[str]) -> bool:
    found = [word for name in names for word in words_of(name)]
    chinese = [word for word in words if not word.isascii()]
    return any(word in words or any(each in word for each in chinese) for word in found)


def is_ruled_out(field_name: str, names: Sequence[str]) -> bool:
    """Whether a name on the way says that it is something else, like ``eval.response``.

    >>> is_ruled_out("response", ("human_answer",)), is_ruled_out("user_input", ("human_input",))
    (True, False)
    """
    words = _RULED_OUT.get(field_name, frozenset())
    if field_name == "retrieved_contexts" and snake(names[-1]) in _EXPECTED:
        return True
    # A usual name of the field, like system_answer, is none of something else.
    judged = names[:-1] if is_usual(field_name, names[-1]) else names
    return bool(words) and _says(judged, words)


def is_aside(names: Sequence[str]) -> bool:
    """Whether nothing there is a question, an answer or a passage, by its names."""
    return _says(names, _RIGHT | _AROUND | _WRITTEN)


def fit(field_name: str, names: Sequence[str]) -> float:
    """How well names on the way to a place are those of a field; 0: not at all, 1: best."""
    if is_ruled_out(field_name, names):
        return 0.0
    named = _named(field_name, names)
    if not named and field_name == "reference" and _says(names, _RIGHT - _EXAMPLE):
        return 0.3 * _named("response", names, is_right=True)
    return named


def _named(field_name: str, names: Sequence[str], *, is_right: bool = False) -> float:
    """By the last name, or the one before it where that says nothing."""
    own = weight(field_name, names[-1], is_right=is_right)
    if len(names) < 2:
        return own
    # Like session.id or prompt.version: both names together are a usual one, of this field or not.
    both = f"{snake(names[-2])}_{snake(names[-1])}"
    if both in _ALL[field_name]:
        return weight(field_name, both)
    if any(both in _ALL[other] for other in NAMES):
        return 0.0
    if field_name in NAMES and snake(names[-1]) in _GENERIC:
        around = weight(field_name, names[-2])
        # The text of an answer is no question.
        is_others = not around and any(snake(names[-2]) in _ALL[other] for other in REQUIRED)
        return 0.0 if is_others else max(own, 0.9 * around)
    if own:
        return own
    # Like output.answer_text, where the last name is nobody's; or a step that is called retrieval.
    is_said = any(weight(other, names[-1]) for other in NAMES if other != field_name)
    if is_said and names[-1] != "output":
        return 0.0
    if field_name == "retrieved_contexts" and names[-1] == "output" and _seeks(names[-2]):
        return 0.3
    return 0.5 * weight(field_name, names[-2])


def _seeks(step: str) -> bool:
    """Whether a step is called like one that finds passages, such as vector-search."""
    stems = ("retriev", "search", "rerank", "检索", "召回")
    return any(word.startswith(stems) for word in words_of(step))


def weight(field_name: str, name: str, *, is_right: bool = False) -> float:
    """1 for the likeliest name, less for others; half where the name only ends with one.

    ``is_right``: also where it is that of another field, like ``expected_output``.
    """
    small, usual = snake(name), _ALL[field_name]
    if small in usual:
        return 1.0 - 0.5 * usual.index(small) / len(usual)
    if field_name in NAMES and any(small in _ALL[other] for other in NAMES) and not is_right:
        return 0.0  # like expected_answer, which is no answer
    ends = [n for n, word in enumerate(usual) if _ends(field_name, small, word)]
    return 0.4 - 0.2 * ends[0] / len(usual) if ends else 0.0


def _ends(field_name: str, small: str, word: str) -> bool:
    if not word.isascii():
        return field_name in _BY_ENDING and len(word) > 1 and small.endswith(word)
    before = small.removesuffix(f"_{word}")
    if before == small or len(word) < 3 or word in CHATS:
        return False
    whose = _WHOSE.get(field_name)
    return whose is None or word not in _VAGUE or not whose.isdisjoint(words_of(before))
