"""Labelled files: five formats read as they are written elsewhere, and what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.errors import ConfigurationError
from monitor.judge_check import formats
from monitor.judge_check.formats import FormatName
from monitor.judge_check.labelled import Labelled
from tests.pages import blocks

CLAIM_PAIRS = Path(__file__).parents[2] / "data" / "claim_pairs"
DOCUMENT = Path(__file__).parents[3] / "docs" / "judge-check.md"
NATIVE: dict[str, Any] = {
    "interaction_id": "one",
    "interaction": {
        "user_input": "How long is the warranty?",
        "response": "Two years. Ask us.",
        "retrieved_contexts": ["The warranty lasts two years.", {"id": "p2", "text": "Ask us."}],
        "reference": "It is two years.",
    },
    "claims": {"response": ["The warranty is two years."], "reference": ["It is two years."]},
    "verdicts": {
        "response_by_passage": [[True, None]],
        "response_by_context": [True],
        "reference_by_passage": [[True, False]],
    },
    "language": "en",
    "phenomenon": "paraphrase",
}
PAIR: dict[str, Any] = {
    "id": "p1",
    "claim": "Refunds take 14 days.",
    "passages": ["Refunds take two weeks.", "Ask us."],
    "supported": True,
    "language": "en",
    "phenomenon": "arithmetic",
}
RAGCHECKER: dict[str, Any] = {
    "query_id": "0",
    "query": "Where does the Rhine end?",
    "gt_answer": "The Rhine ends in the North Sea.",
    "response": "It ends in the Baltic Sea.",
    "retrieved_context": [{"doc_id": "000", "text": "The Rhine flows into the North Sea."}],
    "response_claims": [["Rhine", "ends in", "Baltic Sea"]],
    "gt_answer_claims": [["Rhine", "ends in", "North Sea"], "The North Sea is a sea."],
    "answer2response": ["Contradiction"],
    "response2answer": ["Neutral", "Neutral"],
    "retrieved2response": [["Neutral"]],
    "retrieved2answer": [["Entailment"], ["Neutral"]],
    "metrics": {"precision": 0.0},
}
ANSWER: dict[str, Any] = {
    "id": "167",
    "response": "Yes, Skype can be monitored.",
    "gpt4_response_kg": [{"triplet": ["Skype", "is", "safe"]}],
    "claude2_response_kg": [
        {"triplet": ["Skype", "can be", "monitored"], "human_label": "Entailment"},
        {"triplet": ["Skype", "is", "old"], "human_label": "Contradiction"},
        {"triplet": ["Skype", "is", "blue"], "human_label": None},
    ],
}
SOURCE: dict[str, Any] = {"id": "167", "question": "Is it safe?", "context": ["A.", "B."]}
HALUEVAL: dict[str, Any] = {
    "knowledge": "Arno's Magazine began in 1844. Bella began in 1989.",
    "question": "Which began first?",
    "right_answer": "Arno's Magazine",
    "hallucinated_answer": "Bella began first.",
}


def lines(*found: dict[str, Any]) -> str:
    """JSON lines."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in found)


def read(text: str, chosen: FormatName | None = None) -> list[Labelled]:
    """The interactions of a file named f."""
    return formats.read({"f": text}, chosen)[0]


def complaint(text: str, chosen: FormatName | None = None) -> str:
    """What is said of a bad file."""
    with pytest.raises(ConfigurationError) as raised:
        read(text, chosen)
    said = str(raised.value)
    assert "\n" not in said
    return said


def test_native() -> None:
    """Matrices as they stand, null where nobody knows, also for a whole kind that is left out."""
    (found,) = read(lines(NATIVE))
    assert found.interaction.interaction_id == found.cluster == "one"
    assert [p.text for p in found.interaction.retrieved_contexts][1] == "Ask us."
    assert found.verdicts.response_by_passage == ((True, None),)
    assert found.verdicts.response_by_reference == (None,)
    assert found.verdicts.reference_by_passage == ((True, False),)
    assert found.verdicts.reference_by_response == (None,)
    assert (found.language, found.phenomenon, found.claims_complete) == ("en", "paraphrase", True)


def test_score_record_is_native() -> None:
    """A score record with its texts is a labelled file: what else stands on it is left alone."""
    record = {
        "schema": "rag.score/1", "application": "a", "source": {}, "judge": {}, "scores": {},
        "sampling": {}, "outcome": "scored", "truncated": False, **NATIVE,
    }  # fmt: skip
    assert read(lines(record))[0].verdicts == read(lines(NATIVE))[0].verdicts
    judged = {**record, "judge": {"name": "llm", "version": "f92f84"}}
    assert read(lines(judged))[0].judged_by == "llm@f92f84"
    assert read(lines({**judged, "labelled_by": "ann"}))[0].judged_by is None
    said = complaint(lines({**record, "truncated": True}))
    assert said.startswith("f:1: truncated:")


