"""Settings of blocks: what is taken, and what is refused with its path."""

from __future__ import annotations

import json
from functools import reduce
from operator import add

import pytest

from monitor.config import load
from monitor.errors import ConfigurationError

BLOCK = "RAG_MONITOR_SAMPLING__BLOCK"


@pytest.mark.parametrize(
    ("given", "taken"), [("1", 1), ("32", 32), ("4096", 4096), ("auto", "auto")]
)
def test_blocks_are_powers_of_two_or_auto(given: str, taken: object) -> None:
    """As the environment gives them."""
    assert load({BLOCK: given}).sampling.block == taken


@pytest.mark.parametrize("given", ["0", "-2", "24", "8192", "some"])
def test_other_lengths_are_refused(given: str) -> None:
    """By the setting's name: replicas with different lengths must cut in the same places."""
    with pytest.raises(ConfigurationError, match=r"sampling\.block"):
        load({BLOCK: given})


def test_floors_fit_into_all_that_is_judged() -> None:
    """Shares that add up to more could never all be held."""
    name = "RAG_MONITOR_SAMPLING__FLOORS"
    assert load({name: '{"acme": 0.2}'}).sampling.floors == {"acme": 0.2}
    with pytest.raises(ConfigurationError, match="more than 1"):
        load({name: '{"acme": 0.7, "zen": 0.5}'})


def test_equal_floors_may_take_all() -> None:
    """Fifty of 0.02 are 1, whatever the sum of the rounded ones is."""
    floors = {f"s{number}": 0.02 for number in range(50)}
    assert reduce(add, floors.values()) > 1
    found = load({"RAG_MONITOR_SAMPLING__FLOORS": json.dumps(floors)})
    assert found.sampling.floors == floors


def test_an_application_has_a_rate_of_its_own_and_no_blocks() -> None:
    """Blocks are cut from partitions, whatever stands in them."""
    entry = "RAG_MONITOR_APPLICATIONS__0"
    whole = load(
        {BLOCK: "8", f"{entry}__APPLICATION": "bot", f"{entry}__SAMPLING__RATE": "0.5"}
    ).effective[0]
    assert whole.sampling.rate == 0.5
    with pytest.raises(ConfigurationError, match="block"):
        load({f"{entry}__APPLICATION": "bot", f"{entry}__SAMPLING__BLOCK": "8"})


def test_how_far_behind_is_a_duration() -> None:
    """Ten minutes unless it is said."""
    assert load({}).ingest.behind_after == "10m"
    with pytest.raises(ConfigurationError, match=r"ingest\.behind_after"):
        load({"RAG_MONITOR_INGEST__BEHIND_AFTER": "soon"})
