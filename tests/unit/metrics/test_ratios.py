"""The two numbers behind a score: their ratio is the score, whatever the verdicts."""

from __future__ import annotations

from hypothesis import given

from monitor.metrics.catalogue import CATALOGUE, score_all
from monitor.metrics.ratios import counted
from monitor.records import Judgement
from tests.stages.judgements import judgements
from tests.stages.recorded import as_record

#: No shares: the harmonic mean of two, and what is yes or no.
NO_SHARES = {"claim_f1", "answered", "retrieved", "answer_relevance"}


@given(judgements(least=0))
def test_the_ratio_is_the_score(judgement: Judgement) -> None:
    """For every metric that is a share, and none for the others or where there is no value."""
    record = as_record(judgement)
    for name, score in score_all(judgement).items():
        found = counted(record, name)
        if not isinstance(score, float) or name in NO_SHARES:
            assert found is None
        else:
            assert found is not None
            assert abs(found.part / found.whole - score) < 1e-12
    assert CATALOGUE.keys() >= NO_SHARES
