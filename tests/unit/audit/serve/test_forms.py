"""What a browser sends, and what is made of it."""

from __future__ import annotations

import pytest

from monitor.audit.listing import Filters, Key
from monitor.audit.serve.forms import BadQuery, filters_of, key_of, next_page, verdicts_of
from tests.stages.audits import MIXED, RIGHT

NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ({}, Filters()),
        ({"application": " bot ", "metric": ""}, Filters(application="bot")),
        ({"least": "0.5", "most": "1"}, Filters(least=0.5, most=1.0)),
        ({"since": "2h"}, Filters(since_ms=round((NOW - 7_200) * 1000))),
        ({"until": "2026-11-20T12:00"}, Filters(until_ms=1_795_176_000_000)),
        ({"until": "2026-11-20T13:00+01:00"}, Filters(until_ms=1_795_176_000_000)),
        (
            {"order": "worst", "metric": "hallucination"},
            Filters(order="worst", metric="hallucination"),
        ),
    ],
)
def test_a_query_is_filters(query: dict[str, str], filters: Filters) -> None:
    """A field that was left empty is any."""
    assert filters_of(query, NOW) == filters


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"metric": "goodness"}, "metric: there is no 'goodness'"),
        ({"least": "much"}, "least: found 'much', expected a number from 0 to 1"),
        ({"most": "nan"}, "most: found 'nan'"),
        ({"since": "yesterday"}, "since: found 'yesterday', expected a time like"),
        ({"until": "99999-01-01"}, "until: found"),
        ({"order": "best"}, "order: found 'best'"),
    ],
)
def test_what_means_nothing_is_said(query: dict[str, str], said: str) -> None:
    """With what was expected."""
    with pytest.raises(BadQuery) as raised:
        filters_of(query, NOW)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize("key", [Key(0.5, 7), Key(1_795_176_000_123, 7), Key(1 / 3, 0)])
def test_the_link_to_the_next_page_is_its_key(key: Key) -> None:
    """To the last bit, or a row would be shown twice."""
    query = dict(pair.split("=") for pair in next_page({"application": "b"}, key).split("&"))
    query["after"] = query["after"].replace("%2C", ",")
    assert key_of(query) == key
    assert query["application"] == "b"
    assert key_of({}) is None
    with pytest.raises(BadQuery):
        key_of({"after": "x"})


def test_ticks_are_verdicts() -> None:
    """What one passage supports, all of them do."""
    ticked = {
        "response_by_passage-0-0": "on",
        "response_by_passage-1-1": "on",
        "response_by_context-0": "on",
        "response_by_reference-0": "on",
        "response_by_reference-1": "on",
        "reference_by_passage-0-0": "on",
        "reference_by_response-0": "on",
    }
    assert verdicts_of(ticked, MIXED) == RIGHT
    nothing = verdicts_of({}, MIXED)
    assert not any(nothing.response_by_context)
    assert nothing.response_by_passage == ((False, False), (False, False))
