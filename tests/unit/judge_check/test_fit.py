"""The threshold that labels ask for, and how sure it is."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from monitor.judge.llm.judge import LlmSettings
from monitor.judge.pipeline.pairing import PairRequest
from monitor.judge.protocol import CostMeter
from monitor.judge.verifier import VerifierJudge
from monitor.judge_check import formats
from monitor.judge_check.cases import LabelledCase, MatrixEntry, by_cluster, weighed
from monitor.judge_check.fit import Fit, fit
from monitor.judge_check.labelled import Labelled
from monitor.judge_check.measure import Options, measure
from monitor.judge_check.report import report
from monitor.judge_check.subject import LlmSubject, OfflineSubject
from monitor.records import Claims, JudgeIdentity, Judgement, Verdicts
from tests.servers.judge_server import JudgeServer
from tests.stages.labelled_set import made_up

PAIR = MatrixEntry("response_by_context", 0, None)


def about(cluster: str) -> Labelled:
    line = {"claim": "It is so.", "passages": [f"It is so in {cluster}."], "label": True}
    return formats.read({"one": _json(line | {"cluster": cluster})}, "pairs")[0][0]


def _json(line: dict[str, Any]) -> str:
    return json.dumps(line)


def cases(*scored: tuple[str, bool, float | None]) -> list[LabelledCase]:
    """By (cluster, label, score), judged at 0.5."""
    known = {cluster: about(cluster) for cluster, _, _ in scored}
    return [
        LabelledCase(known[cluster], PAIR, label, (score or 0.0) >= 0.5, 1, score=score)
        for cluster, label, score in scored
    ]


def fitted(found: list[LabelledCase], seed: int = 1) -> Fit:
    found_fit = fit(found, Random(seed).randrange)
    assert found_fit is not None
    return found_fit


def test_separable_scores_are_separated() -> None:
    """In the middle of the gap: everything is right with it, half of what should be y without."""
    found = fitted(cases(("a", True, 0.4), ("b", True, 0.9), ("c", False, 0.2), ("d", False, 0.1)))
    assert found.threshold.value == pytest.approx(0.3)
    assert (found.fitted, found.configured, found.auc.value) == (1.0, 0.75, 1.0)
    assert (found.pairs, found.groups) == (4, 4)


def gauss(rng: Random, mean: float) -> float:
    return min(0.999, max(0.001, rng.gauss(mean, 0.15)))


def noisy(n: int, seed: int) -> list[LabelledCase]:
    """Scores that lean to the label, in groups of three."""
    rng = Random(seed)
    return cases(
        *(
            (f"g{i // 3}", label := rng.random() < 0.4, gauss(rng, 0.4 + 0.2 * label))
            for i in range(n)
        )
    )


@pytest.mark.parametrize("seed", range(5))
def test_no_other_threshold_is_better(seed: int) -> None:
    """Tried one by one, at every score and between."""
    found = noisy(60, seed)
    best = fitted(found)

    def balanced(threshold: float) -> float:
        shares = []
        for label in (True, False):
            right = [((c.score or 0.0) >= threshold) == label for c in found if c.label is label]
            shares.append(sum(right) / len(right))
        return sum(shares) / 2

    scores = sorted(case.score or 0.0 for case in found)
    tried = [*scores, *((a + b) / 2 for a, b in pairwise(scores))]
    assert best.fitted == pytest.approx(max(map(balanced, tried)))
    assert balanced(best.threshold.value or 0.0) == pytest.approx(best.fitted)
    assert best.configured == pytest.approx(balanced(0.5))


def test_groups_are_drawn_whole() -> None:
    """Ten copies of each case within its group say no more than one does."""
    once = noisy(60, 3)
    copied = [case for case in once for _ in range(10)]
    assert len(by_cluster(once)) == len(by_cluster(copied)) == 20
    assert fitted(once).threshold == fitted(copied).threshold
    alone = cases(*((f"x{i}", c.label, c.score) for i, c in enumerate(copied)))
    lower, upper = fitted(once).threshold[1:]
    narrow, wide = fitted(alone).threshold[1:]
    assert None not in (lower, upper, narrow, wide)
    assert (upper or 0) - (lower or 0) > (wide or 0) - (narrow or 0)


def test_what_was_learned_looks_better_than_it_is() -> None:
    """On noise: half on groups that were left out, more on those that it was learned from."""
    rng = Random(2)
    found = cases(*((f"n{i}", rng.random() < 0.5, rng.random()) for i in range(60)))
    best = fitted(found)
    assert best.fitted > 0.55
    assert best.left_out == pytest.approx(0.5, abs=0.06)


def test_the_interval_is_about_the_threshold() -> None:
    """It holds the value, within the scores; more groups make it shorter."""
    few, many = fitted(noisy(45, 1)).threshold, fitted(noisy(450, 1)).threshold
    for value, lower, upper in (few, many):
        assert 0.0 < (lower or 0.0) <= (value or 0.0) <= (upper or 0.0) < 1.0
    assert (many.upper or 0) - (many.lower or 0) < (few.upper or 0) - (few.lower or 0)


@pytest.mark.parametrize(
    "scored",
    [
        [],
        [("a", True, None), ("b", False, None)],
        [("a", True, 0.5), ("b", True, 0.6)],
        [("a", True, 0.5), ("b", False, 0.5)],
    ],
    ids=["nothing", "no scores", "one label", "one score"],
)
def test_where_nothing_can_be_learned(scored: list[tuple[str, bool, float | None]]) -> None:
    """Both labels and two different scores are needed."""
    assert fit(cases(*scored), Random(1).randrange) is None


def test_one_group_has_no_interval() -> None:
    """Nothing tells how groups differ."""
    found = fitted(cases(("a", True, 0.8), ("a", False, 0.2)))
    assert found.threshold[1:] == (None, None)
    assert (found.samples, found.left_out) == (0, None)


def test_the_scores_of_a_judgement_are_its_probabilities() -> None:
    """In the shape of its verdicts; all passages are as probable as the best, or as one text."""
    identity = JudgeIdentity(name="n", version="v", model="m", prompts="p", pipeline="pairs")
    found = Judgement(
        claims=Claims(response=("c", "d"), reference=("r",)),
        passages=2,
        has_reference=True,
        verdicts=Verdicts(
            response_by_passage=((True, False), (False, False)),
            response_by_context=(True, True),
            response_by_reference=(True, False),
            reference_by_passage=((False, False),),
            reference_by_response=(True,),
        ),
        judge=identity,
        probabilities={
            "c1": {"1": 0.9, "2": 0.2, "A": 1.0, "R": 0.7},
            "c2": {"1": 0.1, "A": 1.0, "R": 0.3, "+": 0.6},
            "r1": {"1": 0.0, "2": 0.4, "A": 0.8, "R": 1.0},
        },
    )
    scores = weighed(found)
    assert scores is not None
    assert scores.response_by_passage == ((0.9, 0.2), (0.1, 0.0))
    assert scores.response_by_context == (0.9, 0.6)
    assert scores.response_by_reference == (0.7, 0.3)
    assert (scores.reference_by_passage, scores.reference_by_response) == (((0.0, 0.4),), (0.8,))
    assert weighed(found.model_copy(update={"probabilities": {}})) is None


async def test_a_threshold_is_learned_from_a_server() -> None:
    """Of a judge that is right, and surer of the one word than of the other."""
    found = made_up(6)
    text = "\n".join(map(_json, found.lines))
    labelled, files = formats.read({"made-up.jsonl": text})
    async with JudgeServer(found.labels, sureness=0.8) as server:
        asked = LlmSettings("judge", api_base=server.url, pipeline="pairs", max_calls=10_000)
        subject = LlmSubject(asked)
        options = Options(extraction=False)
        run = await measure(subject, labelled, options, time.perf_counter)
        await subject.aclose()
    judge = report(files, [run], Random(1).randrange).judges[0]
    assert judge.fit is not None
    assert judge.fit.threshold.value == pytest.approx(0.5)
    assert (judge.fit.fitted, judge.fit.left_out, judge.fit.auc.value) == (1.0, 1.0, 1.0)
    assert {kind: measured.auc.value for kind, measured in judge.kinds.items()} == dict.fromkeys(
        judge.kinds, 1.0
    )
    assert report(files, [run]).judges[0].fit is None


class HalfSure:
    """A verifier that is unsure of one passage alone, and sure of two together; in groups of two.

    Of what is supported it is by 0.4 to 0.7 for a passage alone, and by 0.9 for both. Of what is
    not it says the same of a passage, and 0.1 of both.
    """

    name = "half sure"

    def __init__(self) -> None:
        self.asked = 0

    async def prepare(self) -> None:
        """Nothing."""

    async def probabilities(
        self, requests: Sequence[PairRequest], spent: CostMeter
    ) -> Sequence[float]:
        """By the numbers in claim and document."""
        self.asked += len(requests)
        return [self._probability(request) for request in requests]

    @staticmethod
    def _probability(request: PairRequest) -> float:
        number = int(request.claim.split()[1])
        if "\n" in request.document:
            return 0.1 if number % 2 else 0.9
        return 0.4 + 0.03 * (number // 2)


@pytest.mark.parametrize("configured", [0.5, 0.65, 0.8])
async def test_what_is_told_of_a_threshold_is_what_a_run_with_it_has(configured: float) -> None:
    """Also where several passages are asked about together only if none supports a claim alone.

    A threshold that is learned is the same whichever was configured.
    """
    lines = [
        {
            "claim": f"Item {i} is blue and large.",
            "passages": [f"Item {i} is blue.", f"Item {i} is large."],
            "supported": i % 2 == 0,
        }
        for i in range(20)
    ]
    labelled, files = formats.read({"pairs.jsonl": "\n".join(map(_json, lines))}, "pairs")

    async def checked(threshold: float, *, scores_all: bool) -> tuple[Fit, int]:
        verifier = HalfSure()
        made = LlmSettings("", pipeline="pairs", threshold=threshold)
        subject = OfflineSubject(VerifierJudge(made, verifier))
        options = Options(extraction=False, scores_all=scores_all)
        run = await measure(subject, labelled, options, time.perf_counter)
        found = report(files, [run], Random(1).randrange).judges[0].fit
        assert found is not None
        return found, verifier.asked

    found, asked = await checked(configured, scores_all=True)
    assert found.threshold.value == pytest.approx(0.8)
    assert found.fitted == 1.0
    assert asked == 20 * (2 + 1 + 1)  # the claim's own text, too
    with_it, least = await checked(found.threshold.value or 0.0, scores_all=False)
    assert (with_it.configured, least) == (found.fitted, asked)
