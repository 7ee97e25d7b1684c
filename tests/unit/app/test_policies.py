"""From settings to judges: which entries share one, and which have one of their own."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judge_settings import llm_settings
from monitor.app.judges import ConfiguredJudge, build_judges, with_rechecks
from monitor.app.policies import build_policies
from monitor.app.slots import build_slots
from monitor.config import load
from monitor.control.calibrations import Calibrations
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.limits.provider_gate import ProviderGate
from monitor.judge.pipeline.plans import PipelineName
from monitor.plan.plan import TYPICAL
from monitor.scorer.intake import Policies
from monitor.telemetry import RecheckTelemetry, ScorerTelemetry
from tests.stages.records import attributed


def built(*entries: dict[str, Any], **settings: str) -> tuple[list[ConfiguredJudge], Policies]:
    """Judges and policies of these applications."""
    environ = {"RAG_MONITOR_APPLICATIONS": json.dumps(entries)}
    loaded = load(environ, flags=settings)
    configured_judges = build_judges(loaded, ScorerTelemetry(CollectorRegistry()))
    return configured_judges, build_policies(loaded, configured_judges)


def test_equal_settings_share_a_judge_and_its_limits() -> None:
    """However they came about; the first judge is that of the settings themselves."""
    configured_judges, chosen = built(
        {"application": "a", "judge": {"name": "x"}},
        {"application": "b", "judge": {"name": "x", "kind": "offline"}},
        {"application": "c", "sampling": {"rate": 0.5}},
    )
    assert [configured.judge.identity.name for configured in configured_judges] == ["offline", "x"]
    a, b, c, other = (chosen.policy(attributed(name)) for name in "abcd")
    assert (
        (a.judge, a.limits)
        == (b.judge, b.limits)
        == (configured_judges[1].judge, configured_judges[1].limits)
    )
    assert c.judge is other.judge is configured_judges[0].judge
    assert (c.sampler.rate, other.sampler.rate) == (0.5, 1.0)


def test_another_limit_is_another_judge() -> None:
    """The places of one are not taken by the other, though their scores have the same label."""
    configured_judges, chosen = built({"application": "a", "judge": {"concurrency": 1}})
    a, other = (chosen.policy(attributed(name)) for name in "ab")
    assert a.limits is not other.limits
    assert len({configured.judge.identity.label for configured in configured_judges}) == 1


def test_an_entry_without_a_name_goes_by_its_rules() -> None:
    """For every application; what it does not match has the settings themselves."""
    rule = {"attribute": "tenant", "equals": "acme"}
    _, chosen = built(
        {"when": [rule], "segment": "region", "metrics": ["faithfulness"]},
        **{"export.segment": "tenant"},
    )
    acme = chosen.policy(attributed("bot", tenant="acme"))
    rest = chosen.policy(attributed("bot"))
    assert (acme.segment_by, acme.metrics) == (("region",), ("faithfulness",))
    assert (rest.segment_by, rest.metrics) == (("tenant",), None)


def test_the_largest_rate_decides_before_decoding() -> None:
    """Of all that may apply to a record whose application is not known yet."""
    _, chosen = built(
        {"application": "a", "sampling": {"rate": 0.5}},
        {"application": "b", "sampling": {"rate": 0}},
        **{"sampling.rate": "0.1", "sampling.key": "record_key"},
    )
    (sampler,) = chosen.prefilter.samplers
    assert (sampler.rate, sampler.key) == (0.5, "record_key")


LIMITED = {
    "judge.kind": "llm",
    "judge.model": "openai/large",
    "judge.fallback_models": '["other/small"]',
    "sampling.block": "auto",
    "limits.requests_per_minute": "1200",
    "limits.models": '{"other/small": {"requests_per_minute": 30}, "openai/own": '
    '{"requests_per_minute": 1, "tokens_per_minute": 6000}}',
}


def test_a_pace_is_one_that_every_model_which_judges_bears() -> None:
    """Not only the settings' own model: fallbacks, and applications' own, by their part of it."""
    own = {"application": "a", "judge": {"model": "openai/own", "fallback_models": []}}
    environ = {"RAG_MONITOR_APPLICATIONS": json.dumps([own])}
    loaded = load(environ, flags=LIMITED)
    configured_judges = build_judges(loaded, ScorerTelemetry(CollectorRegistry()))
    pace = build_slots(loaded, Redactor(None), Calibrations(), configured_judges)
    assert pace is not None
    large, small, mine = (
        next(p for p in configured_judges[0].provider_gates.made() if p.model == model)
        for model in ("openai/large", "other/small", "openai/own")
    )

    def judged(times: int, *asked: ProviderGate) -> float | None:
        for _ in range(times):
            for one in asked:
                for _ in range(3):
                    one.count(1_000)
            pace.meters.judged()
        return pace.meters.affordable(1.0)

    assert pace.meters.affordable(1.0) is None
    assert judged(10, large) == 400
    assert judged(300, large, small) == pytest.approx(10, rel=0.01), "it falls back each time"
    assert judged(300, large) == pytest.approx(400, rel=0.01), "and does so no more"
    for _ in range(30):  # one of ten is of the other application
        judged(9, large)
        found = judged(1, mine)
    assert found is not None
    assert 2 <= found < 5, "one a minute of three calls each, of ten; by the latest ones"
    configured_judges[1].limits.busy_s += 1e6
    assert judged(1, large) == pytest.approx(60 * 8 / (0.05 * 1e6)), "places are a limit, too"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 4),
        ({"drift.burst.times": "2"}, 2),
        ({"drift.burst.per_day": "0s"}, 1),
        ({"sampling.rate": "0.1", "ingest.when_behind": "completeness"}, 4),
        ({"ingest.when_behind": "completeness"}, None),
    ],
)
def test_a_burst_is_what_its_own_settings_allow(
    settings: dict[str, str], expected: int | None
) -> None:
    """Whatever an exporter with other settings asks for; where all is judged there is none."""
    loaded = load({}, flags=settings)
    configured_judges = build_judges(loaded, ScorerTelemetry(CollectorRegistry()))
    found = build_slots(
        loaded, Redactor(None), Calibrations(), configured_judges, burst=lambda: 8.0
    )
    assert (None if found is None else found.burst()) == expected


@pytest.mark.parametrize("pipeline", get_args(PipelineName))
def test_every_pipeline_can_be_configured_and_planned_with(pipeline: str) -> None:
    """By the same names; all but pairs, where nothing is batched, are rechecked."""
    configured_judges, _ = built(
        **{"judge.kind": "llm", "judge.model": "openai/judge", "judge.pipeline": pipeline}
    )
    assert configured_judges[0].judge.identity.pipeline == pipeline
    assert {pipeline, "verifier"} <= TYPICAL.keys()
    telemetry = RecheckTelemetry(CollectorRegistry())
    rechecked = with_rechecks(configured_judges, telemetry)[0].recheck is not None
    assert rechecked is (pipeline != "pairs")


def test_the_threshold_is_a_half_unless_it_is_set() -> None:
    """It goes to the judge, and into its version."""
    flags = {"judge.kind": "llm", "judge.model": "openai/judge", "judge.pipeline": "pairs"}
    usual, set_ = load({}, flags=flags), load({}, flags={**flags, "judge.threshold": "0.3"})
    assert [llm_settings(s.judge).threshold for s in (usual, set_)] == [0.5, 0.3]
    (one, *_), _ = built(**flags)
    (other, *_), _ = built(**flags, **{"judge.threshold": "0.3"})
    assert one.judge.identity.version != other.judge.identity.version
