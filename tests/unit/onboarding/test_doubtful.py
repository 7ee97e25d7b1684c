"""What is no question, answer or passage is not guessed as one, whatever it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from monitor.onboarding.guess import Guess, guessed
from monitor.onboarding.proposal import GuessedOf, proposal
from monitor.onboarding.shapes import viewed

RECORDS = 20


def asked(n: int) -> str:
    """The question of the ``n``-th record."""
    return f"How do I return order {n}?"


def said(n: int) -> str:
    """Its answer."""
    return f"Send parcel {n} back within 30 days."


def passage(n: int) -> str:
    """What it was answered from."""
    return f"Parcels like {n} may be returned within 30 days."


def right(n: int) -> str:
    """What should have been answered."""
    return f"It is thirty days for {n}."


Made = Callable[[int], dict[str, Any]]


def guess_of(record: Made) -> Guess:
    """What is guessed of twenty records."""
    return guessed(viewed([record(n) for n in range(RECORDS)]))


def found_in(record: Made, *names: str) -> tuple[str | None, ...]:
    """The places of fields, without quotes; None: not found."""
    fields = guess_of(record).fields
    return tuple(
        fields[name].expression.replace('"', "") if name in fields else None for name in names
    )


#: Records that have a right answer; where the answer and the right one stand.
RIGHT_ANSWERS: dict[str, tuple[Made, str | None, str | None]] = {
    "ground truth": (
        lambda n: {"llm_output": said(n), "ground_truth_answer": right(n)},
        "llm_output",
        "ground_truth_answer",
    ),
    "correct": (
        lambda n: {"correct_answer": right(n), "model_output": said(n)},
        "model_output",
        "correct_answer",
    ),
    "by people": (
        lambda n: {"human_answer": right(n), "bot_reply": said(n)},
        "bot_reply",
        "human_answer",
    ),
    "reference outputs": (
        lambda n: {"reference_outputs": {"answer": right(n)}, "outputs": {"result": said(n)}},
        "outputs.result",
        "reference_outputs.answer",
    ),
    "an example": (
        lambda n: {"example": {"answer": right(n)}, "turn": {"b": said(n)}},
        None,
        None,
    ),
    "correct alone": (lambda n: {"correct_answer": right(n)}, None, "correct_answer"),
    "best alone": (
        lambda n: {"best_answer": right(n), "accepted_answer": right(n)},
        None,
        "best_answer",
    ),
    "true alone": (
        lambda n: {"label_output": right(n), "true_answer": right(n)},
        None,
        "true_answer",
    ),
    "chinese": (lambda n: {"人工回答": right(n), "大模型回答": said(n)}, "大模型回答", "人工回答"),
    "corrected": (lambda n: {"纠正答案": right(n), "draft_answer": said(n)}, None, "纠正答案"),
    "chinese alone": (lambda n: {"标准回答": right(n)}, None, "标准回答"),
}


@pytest.mark.parametrize("case", RIGHT_ANSWERS)
def test_a_right_answer_is_a_reference(case: str) -> None:
    """Never the answer, be it the only one there."""
    record, answer, reference = RIGHT_ANSWERS[case]
    assert found_in(record, "response", "reference") == (answer, reference)


def test_the_question_of_an_example_is_none() -> None:
    """What was asked stands elsewhere."""
    example = {"question": "Which example?", "answer": "This one."}
    found = guess_of(lambda n: {"example": example, "turn": {"u": asked(n)}, "answer": said(n)})
    assert found.missing == ["user_input", "retrieved_contexts"]
    assert found.perhaps["user_input"] == ["turn.u"]


SYSTEM = "You are a helpful assistant. Answer from context only."
#: What is no question or answer: the record, and where they are.
OTHER_TEXTS: dict[str, tuple[Made, str | None, str | None]] = {
    "feedback": (
        lambda n: {"question": asked(n), "feedback": {"message": f"Bad {n}!", "reply": f"No {n}."}},
        "question",
        None,
    ),
    "review": (lambda n: {"question": asked(n), "review_text": f"Bad {n}!"}, "question", None),
    "system prompt": (lambda n: {"system_prompt": SYSTEM, "answer": said(n)}, None, "answer"),
    "the same prompt": (lambda n: {"prompt": SYSTEM, "answer": said(n)}, None, "answer"),
    "settings": (
        lambda n: {"system": {"prompt": f"{SYSTEM} {n}"}, "config": {"input": "text"}},
        None,
        None,
    ),
    "chinese": (
        lambda n: {
            "输入": {"系统提示": SYSTEM},
            "输出": {"文本": f"模型{n}", "反馈": f"差 {n}"},
        },
        None,
        "输出.文本",
    ),
    "judge": (
        lambda n: {"eval": {"prompt": f"Rate answer {n}", "response": f"4/5 because of {n}"}},
        None,
        None,
    ),
    "tool": (
        lambda n: {
            "conversation": [
                {"role": "user", "content": asked(n)},
                {"role": "tool", "name": "search", "content": passage(n)},
                {"role": "assistant", "content": said(n)},
            ]
        },
        "conversation",
        "conversation",
    ),
    "an answer's message": (
        lambda n: {"choices": [{"message": {"role": "assistant", "content": said(n)}}]},
        None,
        "choices[0].message",
    ),
    "the question again": (lambda n: {"question": asked(n), "result": asked(n)}, "question", None),
    "a chat's name": (lambda n: {"conversation": f"c{n}", "answer": said(n)}, None, "answer"),
    "a rewritten question": (lambda n: {"改写问题": asked(n), "回答": said(n)}, None, "回答"),
    "an error": (lambda n: {"question": asked(n), "error_message": said(n)}, "question", None),
    "a step on the way": (
        lambda n: {
            "question": asked(n),
            "steps": [{"name": "rewrite", "output": f"return {n}"}, {"name": "none"}],
        },
        "question",
        None,
    ),
}


@pytest.mark.parametrize("case", OTHER_TEXTS)
def test_what_nobody_asked_or_answered_is_not_chosen(case: str) -> None:
    """By its name, by who says it, or since all records say the same."""
    record, question, answer = OTHER_TEXTS[case]
    assert found_in(record, "user_input", "response") == (question, answer)


#: What is called like passages, or is some: the record, and where they are.
PASSAGES: dict[str, tuple[Made, str | None]] = {
    "a client": (lambda n: {"context": {"user_id": f"u{n}", "locale": "de", "os": "iOS 18"}}, None),
    "settings": (lambda n: {"context": {"place": "New York", "voice": "very calm"}}, None),
    "addresses": (lambda n: {"sources": [f"https://x.org/{n}.pdf", "https://x.org/b"]}, None),
    "files": (lambda n: {"documents": [f"Report {n}.pdf", "b.docx"]}, None),
    "ids": (lambda n: {"chunks": [f"doc-{n}", "doc_7"], "contexts": ["kb#12"]}, None),
    "tokens": (lambda n: {"docs": ["returns", "orders"]}, None),
    "by id": (lambda n: {"docs": {f"kb{n}": passage(n)}}, "docs"),
    "by number": (lambda n: {"evidence": {"doc-1": passage(n), "doc-2": "P"}}, "evidence"),
    "files beside texts": (lambda n: {"文档": ["a.pdf"], "内容": [f"片{n}"]}, "内容"),
    "after the reranker": (
        lambda n: {"documents": [passage(n), passage(0)], "reranked_documents": [passage(n)]},
        "reranked_documents",
    ),
    "flat export": (
        lambda n: {
            "context.trace_id": f"{n:032x}",
            "context.span_id": f"{n:016x}",
            "attributes.input.value": asked(n),
            "attributes.retrieval.documents": [{"document.content": passage(n)}],
        },
        "attributes.retrieval.documents",
    ),
    "what is expected": (
        lambda n: {
            "reference_contexts": [passage(n)],
            "gold_passages": [passage(n)],
            "negative_passages": [passage(n)],
        },
        None,
    ),
    "titles beside texts": (
        lambda n: {"documents": ["Return policy", f"Terms {n}"], "chunks": [passage(n)]},
        "chunks",
    ),
    "numbered": (lambda n: {"passage_1": "P", "passage_2": "R"}, "[passage_1, passage_2]"),
    "evidence": (lambda n: {"evidence": [passage(n), "P"]}, "evidence"),
    "snippets": (lambda n: {"kb": {"snippets": [{"snippet": passage(n)}]}}, "kb.snippets"),
    "grounding": (lambda n: {"grounding": [{"passage": passage(n)}]}, "grounding"),
    "one text": (lambda n: {"retrieved_text": passage(n)}, "retrieved_text"),
    "a step": (
        lambda n: {
            "spans": [
                {"name": "vector-search", "output": [{"content": passage(n)}]},
                {"name": "generate", "output": said(n)},
            ]
        },
        "spans[?name=='vector-search'].output | [0]",
    ),
}


@pytest.mark.parametrize("case", PASSAGES)
def test_passages_are_texts(case: str) -> None:
    """No addresses, files, ids, or what is known of a client."""
    record, place = PASSAGES[case]
    assert found_in(record, "retrieved_contexts") == (place,)


@pytest.mark.parametrize(
    ("question", "answer", "passages"),
    [
        ("用户提问", "模型回复", "召回文档"),
        ("用户问题", "大模型回答", "检索文档"),
        ("提问内容", "系统回答", "检索片段"),
        ("query_问题", "答案", "参考文档"),
    ],
)
def test_chinese_names_are_known_by_their_endings(
    question: str, answer: str, passages: str
) -> None:
    """They have no sign between their words."""
    found = found_in(
        lambda n: {question: f"第{n}号?", answer: f"答{n}", passages: [{"片段内容": f"片{n}"}]},
        "user_input",
        "response",
        "retrieved_contexts",
    )
    assert found == (question, answer, passages)


def test_the_text_of_passages_may_have_a_name_with_a_dot() -> None:
    """As spans have them, in a list that is not flat."""
    within = guess_of(lambda n: {"documents": [{"document.content": passage(n)}]}).within
    assert within["text"].expression == '"document.content"'


def test_what_is_doubtful_is_named() -> None:
    """In the line to fill in, and a system prompt is not."""
    guess = guess_of(
        lambda n: {
            "system_prompt": SYSTEM,
            "user_says": asked(n),
            "said": said(n),
            "p": [passage(n)],
        }
    )
    text = proposal(guess, GuessedOf("logs"), str)
    assert "what the user asked; perhaps user_says, said" in text
    assert "the passages that the answering model saw; perhaps p\n" in text


def test_the_ideal_passages_are_named_and_not_chosen() -> None:
    """As DeepEval calls them, in whichever order; what is within a place is no other one."""
    used = {"retrieval_context": [f"{passage(0)} A.", "Shipping takes two days."]}
    for beside in ("context", "contexts", "documents"):
        for first, second in ((used, {beside: [right(0)]}), ({beside: [right(0)]}, used)):
            made = [first | second | {"input": asked(n)} for n in range(RECORDS)]
            guess = guessed(viewed(made))
            assert guess.fields["retrieved_contexts"].expression == "retrieval_context"
            assert guess.also == [beside]
            text = proposal(guess, GuessedOf("logs"), str)
            assert f"    # Passages stand at {beside}, too. Which did the answering model" in text
    alone = guess_of(lambda n: {"input": asked(n), "documents": [{"content": passage(n)}]})
    assert alone.also == []
    assert "Passages stand at" not in proposal(alone, GuessedOf("logs"), str)


def test_who_says_it_is_no_application() -> None:
    """Where every record has another; both are named for somebody to decide."""
    guess = guess_of(lambda n: {"turn": {"user": asked(n), "assistant": said(n)}})
    assert guess.perhaps["response"] == ["turn.user", "turn.assistant"]
    assert not {"application", "user"} & set(guess.fields)


def test_the_turn_of_a_person_is_no_reference() -> None:
    """As LangChain writes turns: type human."""
    turns = [{"type": "human", "content": "How long?"}, {"type": "ai", "content": "24 months."}]
    assert found_in(lambda _: {"messages": turns}, "user_input", "reference") == (None, None)
    asked_each = found_in(
        lambda n: {"messages": [{"type": "human", "content": asked(n)}, turns[1]]},
        "user_input",
        "reference",
    )
    assert asked_each == ("messages", None)


def test_an_id_is_shown_as_it_is() -> None:
    """Digits of a UUID look like a telephone's; it is nobody's."""
    name = "01122567-d600-49d9-b78e-e63a7ce1bcc0"
    guess = guess_of(lambda n: {"id": f"{name[:-2]}{n:02}", "question": asked(n)})
    text = proposal(guess, GuessedOf("logs"), lambda text: text.replace("01122567", "<PHONE>"))
    assert f'"{name[:-2]}00"' in text
