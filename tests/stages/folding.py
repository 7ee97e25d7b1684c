"""An exporter's state where names are many."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from monitor.app.scores import Aggregators
from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings
from monitor.exporter.scores.segments import SegmentLabels
from monitor.records import JudgeIdentity, ScoreRecord
from monitor.stats.baseline import NOTHING
from tests.stages.score_records import FIRST, PERIOD, START, WINDOWS, any_records

APPLICATIONS = ("bot", "bot", "bot", "bot", "ask", "ask", "hr", "it", "vip", "zoo", "other")


def judge(version: int) -> JudgeIdentity:
    """Of a model that answers under another id each time."""
    return FIRST.model_copy(update={"version": str(version)})


def made(top_k: int = 2, judges: int = 2, period: int = PERIOD) -> Aggregators:
    """With learning, detectors and segments; nothing has been read."""
    drift = DriftDetectors(DriftSettings(("faithfulness",), 1.0, None, NOTHING, period, 2))
    labels = SegmentLabels(most=2)
    scores = ScoreAggregator(
        WINDOWS, period, top_k, drift, segments=labels, always={"vip"}, judges=judges
    )
    return Aggregators(scores, drift, Baselines(drift, Learner(LearningSettings(4, 2))))


def read(
    records: Iterable[ScoreRecord], now: float, found: Aggregators | None = None
) -> Aggregators:
    """All of them, and then a look at the clock."""
    found = found or made()
    for each in records:
        found.scores.add(each, each.to_json())
    found.scores.advance(START + now)
    return found


@st.composite
def records(draw: st.DrawFn) -> list[ScoreRecord]:
    """Of more applications and judges than there are places."""
    one = any_records(directed=draw(st.booleans()))
    pool = draw(st.integers(0, 40).flatmap(lambda n: st.lists(one, min_size=n, max_size=n)))
    rng = draw(st.randoms(use_true_random=False))
    return [
        each.model_copy(
            update={
                "application": rng.choice(APPLICATIONS),
                "judge": judge(rng.choice([1, 1, 1, 1, 2, 2, 3, 4, 5])),
            }
        )
        for each in pool
    ]
