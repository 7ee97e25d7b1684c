"""The worst answers by a metric: which they are, what is wrong, and one of them in full."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from monitor.lookup import shown
from monitor.lookup.findings import PlacedScore
from monitor.lookup.worst import WorstAnswers, WorstQuery, as_json, lines, summary
from monitor.records import ScoreRecord
from tests.stages.answers import answered, scored
from tests.stages.records import NOON

METRIC = "noise_sensitivity_irrelevant"
RIGHT, WRONG = "The warranty lasts 24 months.", "Returning an item costs 5 euros."


async def pool() -> list[ScoreRecord]:
    """One that is right, one half wrong, one all wrong, and one of another tenant."""
    return [
        await scored(answered("right", response=RIGHT)),
        await scored(answered("half")),
        await scored(answered("all", response=WRONG)),
        await scored(answered("other", attributes={"tenant": "globex"})),
    ]


def collected(records: list[ScoreRecord], **fields: Any) -> WorstAnswers:
    """What a query finds among them."""
    given = {"metric": METRIC, "since": NOON - timedelta(hours=1), "most": 2, **fields}
    found = WorstAnswers(WorstQuery(**given))
    for each in records:
        found.add(each)
    return found


async def test_the_worst_come_first_and_perfect_ones_never() -> None:
    """At most as many as are asked for."""
    found = collected(await pool())
    shown_records = found.records()
    assert [one.interaction_id for one in shown_records] == ["all", "half"]
    assert "2 of 3 that could be better, among 4 with a value" in summary(found, shown_records)


async def test_one_segment_or_application_only() -> None:
    """By its value, or by attribute and value; who finds nothing learns the attributes."""
    records = await pool()
    for segment in ("globex", "tenant=globex"):
        assert [one.interaction_id for one in collected(records, segment=segment).records()] == [
            "other"
        ]
    nothing = collected(records, segment="initech")
    assert "their attributes: tenant" in summary(nothing, nothing.records())
    assert collected(records, application="bank").valued == 0


async def test_what_happened_before_is_left_out() -> None:
    """By the time of the interaction."""
    late = collected(await pool(), since=NOON + timedelta(seconds=1))
    assert late.records() == []
    assert "no score record since" in summary(late, [])


async def test_judged_again_the_latest_counts_in_any_order() -> None:
    """The same interaction and judge: a correction replaces what was judged first."""
    first = await scored(answered("a", response=WRONG), judged_at=NOON)
    again = await scored(answered("a", response=RIGHT))
    for records in ([first, again], [again, first]):
        assert collected(records).records() == []


async def test_a_wrong_claim_names_its_passage() -> None:
    """For people and for programs: the text, and where it came from."""
    (record,) = collected([await scored(answered("half"))]).records()
    (claim,) = as_json(record, METRIC)["claims"]
    assert claim["passages"] == [{"number": 2, "id": "archive-2019#3", "relevant": False}]
    text = "\n".join(lines(1, record, METRIC))
    assert "← wrong, from irrelevant passage 2 (archive-2019#3)" in text
    assert "Returning an item costs 5 euros" in text


async def test_one_answer_in_full() -> None:
    """Texts, claims by passage and by reference, and where older judgements stand."""
    record = await scored(answered("half"))
    older = await scored(answered("half"), judged_at=NOON)
    placed = [PlacedScore(older, 0, 0), PlacedScore(record, 0, 1)]
    rows = shown.as_json(placed)
    right, wrong = rows["response_claims"]
    assert (right["wrong"], right["by_passage"], right["by_reference"]) == (
        False,
        [True, False],
        True,
    )
    assert (wrong["wrong"], wrong["by_passage"], wrong["by_reference"]) == (
        True,
        [False, True],
        False,
    )
    assert rows["place"] == {"partition": 0, "offset": 1}
    assert [other["offset"] for other in rows["others"]] == [0]
    text = "\n".join(shown.lines(placed))
    assert "2  [archive-2019#3] [irrelevant] Price list of 2019" in text
    assert "also scored at" in text
