"""Every consumed interaction ends once: consumed = sum of outcomes + in flight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from monitor.records import Outcome, Reason
from monitor.scorer.ledger import Ledger
from monitor.telemetry import ScorerTelemetry

ENDINGS = st.sampled_from(
    [(Outcome.SCORED, None)]
    + [(outcome, Reason.HASH) for outcome in Outcome if outcome is not Outcome.SCORED]
)


def scraped(registry: CollectorRegistry, name: str) -> float:
    """The sum of all samples of a name in one scrape."""
    return sum(s.value for f in registry.collect() for s in f.samples if s.name == name)


@given(st.lists(st.none() | st.integers(0, 300) | ENDINGS))
def test_consumed_is_outcomes_and_in_flight(
    steps: list[tuple[Outcome, Reason | None] | int | None],
) -> None:
    """In a scrape after any step; None is a record read, a number a batch, the rest are endings."""
    registry = CollectorRegistry()
    ledger = Ledger(ScorerTelemetry(registry))
    ended = 0
    for step in steps:
        if isinstance(step, int):
            ledger.skip(step, Outcome.NOT_SAMPLED, Reason.HASH)
            ended += step
        elif step is None or not ledger.in_flight:
            ledger.consume()
        else:
            ledger.settle(*step)
            ended += 1
        consumed = scraped(registry, "rag_monitor_interactions_consumed_total")
        outcomes = scraped(registry, "rag_monitor_interactions_total")
        in_flight = scraped(registry, "rag_monitor_interactions_in_flight")
        assert consumed == outcomes + in_flight
        assert (outcomes, in_flight) == (ended, ledger.in_flight)


@pytest.mark.parametrize("outcome", Outcome)
def test_all_outcomes_but_scored_carry_a_reason(outcome: Outcome) -> None:
    """A wrong pair is refused, and counts nothing."""
    ledger = Ledger(ScorerTelemetry(CollectorRegistry()))
    ledger.consume()
    wrong = Reason.HASH if outcome is Outcome.SCORED else None
    with pytest.raises(ValueError, match=f"outcome {outcome.value} with reason"):
        ledger.settle(outcome, wrong)
    assert ledger.in_flight == 1


def test_outcome_and_reason_are_the_labels() -> None:
    """``scored`` has the empty reason, the others their own."""
    registry = CollectorRegistry()
    ledger = Ledger(ScorerTelemetry(registry))
    for outcome, reason in [(Outcome.SCORED, None), (Outcome.NOT_SAMPLED, Reason.HASH)]:
        ledger.consume()
        ledger.settle(outcome, reason)
    page = generate_latest(registry).decode()
    assert 'rag_monitor_interactions_total{outcome="scored",reason=""} 1.0' in page
    assert 'rag_monitor_interactions_total{outcome="not_sampled",reason="hash"} 1.0' in page


def test_what_ended_lately_is_what_ended_within_five_minutes() -> None:
    """Batches and single ones; what is older is forgotten, and counters stay."""
    now = [0.0]
    ledger = Ledger(ScorerTelemetry(CollectorRegistry()), lambda: now[0])
    ledger.skip(7, Outcome.NOT_SAMPLED, Reason.HASH)
    now[0] = 200.0
    ledger.consume()
    ledger.settle(Outcome.SCORED, None)
    assert ledger.lately() == {(Outcome.NOT_SAMPLED, "hash"): 7, (Outcome.SCORED, ""): 1}
    now[0] = 320.0
    assert ledger.lately() == {(Outcome.SCORED, ""): 1}
    now[0] = 9_000.0
    assert ledger.lately() == {}
    assert ledger.ended[Outcome.NOT_SAMPLED, "hash"] == 7