@pytest.mark.parametrize(
    ("label", "texts"),
    [
        ({"supported": True}, {"passages": ["Two weeks.", "Ask us."]}),
        ({"label": False}, {"passage": "Two weeks."}),
    ],
)
def test_pairs(label: dict[str, bool], texts: dict[str, Any]) -> None:
    """A pair is an interaction with one claim; its label is about all its passages together."""
    bare = {"claim": "Refunds take 14 days.", "kind": "arithmetic"}
    (found,) = read(lines({**bare, **texts, **label}))
    assert found.claims.response == ("Refunds take 14 days.",)
    assert found.verdicts.response_by_context == tuple(label.values())
    assert set(found.verdicts.response_by_passage[0]) == {None}
    assert found.interaction.interaction_id == found.place == "f:1"
    assert (found.language, found.phenomenon) == ("Latin script", "arithmetic")
    assert not found.claims_complete


def test_pairs_with_the_same_passages_are_one_cluster() -> None:
    """Errors on claims about one text are correlated."""
    one, two, other = read(
        lines(PAIR, {**PAIR, "id": "p2"}, {**PAIR, "id": "p3", "passages": ["Else."]})
    )
    assert one.cluster == two.cluster != other.cluster


def test_claim_pairs_are_pairs() -> None:
    """The pairs that the offline judge is measured on can be read."""
    texts = {path.name: path.read_text("utf-8") for path in sorted(CLAIM_PAIRS.glob("*.jsonl"))}
    found, files = formats.read(texts)
    assert [(file.format, file.interactions) for file in files] == [("pairs", 240)] * 2
    assert {each.language for each in found} == {"en", "zh"}
    assert sum(each.verdicts.response_by_context == (True,) for each in found) == 192


def test_ragchecker() -> None:
    """Its checking_outputs.json: Entailment is supported, triplets and texts are claims."""
    (found,) = read(json.dumps({"results": [RAGCHECKER], "metrics": {"x": {}}}, indent=2))
    assert found.place == "f:3"
    assert found.claims.response == ("Rhine ends in Baltic Sea",)
    assert found.claims.reference[1] == "The North Sea is a sea."
    assert found.interaction.reference == RAGCHECKER["gt_answer"]
    verdicts = found.verdicts
    assert verdicts.response_by_reference == (False,)
    assert verdicts.reference_by_response == (False, False)
    assert verdicts.reference_by_passage == ((True,), (False,))
    assert verdicts.response_by_context == (None,)
    assert found.claims_complete


def test_ragchecker_inputs_have_no_labels() -> None:
    """Fields that RAGChecker has not computed yet are null: nothing is labelled."""
    bare = dict.fromkeys(list(RAGCHECKER)[5:11])
    (found,) = read(json.dumps([{**RAGCHECKER, **bare}]))
    assert found.claims.response == ()
    assert not found.claims_complete


@pytest.mark.parametrize("apart", [True, False])
def test_refchecker(apart: bool) -> None:
    """Answers with the labelled extractor's triplets, joined by id with question and context."""
    if apart:
        texts = {"answers.json": json.dumps([ANSWER]), "msmarco.json": json.dumps([SOURCE])}
    else:
        texts = {"answers.json": json.dumps([{**ANSWER, **SOURCE}], indent=1)}
    (found,), files = formats.read(texts)
    assert {file.format for file in files} == {"refchecker"}
    assert found.claims.response[0] == "Skype can be monitored"
    assert found.verdicts.response_by_context == (True, False, None)
    assert found.interaction.user_input == "Is it safe?"
    assert [p.text for p in found.interaction.retrieved_contexts] == ["A.", "B."]


def test_refchecker_needs_both_files() -> None:
    """One without the other is an error that names what is missing."""
    assert "f:1: id: no question and context" in complaint(json.dumps([ANSWER]))
    assert "no answers; give the annotated answers too" in complaint(json.dumps([SOURCE]))


def test_halueval() -> None:
    """Each entry is two interactions about one text: a supported answer and an unsupported one."""
    right, wrong = read(lines(HALUEVAL))
    assert right.claims.response == ("Which began first? Arno's Magazine",)
    assert wrong.interaction.response == "Bella began first."
    assert right.verdicts.response_by_context == (True,)
    assert wrong.verdicts.response_by_context == (False,)
    assert right.cluster == wrong.cluster


