"""Keys: whatever may change an answer changes the key, and no text can be read off it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.judge.cache.keys import claims_key, judgement_key
from monitor.records import JudgeIdentity, Passage
from tests.stages.judge_case import interaction

JUDGE = JudgeIdentity(name="llm", version="abc123", model="m", prompts="p", pipeline="joint")
TEXTS = st.text(st.characters(), max_size=8)


@given(st.lists(TEXTS, max_size=3), TEXTS, TEXTS, st.lists(TEXTS, max_size=3), TEXTS, TEXTS)
def test_only_the_same_parts_have_the_same_key(
    version: list[str], question: str, text: str, version2: list[str], question2: str, text2: str
) -> None:
    """Whatever stands in the parts, half characters too, and wherever one ends."""
    same = (version, question, text) == (version2, question2, text2)
    keys = claims_key(version, question, text), claims_key(version2, question2, text2)
    assert (keys[0] == keys[1]) == same
    assert re.fullmatch("claims:[0-9a-f]{40}", keys[0])


@pytest.mark.parametrize(
    "other",
    [
        {"user_input": "Another?"},
        {"response": "Another."},
        {"reference": None},
        {"reference": ""},
        {"retrieved_contexts": ()},
        {"retrieved_contexts": (Passage(text="P", relevant=True), Passage(text="Q"))},
        {"retrieved_contexts": (Passage(text="Q"), Passage(text="P"))},
    ],
)
def test_another_content_is_another_judgement(other: dict[str, Any]) -> None:
    """Texts, their order, labels, and whether there is a reference."""
    one = interaction(passages=("P", "Q"))
    assert judgement_key(JUDGE, one) != judgement_key(JUDGE, one.model_copy(update=other))


@pytest.mark.parametrize("field", ["name", "version", "model", "prompts", "pipeline"])
def test_another_judge_is_another_judgement(field: str) -> None:
    """Scores of two versions are never mixed."""
    other = JUDGE.model_copy(update={field: "other"})
    assert judgement_key(JUDGE, interaction()) != judgement_key(other, interaction())


def test_id_time_and_application_do_not_matter() -> None:
    """The same content elsewhere is the same judgement."""
    one = interaction()
    update = {"interaction_id": "two", "application": "other", "attributes": {"a": 1}}
    assert judgement_key(JUDGE, one) == judgement_key(JUDGE, one.model_copy(update=update))
