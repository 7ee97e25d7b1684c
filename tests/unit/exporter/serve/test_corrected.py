"""Gauges of what people's audits say: means without the judge's errors, and how far audits are."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.parser import text_string_to_metric_families
from scipy import stats

from monitor.control.corrections import Corrections
from monitor.control.state import WrittenAt
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.serve.audit_gauges import AUDIT_FAMILIES
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.corrected import CORRECTED_FAMILIES
from monitor.exporter.serve.pages import Pages
from monitor.records import Outcome, ScoreRecord
from monitor.records.control import CorrectionRecord, Removed
from monitor.records.correction import LABELS_HOLD_S
from monitor.stats.correction import JudgeErrors, judge_errors
from tests.stages.corrections import AGREES, HARDLY_KNOWN, audits_of, correction, of_metric
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, PERIOD, SECOND, START, WINDOWS, at, pools, record

AUDITS = audits_of(200)
ERRORS = judge_errors(AUDITS)
#: Family → value, for one series; or by more labels.
Values = dict[str, float]


class Scene:
    """An aggregator, what audits say, and a page of both at a time that is moved by hand."""

    def __init__(
        self, records: Iterable[ScoreRecord], seconds: float = 20.0, *, top_k: int = 20
    ) -> None:
        self.seconds, self.ready, self.corrections = seconds, True, Corrections()
        self.aggregator = ScoreAggregator(WINDOWS, PERIOD, top_k)
        for each in records:
            self.aggregator.add(each, each.to_json())
        self.collector = QualityCollector(
            self.aggregator,
            lambda: START + self.seconds,
            lambda: self.ready,
            corrections=self.corrections,
        )
        self.registry = CollectorRegistry()
        self.registry.register(self.collector)

    def hold(self, *records: CorrectionRecord | Removed) -> Scene:
        """Control records, in this order."""
        for each in records:
            self.corrections.apply(each, WrittenAt())
        return self

    def page(self) -> str:
        """One scrape."""
        return generate_latest(self.registry).decode()

    def values(self, **labels: str) -> Values:
        """Family → value, of corrections and audits with these labels: one of each."""
        found: Values = {}
        for family in text_string_to_metric_families(self.page()):
            for sample in family.samples:
                is_ours = sample.name in {*CORRECTED_FAMILIES, *AUDIT_FAMILIES}
                if is_ours and labels.items() <= sample.labels.items():
                    assert sample.name not in found, sample
                    found[sample.name] = sample.value
        return found


def scored(wrong: int, right: int, **fields: object) -> list[ScoreRecord]:
    """Answers of which nothing and all is supported, a second after the other ones."""
    return [
        record(str(n), float(n % 20), 0.0 if n < wrong else 1.0, **fields)
        for n in range(wrong + right)
    ]


def by_hand(errors: JudgeErrors, p: float, n: float) -> tuple[float, float, float]:
    """θ̂_c and its interval, with larger meaning worse, from the formulas alone."""
    alpha, beta, people, spread, (first, second, third), k, audits = errors
    value = (p - alpha) / beta
    t = (value - people) / spread
    half_error = (1 + (value - people) ** 2 / spread) / (4 * audits**2)
    of_audits = first + 2 * t * second + t**2 * third + half_error
    variance = (p * (1 - p) / n + k / (k - 2) * of_audits) / beta**2
    half = float(stats.t.ppf(0.975, int(k) - 2)) * math.sqrt(variance)
    return value, max(0.0, value - half), min(1.0, value + half)


def test_a_window_is_corrected_by_the_formulas() -> None:
    """30 of 40 answers supported, as the judge says: people would say another number."""
    assert isinstance(ERRORS, JudgeErrors)
    scene = Scene(scored(10, 30)).hold(correction())
    value, lower, upper = by_hand(ERRORS, 0.25, 40)
    found = scene.values(metric="faithfulness", window="40s")
    assert {name: found[name] for name in CORRECTED_FAMILIES} == pytest.approx(
        {
            "rag_score_corrected": 1 - value,
            "rag_score_corrected_lower": 1 - upper,
            "rag_score_corrected_upper": 1 - lower,
        },
        abs=1e-6,
    )
    assert abs(0.25 - value) > 0.005, "the judge's own number is another one"


def test_a_correction_ends_with_its_labels() -> None:
    """Whoever keeps audits may be gone: what was said of the judge 28 days ago says no more."""
    end = START + 20.0
    young, old = (
        correction(
            audited_until=at(20.0 - LABELS_HOLD_S - older),
            agreement={"response_by_passage": AGREES},
        )
        for older in (0.0, 1.0)
    )
    assert young.is_active_at(end)
    assert not old.is_active_at(end)
    corrected = Scene(scored(10, 30)).hold(young).values(metric="faithfulness", window="40s")
    assert corrected.keys() == CORRECTED_FAMILIES.keys()
    assert Scene(scored(10, 30)).hold(old).values() == {
        "rag_monitor_audits": 0,
        "rag_monitor_audits_needed": of_metric(AUDITS).needed,
        "rag_monitor_correction_missing": 1,
    }


def test_a_metric_that_is_better_when_lower_is_not_turned_back() -> None:
    """The same figures under hallucination: the value itself is what is worse."""
    assert isinstance(ERRORS, JudgeErrors)
    records = [
        each.model_copy(update={"scores": {"hallucination": float(n < 10)}})
        for n, each in enumerate(scored(10, 30))
    ]
    said = correction(metrics={"hallucination": of_metric(AUDITS)})
    found = Scene(records).hold(said).values(metric="hallucination", window="40s")
    assert [found[name] for name in CORRECTED_FAMILIES] == pytest.approx(
        by_hand(ERRORS, 0.25, 40), abs=1e-6
    )


def test_failed_judgements_widen_the_corrected_bounds() -> None:
    """10 of 50 picks failed: (1 − ρ)·lower and (1 − ρ)·upper + ρ of what is worse."""
    assert isinstance(ERRORS, JudgeErrors)
    failed = [record(str(n), 1.0, scores={}, outcome=Outcome.JUDGE_FAILED) for n in range(100, 110)]
    found = Scene([*scored(10, 30), *failed]).hold(correction())
    of = found.values(metric="faithfulness", window="40s")
    _, lower, upper = by_hand(ERRORS, 0.25, 40)
    assert of["rag_score_corrected_lower"] == pytest.approx(1 - (0.8 * upper + 0.2), abs=1e-6)
    assert of["rag_score_corrected_upper"] == pytest.approx(1 - 0.8 * lower, abs=1e-6)


def test_a_window_without_anything_wrong_is_not_certain() -> None:
    """Ten right answers: the corrected bounds are further apart than those of ten thousand."""
    few = Scene(scored(0, 10)).hold(correction()).values(metric="faithfulness", window="40s")
    assert isinstance(ERRORS, JudgeErrors)
    _, _, known = by_hand(ERRORS, 0.0, 1e12)
    assert few["rag_score_corrected_lower"] < 1 - known - 0.1


def test_there_is_a_correction_only_with_an_estimate_and_with_errors() -> None:
    """Not of a window that is empty, not of a metric with few audits, not of one without any."""
    scores = {"faithfulness": 0.5, "hallucination": 0.5, "answered": 1.0}
    said = correction(
        metrics={"faithfulness": of_metric(AUDITS), "hallucination": of_metric(AUDITS[:20])}
    )
    scene = Scene([record("1", 0.0, scores=scores)], 5.0).hold(said)
    for window in WINDOWS:
        assert "rag_score_corrected" in scene.values(metric="faithfulness", window=window)
        for metric in ("hallucination", "answered"):
            assert scene.values(metric=metric, window=window) == {}
    scene.seconds = 15.0
    assert scene.values(metric="faithfulness", window="10s") == {}
    assert "rag_score_corrected" in scene.values(metric="faithfulness", window="40s")
    assert "nan" not in scene.page().lower()


def test_another_judge_or_application_has_no_share_in_it() -> None:
    """Errors are those of one judge on one application."""
    pool = [
        record("1", 0.0),
        record("2", 0.0, judge=SECOND),
        record("3", 0.0, application="shop"),
    ]
    scene = Scene(pool).hold(correction())
    about = {"metric": "faithfulness", "window": "40s"}
    assert scene.values(application="bot", judge=FIRST.label, **about)
    assert scene.values(application="bot", judge=SECOND.label, **about) == {}
    assert scene.values(application="shop", **about) == {}


def test_what_is_folded_has_no_correction() -> None:
    """``other`` is several applications; not even a record of that name corrects it."""
    many = [record(str(n), 1.0) for n in range(9)]
    pool = [*many, record("20", 1.0, application="shop"), record("21", 1.0, application="other")]
    scene = Scene(pool, top_k=1).hold(
        correction(), correction(application="shop"), correction(application="other")
    )
    assert 'rag_score{application="other"' in scene.page()
    assert scene.values(application="bot", window="40s")
    assert scene.values(application="other") == scene.values(application="shop") == {}


def test_audits_and_what_they_miss_are_shown() -> None:
    """Numbers as on the record; what nobody can tell has no sample."""
    few = of_metric(audits_of(20))
    said = correction(
        metrics={
            "faithfulness": of_metric(AUDITS).model_copy(update={"moved": True}),
            "hallucination": few,
            "made_up": few,
        }
    )
    scene = Scene(scored(1, 1)).hold(said)
    pair = {"application": "bot", "judge": FIRST.label}
    found = scene.values(metric="faithfulness", **pair, window="40s")
    assert set(found) == set(CORRECTED_FAMILIES)
    scene.seconds = 60.0  # no estimate any more, and no correction; the audits are still there
    assert scene.values(metric="faithfulness", **pair) == {
        "rag_monitor_audits": 200,
        "rag_monitor_audits_needed": 100,
        "rag_monitor_audit_judge_moved": 1,
    }
    assert scene.values(metric="hallucination", reason="too_few_audits", **pair) == {
        "rag_monitor_correction_missing": 1
    }
    assert scene.values(metric="hallucination") == {
        "rag_monitor_audits": 20,
        "rag_monitor_audits_needed": 100,
        "rag_monitor_correction_missing": 1,
    }
    assert "made_up" not in scene.page(), "no metric of ours"


def test_agreement_is_shown_by_kind_of_verdict() -> None:
    """Each measure with its bounds, where it has any, and what it rests on."""
    said = correction(agreement={"response_by_passage": AGREES, "reviewers": HARDLY_KNOWN})
    scene = Scene(scored(1, 1)).hold(said)
    name = "rag_monitor_audit_agreement"
    kappa = scene.values(verdict="response_by_passage", measure="kappa")
    assert kappa == {name: 0.75, f"{name}_lower": 0.7, f"{name}_upper": 0.8}
    precision = scene.values(verdict="response_by_passage", measure="precision")
    assert precision == {name: 0.9, f"{name}_lower": 0.85, f"{name}_upper": 0.95}
    assert scene.values(verdict="reviewers", measure="kappa") == {}
    assert scene.values(verdict="reviewers", measure="recall") == {name: 1.0}
    page = scene.page()
    pair = f'application="bot",judge="{FIRST.label}"'
    assert f'rag_monitor_audit_verdicts{{{pair},verdict="response_by_passage"}} 360.0' in page
    assert f'rag_monitor_audit_interactions{{{pair},verdict="response_by_passage"}} 120.0' in page


def test_audits_of_what_is_not_scored_are_not_shown() -> None:
    """Control records name any application: only those with scores have a place on the page."""
    scene = Scene(scored(1, 1)).hold(correction(application="gone"))
    assert scene.values() == {}
    assert "gone" not in scene.page()


def test_families_are_declared_without_samples() -> None:
    """Without a record, and before all was replayed."""
    scene = Scene(scored(1, 1))
    for ready in (True, False):
        scene.ready = ready
        page = scene.page()
        for name in (*CORRECTED_FAMILIES, *AUDIT_FAMILIES):
            assert f"# TYPE {name} gauge" in page
        assert scene.values() == {}
        scene.hold(correction())


def test_a_correction_comes_changes_and_goes_between_two_scrapes() -> None:
    """Though no score has come; a tombstone takes audits away, too."""
    scene, about = Scene(scored(10, 30)), {"metric": "faithfulness", "window": "40s"}
    before = scene.page()
    first = scene.hold(correction()).values(**about)
    other = of_metric(audits_of(200, false_alarms=0.2))
    second = scene.hold(correction(metrics={"faithfulness": other})).values(**about)
    assert first["rag_score_corrected"] < second["rag_score_corrected"]
    assert scene.hold(Removed(correction().key)).page() == before


#: Of each application and judge, all different.
SAID: Final = [
    correction(
        application,
        judge.label,
        metrics={"faithfulness": of_metric(audits_of(120, seed=seed), needed=50)},
        agreement={"response_by_context": AGREES},
    )
    for seed, (application, judge) in enumerate(
        (a, j) for a in ("bot", "shop", "other") for j in (FIRST, SECOND)
    )
]


@costly
@given(pools(directed=False), st.permutations(SAID))
def test_the_order_of_control_records_says_nothing(
    pool: list[ScoreRecord], order: Sequence[CorrectionRecord]
) -> None:
    """Of different keys, before the scores or after them: the same bytes of two exporters."""
    one = Scene(pool).hold(*SAID)
    another = Scene([]).hold(*order)
    another.page()
    for each in pool:
        another.aggregator.add(each, each.to_json())
    assert another.page() == one.page()


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_judge_whose_scores_were_all_replaced_has_no_audits(is_looked_at: bool) -> None:
    """From the next page on, whether there was a page before, or all came at once."""
    later = record("0", 17.0, judge=FIRST, outcome=Outcome.JUDGE_FAILED, scores={})
    scene = Scene([]).hold(*(correction(judge=judge.label) for judge in (FIRST, SECOND)))
    if is_looked_at:
        scene.page()
    for each in (later, record("0", 0.0, 1.0, judge=SECOND)):
        scene.aggregator.add(each, each.to_json())
    page = list(text_string_to_metric_families(scene.page()))
    for name in ("rag_score", "rag_monitor_audits"):
        samples = [one for family in page for one in family.samples if one.name == name]
        assert {one.labels["judge"] for one in samples} == {SECOND.label}


def test_what_is_served_is_what_the_client_library_writes() -> None:
    """In both formats, line by line; again when it is known, and after a new correction."""
    scene = Scene(scored(10, 30)).hold(correction(agreement={"relevance": AGREES}))
    # Never dear: a dear page would be given again for a second.
    pages = Pages(CollectorRegistry(), cpu=lambda: 0.0)
    pages.with_part(scene.collector, asyncio.Lock())

    async def page(accept: str) -> bytes:
        return (await pages.page(accept, zipped=False)).body

    for count in (200, 200, 150):
        scene.hold(correction(metrics={"faithfulness": of_metric(AUDITS[:count])}))
        for accept in ("text/plain", "application/openmetrics-text;version=1.0.0"):
            encode, _ = choose_encoder(accept)
            body = asyncio.run(page(accept))
            assert sorted(body.splitlines()) == sorted(encode(scene.registry).splitlines())
            assert b"rag_score_corrected{" in body
        scene.seconds += 1
    pages.close()


def test_corrected_series_are_counted() -> None:
    """They are series of quality; audits are the monitor's own health."""
    scene = Scene(scored(1, 1), 5.0)
    series = len(WINDOWS) * len(CORRECTED_FAMILIES)
    before = scene.page()
    after = scene.hold(correction()).page()
    assert "rag_monitor_series 10.0" in before
    assert f"rag_monitor_series {10.0 + series}" in after