def test_formats_are_told_apart() -> None:
    """Each file's own format is recognised, and may be named instead."""
    texts = {
        "native": lines(NATIVE),
        "pairs": lines(PAIR),
        "ragchecker": json.dumps({"results": [RAGCHECKER]}),
        "refchecker": json.dumps([{**ANSWER, **SOURCE}]),
        "halueval-qa": lines(HALUEVAL),
    }
    assert {file.name: file.format for file in formats.read(texts)[1]} == {n: n for n in texts}
    for name in formats.FORMATS:
        assert read(texts[name], name) == read(texts[name])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f: found no labelled interaction; give"),
        ("[]", "f: found no labelled interaction; give"),
        ("{}\n", "f:1: no known format has these fields: none; give --format"),
        ('{"a": 1, "b": 2}', "f:1: no known format has these fields: a, b; give --format"),
        ("\n\n{]", "f:3: not JSON (expecting property name"),
        (lines(PAIR) + "{", "f:2: not JSON"),
        (lines(PAIR) + "[1]", "f:2: found a list, expected an object; mend"),
        (lines(PAIR).rstrip() + lines(PAIR), "f:1: more than one JSON value; write one"),
        ('[\n{"claim": 1}\n{"claim": 2}]', "f:3: the list does not go on or end here"),
        ("[\n3]", "f:2: found a number, expected an object"),
        ('{"claim": NaN}', "f:1: not JSON (NaN"),
        ("[" * 100_000, "f:1: not JSON"),
        (lines(PAIR, PAIR), "f:2: the same id as f:1; give every interaction"),
        (
            lines({**PAIR, "suported": True}),
            "f:1: suported: unknown field; did you mean supported?",
        ),
        (lines({**PAIR, "x": 1}), "f:1: x: unknown field; take it out"),
        (lines({**PAIR, "supported": "yes"}), "f:1: supported: expected a valid boolean; mend"),
        (lines({**PAIR, "supported": 1}), "f:1: supported: expected a valid boolean; mend"),
        (lines({**PAIR, "supported": None}), "f:1: supported or label: expected exactly one"),
        (lines({**PAIR, "label": True}), "f:1: supported or label: expected exactly one"),
        (lines({**PAIR, "passage": "x"}), "f:1: passage or passages: expected exactly one"),
        (lines({**PAIR, "passages": []}), "f:1: passages: Tuple should have at least 1 item"),
        (lines({**PAIR, "passages": [3]}), "f:1: passages.0: "),
        (lines(PAIR, {**PAIR, "claim": ""}), "f:2: claim: String should have at least 1"),
        (lines({**NATIVE, "claims": {}}), "f:1: claims.response: missing; add it"),
        (
            lines({**NATIVE, "verdicts": {"response_by_passage": [[True]]}}),
            "f:1: verdicts.response_by_passage[0]: found 1, expected 2, one for each passage; give",
        ),
        (
            lines({**NATIVE, "verdicts": {"response_by_context": []}}),
            "f:1: verdicts.response_by_context: found 0, expected 1, one for each claim; give null",
        ),
        (
            lines({**NATIVE, "verdicts": {"response_by_contexts": []}}),
            "f:1: verdicts.response_by_contexts: unknown field; ",
        ),
        (
            json.dumps([{**RAGCHECKER, "answer2response": ["Maybe"]}]),
            "f:1: answer2response.0: expected Entailment, Neutral or Contradiction; mend",
        ),
        (
            json.dumps([{**RAGCHECKER, "retrieved2response": []}]),
            "f:1: verdicts.response_by_passage: found 0, expected 1, one for each claim",
        ),
    ],
)
def test_bad_files(text: str, expected: str) -> None:
    """One line that names file, line and field, and what to do."""
    assert complaint(text).startswith(expected)


def test_reference_claims_without_a_reference() -> None:
    """Claims of a text that is not there are refused."""
    bare = {**NATIVE, "interaction": {**NATIVE["interaction"], "reference": None}}
    assert complaint(lines(bare)).startswith("f:1: claims.reference: found 1, but the interaction")


def test_named_format_that_does_not_fit() -> None:
    """A file read as what it is not says which field is missing."""
    said = complaint(lines(HALUEVAL), "ragchecker")
    assert said.startswith("f:1: query_id: missing; add it, or choose another --format")


def test_texts_are_never_quoted() -> None:
    """What stands in the file does not come out in the message."""
    said = complaint(lines({**PAIR, "claim": ["secret"], "passages": ["secret"]}))
    assert "secret" not in said


def test_lines_of_a_list() -> None:
    """An element of a list is known by the line that it begins in."""
    text = json.dumps([PAIR, {**PAIR, "id": "p2"}, {**PAIR, "id": "p3"}], indent=2)
    found = [each.place for each in read(text)]
    at = [number for number, line in enumerate(text.split("\n"), 1) if line == "  {"]
    assert found == [f"f:{number}" for number in at]


def test_documented_examples() -> None:
    """Every example in the document is read as the format of its heading."""
    seen = []
    for part in DOCUMENT.read_text("utf-8").split("\n### ")[1:]:
        name, _, rest = part.partition("\n")
        for example in blocks(rest, "jsonl"):
            assert formats.read({"f": example})[1][0].format == name
            seen.append(name)
    assert seen == ["native", "pairs"]


def test_byte_order_mark() -> None:
    """A file saved with a byte order mark is read."""
    assert len(read("\ufeff" + lines(PAIR))) == 1
