"""``evaluate``: rows of any kind, columns by name, path or function, and rows that fail."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest

from monitor.api.samples import index_of
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Judgement
from rag_monitor import (
    DependencyRefused,
    Faithfulness,
    InputRejected,
    JudgeFailed,
    NoiseSensitivity,
    SingleTurnSample,
    aevaluate,
    evaluate,
)
from tests.stages.judge_case import PASSAGES, QUESTION, REFERENCE, WARRANTY, WRONG

ROW: dict[str, Any] = {
    "user_input": QUESTION,
    "response": WARRANTY,
    "retrieved_contexts": list(PASSAGES),
    "reference": REFERENCE,
}
#: As ragas called them before.
RAGAS = {"user_input": QUESTION, "response": WARRANTY, "contexts": list(PASSAGES)}
NAMES = ["faithfulness", "incorrect_claims"]


class Frame:
    """As much of a pandas DataFrame as is asked of one; its empty cells are NaN."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.columns = sorted({name for row in rows for name in row})
        self._rows = rows
        self.index: list[str] = []

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return [{name: row.get(name, float("nan")) for name in self.columns} for row in self._rows]


class LazyFrame:
    """As much of a Polars LazyFrame."""

    def collect(self) -> None:
        raise AssertionError("whoever made it decides when it is computed")


class Dawdling(OfflineJudge):
    """Takes its time, never the same; of some questions it says nothing."""

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        await asyncio.sleep(random.random() / 200)
        if "refuse" in interaction.user_input:
            raise JudgeFailed("no", reason="rejected")
        return await super().judge(interaction, cost_meter, claims)


def test_rows_keep_their_order() -> None:
    """Whoever is done first; each row once, with the value that it has alone."""
    rows = [{**ROW, "response": WRONG if number % 3 else WARRANTY} for number in range(60)]
    result = evaluate(rows, NAMES, judge=Dawdling(), show_progress=False)
    assert result["incorrect_claims"] == [1.0 if number % 3 else 0.0 for number in range(60)]
    assert len(result.records) == 60
    assert [record.source.offset for record in result.records] == list(range(60))


@pytest.mark.parametrize(
    "rows",
    [
        [ROW, {**ROW, "reference": None}],
        (row for row in [ROW, {**ROW, "reference": None}]),
        Frame([ROW, {k: v for k, v in ROW.items() if k != "reference"}]),
        [SingleTurnSample(**ROW), SingleTurnSample(**{**ROW, "reference": None})],
    ],
    ids=["dicts", "a generator", "a frame", "samples"],
)
def test_rows_of_every_kind(rows: Any) -> None:
    """An empty cell of a frame is a missing value, and no text called nan."""
    result = evaluate(rows, NAMES, judge="offline")
    assert result["incorrect_claims"] == [0.0, None]
    assert result.means["incorrect_claims"].missing == {"NO_REFERENCE": 1}
    assert [row["incorrect_claims"] for row in result.to_list()] == [0.0, None]


def function(row: Mapping[str, Any]) -> str:
    """A column that somebody computes."""
    return str(row["meta"]["truth"])


def test_columns_by_name_path_and_function() -> None:
    """And by ``column_map``, as ragas has it; a column may be called anything."""
    row = {
        "the question!": QUESTION,
        "log": {"answer": WARRANTY, "docs": [{"text": text} for text in PASSAGES]},
        "meta": {"truth": REFERENCE},
    }
    columns: dict[str, Any] = {
        "response_column": "log.answer",
        "retrieved_contexts_column": "log.docs",
        "reference_column": function,
    }
    given = evaluate([row], NAMES, judge="offline", user_input_column="the question!", **columns)
    mapped = evaluate(
        [row], NAMES, judge="offline", column_map={"user_input": "the question!"}, **columns
    )
    assert given.scores == mapped.scores == evaluate([ROW], NAMES, judge="offline").scores


@pytest.mark.parametrize("empty", [None, [], ""])
def test_a_row_may_have_no_passages(empty: Any) -> None:
    """Also where a column of another name is there, and holds nothing."""
    row = {"user_input": QUESTION, "response": WARRANTY, "reference": REFERENCE}
    named = {**row, "context": empty}
    result = evaluate([row, named], ["incorrect_claims"], judge="offline", show_progress=False)
    assert None not in result["incorrect_claims"]


def test_noise_is_one_text_or_several() -> None:
    """Also objects with text, as a file may hold them."""
    noise = "Returning an item costs 5 euros."
    for given in (noise, [noise], [{"text": noise}]):
        result = evaluate([ROW], NAMES, judge="offline", show_progress=False, noise_context=given)
        passages: Any = result.records[0].interaction["retrieved_contexts"]
        assert [len(passages), passages[-1]["text"]] == [len(PASSAGES) + 1, noise]


def test_columns_that_have_numbers() -> None:
    """As those of a frame that was made without names."""
    row = dict(enumerate((QUESTION, WARRANTY, list(PASSAGES), REFERENCE)))
    found = evaluate(
        *([row], NAMES),
        judge="offline",
        user_input_column=0,
        response_column=1,
        retrieved_contexts_column=2,
        reference_column=3,
    )
    assert found.scores == evaluate([ROW], NAMES, judge="offline").scores


