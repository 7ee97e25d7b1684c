"""judge-check against servers whose errors are known: it reports exactly those."""

from __future__ import annotations

import asyncio
import json
import time
from random import Random
from typing import Any

import pytest

from monitor.errors import DependencyRefused
from monitor.judge.llm.judge import LlmSettings
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge_check import formats
from monitor.judge_check.labelled import VerdictKind
from monitor.judge_check.measure import Options, measure
from monitor.judge_check.report import JudgeReport, Report, report
from monitor.judge_check.subject import LlmSubject, OfflineSubject
from monitor.stats.agreement import Confusion
from tests.servers.judge_faults import FaultRule
from tests.servers.judge_server import Bias, Fault, FaultPlan, JudgeServer, Labels
from tests.stages.labelled_set import Entry, MadeUp, entries, made_up

ONE_TEXT: tuple[VerdictKind, ...] = (
    "response_by_passage",
    "response_by_reference",
    "reference_by_passage",
    "reference_by_response",
)
SIZE = 20
PIPELINES = ("joint", "single", "ragas")


async def checked(
    found: MadeUp,
    bias: Bias | None = None,
    *,
    pipelines: tuple[str, ...] = ("joint",),
    options: Options | None = None,
    **settings: Any,
) -> Report:
    """What judge-check reports on a server that knows the labels, and has a bias."""
    text = "\n".join(map(_dump, found.lines))
    labelled, files = formats.read({"made-up.jsonl": text})
    runs = []
    async with JudgeServer(found.labels, bias=bias) as server:
        for name in pipelines:
            asked = {"model": "judge", "api_base": server.url, "pipeline": name, **settings}
            subject = LlmSubject(LlmSettings(**asked))
            chosen = options or Options(extraction=False)
            runs.append(await measure(subject, labelled, chosen, time.perf_counter))
            await subject.aclose()
    return report(files, runs)


def _dump(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False)


def table(found: list[Entry], flipped: frozenset[tuple[str, str]] = frozenset()) -> Confusion:
    """The confusion of a judge that is wrong on these pairs only, counted from the labels."""
    total = Confusion()
    for entry in found:
        verdict = entry.label != ((entry.claim, entry.text) in flipped)
        total += Confusion(
            tp=int(entry.label and verdict),
            fp=int(verdict and not entry.label),
            fn=int(entry.label and not verdict),
            tn=int(not entry.label and not verdict),
        )
    return total


def kappa(t: Confusion) -> float:
    """Cohen's formula from the shares of the four cells."""
    n = t.tp + t.fp + t.fn + t.tn
    observed = (t.tp + t.tn) / n
    chance = (t.tp + t.fp) / n * (t.tp + t.fn) / n + (t.fn + t.tn) / n * (t.fp + t.tn) / n
    return (observed - chance) / (1 - chance)


def wrong(judge: JudgeReport, dimension: str, kind: VerdictKind) -> dict[str, tuple[int, int]]:
    """By bucket: false positives and false negatives."""
    groups = judge.by[dimension][kind]
    return {
        bucket: (m.agreement.confusion.fp, m.agreement.confusion.fn) for bucket, m in groups.items()
    }


@pytest.fixture(scope="module")
def small() -> MadeUp:
    """Interactions of two to four claims, three passages and a reference."""
    return made_up(SIZE)


