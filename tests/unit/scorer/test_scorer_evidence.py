"""How many pairs of a claim and a passage have a quote that stands there: counted per record."""

from __future__ import annotations

from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Evidence, Interaction, Judgement
from tests.stages.rechecks import Bench
from tests.stages.scoring import TEXTS


class Quoting(OfflineJudge):
    """The offline judge, with quotes as evidence."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__()
        self._evidence = evidence

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        found = await super().judge(interaction, cost_meter, claims)
        return found.model_copy(update={"evidence": self._evidence})


async def test_pairs_are_counted_by_whether_their_quote_stands_there() -> None:
    """Every pair of every scored interaction, as it stands on the record."""
    bench = Bench(Quoting({"c1": {"1": "here", "2": None}, "c2": {"1": "there"}}))
    for name in ("a", "b"):
        await bench.score({**TEXTS, "interaction_id": name})
    assert bench.count("judge_evidence_pairs_total", result="verified") == 4
    assert bench.count("judge_evidence_pairs_total", result="unverified") == 2


async def test_without_evidence_there_is_nothing_to_count() -> None:
    """No series, but the family has its type line."""
    bench = Bench()
    await bench.score(TEXTS)
    (family,) = [
        f for f in bench.registry.collect() if f.name == "rag_monitor_judge_evidence_pairs"
    ]
    assert family.samples == []