def test_the_index_of_a_frame_is_kept() -> None:
    """Of a frame, whose rows it names; a list has a method of that name, and no index."""
    frame = Frame([ROW, ROW])
    frame.index = ["a", "b"]
    assert index_of(frame) == ["a", "b"]
    assert index_of([ROW]) is None


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([ROW, {"question": "x"}], {}, r"row 2: no user_input; the row has question: say user_inp"),
        (
            [{"user_input": "q", "response": "a", "context": [], "retrieval_context": []}],
            {"retrieved_contexts_column": "docs"},
            r": say retrieved_contexts_column='retrieval_context' or 'context'",
        ),
        ([{**ROW, "response": 5}], {}, r"row 1: response: found a number, expected a"),
        ([ROW], {"response_column": "anser"}, r"row 1: no response at 'anser'; the row has user_i"),
        ([ROW], {"reference_column": "referense"}, r"no reference at .*: did you mean reference\?"),
        ([ROW], {"response_column": "a["}, r"no response at 'a\[' \(no column's name, nor an expr"),
        ([ROW], {"response_column": lambda _: 1 / 0}, r"the function raised ZeroDivisionError"),
        ([ROW], {"column_map": {"questoin": "x"}}, r"column_map: no field 'questoin'"),
        ([ROW], {"metrics": ["faithfullness"]}, r"no metric 'faithfullness': did you mean faithf"),
        ([ROW], {"metrics": [Faithfulness(), "faithfulness"]}, r"two are called faithfulness"),
        ([ROW], {"metrics": [object()]}, r"found a builtins.object, expected a metric of rag_mon"),
        ([ROW], {"metrics": []}, r"metrics: found none, expected one or more; leave metrics out"),
        ([], {}, r"there are no rows"),
        ("rows.csv", {}, r"found a str, expected rows: .* rag-monitor evaluate"),
        (LazyFrame(), {}, r"found a LazyFrame, expected rows: call \.collect\(\) first"),
        ([5], {}, r"row 1: found a int, expected a dict or a sample"),
        ([RAGAS], {}, r"row 1: no retrieved_contexts; .* say retrieved_contexts_column='contexts'"),
        ([ROW], {"noise_context": ["a", 5]}, r"noise_context: passage 2: found int in place of a"),
        ([ROW], {"noise_context": " "}, r"noise_context: passage 1: found an empty text"),
    ],
)
def test_what_is_wrong_is_named(rows: Any, options: dict[str, Any], said: str) -> None:
    """Row, field, what is there, and what to write; before anybody is asked."""
    judge = Dawdling()
    with pytest.raises(InputRejected, match=said):
        evaluate(rows, **{"metrics": NAMES, "judge": judge, **options})


async def test_rows_that_fail() -> None:
    """They have no value and their reason, and widen the interval; or they raise."""
    rows = [ROW, {**ROW, "user_input": "refuse"}, ROW]
    result = await aevaluate(rows, NAMES, judge=Dawdling())
    assert result["faithfulness"] == [1.0, None, 1.0]
    assert result.means["faithfulness"].missing == {"REJECTED": 1}
    assert result.means["faithfulness"].n == 2
    mean = result.means["faithfulness"]
    alone = (await aevaluate([ROW, ROW], NAMES, judge=Dawdling())).means["faithfulness"]
    assert mean.value == alone.value == 1.0
    assert mean.lower is not None
    assert alone.lower is not None
    assert mean.lower < alone.lower
    with pytest.raises(JudgeFailed, match="gave no judgement: rejected"):
        await aevaluate(rows, NAMES, judge=Dawdling(), raise_exceptions=True)
    with pytest.raises(DependencyRefused, match="the judge answers nothing: 2 of 2 times rejected"):
        await aevaluate([rows[1], rows[1]], NAMES, judge=Dawdling())


def test_a_metric_with_a_judge_of_its_own() -> None:
    """It keeps it; columns are called as somebody has named them."""
    result = evaluate(
        [ROW],
        [Faithfulness(judge="offline"), Faithfulness(name="mine", judge=Dawdling())],
        judge="offline",
    )
    assert list(result) == ["faithfulness", "mine"]
    assert result["mine"] == result["faithfulness"] == [1.0]
    assert len(result.records) == 2


async def test_batches() -> None:
    """Of one metric, in the order of the rows."""
    scorer = NoiseSensitivity(judge=Dawdling())
    found = await scorer.abatch_score([ROW, {**ROW, "response": WRONG}])
    assert [each.value for each in found] == [0.0, 0.0]
    assert [each.record.interaction["response"] for each in found] == [WARRANTY, WRONG]
    assert scorer.batch_score([ROW])[0].value == 0.0


def test_a_result_in_a_notebook() -> None:
    """A table for people, the words for a row, and statistics of each column."""
    result = evaluate([ROW, {**ROW, "response": WRONG}], NAMES, judge="offline")
    assert repr(result).splitlines()[1].startswith("faithfulness                    1.000  0.")
    assert "<th>mean (95 % interval)</th>" in result._repr_html_()
    assert "wrong" in result.explain(1, "incorrect_claims")
    described = result.statistics["incorrect_claims"]
    assert described is not None
    assert (described.n, described.mean, described.median) == (2, 0.5, 0.5)
    assert str(result.means["incorrect_claims"]).startswith("0.500 (0.")