@pytest.fixture(scope="module")
def flipped(small: MadeUp) -> frozenset[tuple[str, str]]:
    """A tenth of the pairs."""
    pairs = [(entry.claim, entry.text) for entry in entries(small, ONE_TEXT)]
    return frozenset(Random(7).sample(pairs, len(pairs) // 10))


@pytest.fixture(scope="module")
def of_flips(small: MadeUp, flipped: frozenset[tuple[str, str]]) -> Report:
    """All pipelines on one server that turns those pairs round."""
    return asyncio.run(checked(small, Bias(flipped=flipped), pipelines=PIPELINES))


@pytest.mark.parametrize("number", range(len(PIPELINES)), ids=PIPELINES)
def test_flips_are_reported_exactly(
    small: MadeUp, flipped: frozenset[tuple[str, str]], of_flips: Report, number: int
) -> None:
    """A judge that turns round 10 % of the pairs: that confusion, and κ to 1e-9, in every kind."""
    judge = of_flips.judges[number]
    assert judge.pipeline == PIPELINES[number]
    assert not judge.verifying.failed
    for kind in ONE_TEXT:
        expected = table(entries(small, [kind]), flipped)
        measured = judge.kinds[kind].agreement
        assert expected.fp > 0
        assert expected.fn > 0
        assert measured.confusion == expected
        assert measured.kappa.value == pytest.approx(kappa(expected), abs=1e-9)


@pytest.mark.parametrize("pipeline", PIPELINES)
async def test_faultless_judge(pipeline: str) -> None:
    """A faultless judge has κ 1 in all five kinds, no bias in any metric, and finds all claims."""
    found = await checked(made_up(8), pipelines=(pipeline,), options=Options())
    (judge,) = found.judges
    assert len(judge.kinds) == 5
    for measure_ in judge.kinds.values():
        assert measure_.agreement.kappa.value == 1.0
        assert measure_.agreement.kappa.upper == 1.0
        assert -1.0 < (measure_.agreement.kappa.lower or 0.0) < 1.0
    for errors in (judge.metrics, judge.metrics_own_claims):
        assert errors
        assert all(e.bias.value == e.error.value == 0.0 for e in errors.values())
    extraction = judge.extraction["all"]
    assert extraction.coverage.value == 1.0
    assert extraction.beyond.value == extraction.invention.value == 0.0


def test_equal_pipelines(of_flips: Report) -> None:
    """On one server that errs by the pair alone, all pipelines are wrong on the same verdicts."""
    compared = [c for c in of_flips.comparisons if c.kind in ONE_TEXT]
    assert len(compared) == 3 * len(ONE_TEXT)
    for comparison in compared:
        assert comparison.paired.only_first == comparison.paired.only_second == 0
        assert (comparison.paired.p, comparison.paired.exact) == (1.0, True)
        assert comparison.paired.neither > 0


async def test_unread_claims_are_in_their_bucket() -> None:
    """A judge that reads eight claims of a call misses those behind, in calls of twelve alone."""
    found = made_up(12, claims=(3, 10), reference=True)
    bias = Bias(claims_read=8)
    (judge,) = (await checked(found, bias, claims_per_call=12)).judges
    places = judge.by["place_in_call"]["response_by_passage"]
    missed = places["9–12"].agreement
    assert missed.recall.value == 0.0
    assert missed.confusion.fn > 0
    behind = [e for e in entries(found, ["response_by_passage"]) if e.row >= 8]
    assert missed.confusion.n == len(behind)
    assert missed.confusion.fn == sum(e.label for e in behind)
    for bucket in ("1", "2–4", "5–8"):
        assert places[bucket].agreement.kappa.value == 1.0
    assert wrong(judge, "claims", "response_by_passage") == {
        "5–8": (0, 0),
        "9–12": (0, missed.confusion.fn),
    }
    (default,) = (await checked(found, bias)).judges
    assert all(m.agreement.kappa.value == 1.0 for m in default.kinds.values())


async def test_unlisted_claims_are_in_their_bucket() -> None:
    """A judge that lists eight claims at most covers 8 of 10 in long texts, and all in short."""
    found = made_up(12, claims=(3, 10), reference=False)
    bias = Bias(claims_listed=8)
    (judge,) = (await checked(found, bias, options=Options())).judges
    coverage = {bucket: e.coverage.value for bucket, e in judge.extraction.items()}
    assert coverage == {"all": (3 + 8) / 13, "2–4": 1.0, "9–12": 0.8}
    assert judge.extraction["all"].beyond.value == 0.0
    assert (judge.extraction["9–12"].labelled, judge.extraction["9–12"].extracted) == (60, 48)


async def test_favoured_position(small: MadeUp) -> None:
    """A judge that says yes to what is shown first: false positives there, and nowhere else."""
    claims = sorted({e.claim for e in entries(small, ["response_by_passage"])})
    bias = Bias(swayed=frozenset(claims[::3]))
    (judge,) = (await checked(small, bias)).judges
    held = {(e.claim, e.text) for e in entries(small, ["response_by_passage"]) if e.label}
    turned = len(set(bias.favoured) - held)
    assert turned > 5
    assert wrong(judge, "position_shown", "response_by_passage") == {
        "1": (turned, 0),
        "2": (0, 0),
        "3": (0, 0),
    }
    ranks = wrong(judge, "rank", "response_by_passage")
    assert sum(fp for fp, _ in ranks.values()) == turned
    assert max(fp for fp, _ in ranks.values()) < turned


async def test_flips_under_permutation(small: MadeUp) -> None:
    """Judged in three other orders, exactly the verdicts that the first place had turned flip."""
    claims = sorted({e.claim for e in entries(small, ["response_by_passage"])})
    bias = Bias(swayed=frozenset(claims[::3]))
    options = Options(orders=3, extraction=False, concurrency=1)
    (judge,) = (await checked(small, bias, options=options)).judges
    held = {(e.claim, e.text) for e in entries(small, ["response_by_passage"]) if e.label}
    firsts: dict[str, list[str]] = {}
    for claim, text in bias.favoured:
        firsts.setdefault(claim, []).append(text)
    expected = 0
    for claim, texts in firsts.items():
        base, *others = texts
        assert len(others) == 3
        for other in others:
            changed = {base, other} if other != base else set()
            expected += sum((claim, text) not in held for text in changed)
    flips = judge.flips["response_by_passage"]
    assert flips.comparisons == 3 * len(entries(small, ["response_by_passage"]))
    assert flips.rate.value == pytest.approx(expected / flips.comparisons)
    assert expected > 0
    assert judge.flips["response_by_reference"].rate.value == 0.0


async def test_honest_judge_never_flips(small: MadeUp) -> None:
    """Orders change nothing where the judge does not look at them."""
    options = Options(orders=2, extraction=False)
    (judge,) = (await checked(small, options=options)).judges
    assert set(judge.flips) == set(judge.kinds)
    assert all(flips.rate.value == flips.ever.value == 0.0 for flips in judge.flips.values())


async def test_metric_bias() -> None:
    """A judge that denies every third claim the context lowers faithfulness by just that much."""
    found = made_up(30, claims=(3,), passages=1, reference=False)
    pairs = [(e.claim, e.text) for e in entries(found, ["response_by_passage"]) if e.label]
    flipped = frozenset(pairs[::3])
    (judge,) = (await checked(found, Bias(flipped=flipped))).judges
    error = judge.metrics["faithfulness"]
    assert error.bias.value == pytest.approx(-len(flipped) / 90)
    assert error.error.value == pytest.approx(len(flipped) / 90)
    assert error.by_labels - error.by_judge == pytest.approx(len(flipped) / 90)
    assert "incorrect_claims" not in judge.metrics


async def test_cost_is_counted(small: MadeUp) -> None:
    """Calls and tokens of verification, of other orders and of production are kept apart."""
    (judge,) = (await checked(small, options=Options(orders=1))).judges
    assert judge.verifying.usage.calls == SIZE
    assert judge.permuting.usage.calls == SIZE
    assert judge.judging.usage.calls == 3 * SIZE
    assert judge.verifying.usage.prompt_tokens > 0
    assert judge.verifying.seconds > 0


async def test_failures_are_counted_and_left_out(small: MadeUp) -> None:
    """An interaction the judge cannot answer is counted by its reason, and is in no table."""
    claims, labels = small.lines[0]["claims"]["response"], small.labels
    lost = Labels(
        supported=frozenset(pair for pair in labels.supported if pair[0] not in claims),
        together=frozenset(held for held in labels.together if held[0] not in claims),
    )
    (judge,) = (await checked(MadeUp(small.lines, lost))).judges
    assert sum(judge.verifying.failed.values()) == 1
    assert judge.failed_share == 1 / SIZE
    expected = table(entries(MadeUp(small.lines[1:]), ["response_by_passage"]))
    assert judge.kinds["response_by_passage"].agreement.confusion == expected


async def test_judge_that_answers_nothing_is_given_up() -> None:
    """After sixteen failures without an answer the rest is not asked."""
    found = made_up(60, reference=False)
    labelled, _ = formats.read({"f": "\n".join(map(_dump, found.lines))})
    plan = FaultPlan(rules=(FaultRule(fault=Fault.EMPTY, times=None),))
    async with JudgeServer(found.labels, plan) as server:
        subject = LlmSubject(LlmSettings(model="judge", api_base=server.url))
        options = Options(concurrency=4, extraction=False)
        with pytest.raises(DependencyRefused, match="times malformed_reply") as refused:
            await measure(subject, labelled, options, time.perf_counter)
        asked = len(server.log)
        await subject.aclose()
    assert 2 * 16 <= asked < 2 * (16 + 4)
    most = "most often the reply holds no message"
    wrong = f"{asked} of {asked} calls brought a reply that was refused; {most}"
    assert f"{wrong} (empty); see judge.structured" in str(refused.value)


async def test_a_judge_that_puts_every_reply_into_a_code_fence_is_read() -> None:
    """Every interaction is judged as without one, and nothing is asked twice."""
    found = made_up(SIZE)
    labelled, _ = formats.read({"f": "\n".join(map(_dump, found.lines))})
    fenced = FaultPlan(rules=(FaultRule(fault=Fault.FENCED, times=None),))
    verdicts, calls = [], []
    for plan in (FaultPlan(), fenced):
        async with JudgeServer(found.labels, plan) as server:
            subject = LlmSubject(LlmSettings(model="judge", api_base=server.url))
            run = await measure(subject, labelled, Options(), time.perf_counter)
            await subject.aclose()
            calls.append(len(server.log))
            assert {entry.fault for entry in server.log} == ({"fenced"} if plan.rules else {None})
        assert not run.verifying.failed
        assert not run.judging.failed
        judged = [one.whole for one in run.measured if one.whole is not None]
        verdicts.append([one.verdicts for one in judged])
    assert len(verdicts[0]) == SIZE
    assert verdicts[0] == verdicts[1]
    assert calls[0] == calls[1]


async def test_offline_judge_has_scores(small: MadeUp) -> None:
    """The offline judge is checked by the same means, and its scores rank: an AUC in every kind."""
    labelled, files = formats.read({"f": "\n".join(map(_dump, small.lines))})
    subject = OfflineSubject(OfflineJudge())
    run = await measure(subject, labelled, Options(orders=2), time.perf_counter)
    (judge,) = report(files, [run]).judges
    assert judge.kinds["response_by_passage"].auc.value == 1.0
    assert judge.kinds["response_by_passage"].agreement.kappa.value == 1.0
    assert not judge.flips
    assert "position_shown" not in judge.by


async def test_a_deadline_takes_the_quotes_and_not_the_verdicts(small: MadeUp) -> None:
    """As in production: verdicts that lack only their evidence count, with their places."""
    labelled, files = formats.read({"made-up.jsonl": "\n".join(map(_dump, small.lines[:3]))})
    plan = FaultPlan(rules=(FaultRule(fault=Fault.TIMEOUT, times=None, task="quote_evidence"),))
    async with JudgeServer(small.labels, plan) as server:
        subject = LlmSubject(LlmSettings(model="judge", api_base=server.url, evidence="quote"))
        await subject.prepare()
        options = Options(deadline_s=2.0, extraction=False)
        run = await measure(subject, labelled, options, time.perf_counter)
        await subject.aclose()
    (judge,) = report(files, [run]).judges
    assert not judge.verifying.failed
    assert judge.kinds["response_by_passage"].agreement.kappa.value == 1.0
    assert "position" in "".join(judge.by)
