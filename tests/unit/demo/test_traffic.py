"""The demo's traffic: its truth is what its texts say, and the offline judge can see it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from statistics import fmean, stdev

import pytest

from monitor.demo.facts import LANGUAGES, SLOT, Fact, handbook
from monitor.demo.mix import INCIDENT, NORMAL, SHAPES, WRONG_SHARE, Mix, ResponseKind, expected
from monitor.demo.traffic import TENANTS, DemoTraffic, Generated
from monitor.ingest.formats.native import decode
from monitor.judge.offline.judge import OfflineJudge
from monitor.metrics.catalogue import score_all
from monitor.records import Interaction, JudgeIdentity, Judgement, Source, Unscored

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIXES = pytest.mark.parametrize("mix", [NORMAL, INCIDENT], ids=["normal", "incident"])
EVEN = Mix(0.2, 0.2, 0.2, 0.2, 0.2)
NOBODY = JudgeIdentity(name="truth", version="1", model="-", prompts="-", pipeline="-")


def generate(mix: Mix, count: int, reference_share: float = 0.8) -> Iterator[Generated]:
    """The first interactions of a traffic with a constant mix."""
    traffic = DemoTraffic(seed=7, mix_at=lambda _: mix, reference_share=reference_share)
    return (traffic.interaction(index, NOON) for index in range(count))


def only(kind: ResponseKind) -> Mix:
    """A mix of one kind alone."""
    return Mix(**{other.value: float(other is kind) for other in ResponseKind})


def read(generated: Generated) -> Interaction:
    """The interaction as the monitor would read it from Kafka."""
    value = json.dumps(generated.json).encode()
    source = Source(topic="t", partition=0, offset=0)
    return decode(value, source, broker_ms=int(NOON.timestamp() * 1000)).interaction


def all_facts(language: str) -> list[Fact]:
    """The facts of all topics in one language."""
    return [fact for topic in handbook(language).topics for fact in topic.facts]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_enough_facts(language: str) -> None:
    """At least 24 facts, and in each topic one more than a response can state."""
    assert len(all_facts(language)) >= 24
    longest = max(claims for claims, _ in SHAPES)
    assert all(len(topic.facts) > longest for topic in handbook(language).topics)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_number_or_name_is_a_value_of_two_facts(language: str) -> None:
    """So a passage about one fact cannot by chance hold the value of another."""
    owners = Counter(
        token
        for fact in all_facts(language)
        for token in set(re.findall(r"\d+|[A-Za-z]+", " ".join((fact.value, *fact.wrong))))
    )
    assert [token for token, count in owners.items() if count > 1] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_phrasing_states_its_value_and_no_other_number(language: str) -> None:
    """No digit and no negation outside the slot, and no sentence that opens with a name's slot."""
    denial = re.compile(r"\d|\b(?:no|not|never|without|cannot)\b|n't\b|[不没未无勿]", re.IGNORECASE)
    for fact in all_facts(language):
        assert [p for p in fact.phrasings if denial.search(p)] == []
        if fact.value[0].isalpha():
            assert [p for p in fact.phrasings if p.startswith(SLOT)] == []


def test_a_fact_without_enough_wording_is_refused() -> None:
    """Too few wrong values, too few phrasings and a missing slot are errors at construction."""
    wording = tuple(f"{SLOT} {i}" for i in range(4))
    assert Fact("f", "?", "1", ("2", "3"), wording).value == "1"
    with pytest.raises(ValueError, match="wrong values"):
        Fact("f", "?", "1", ("2",), wording)
    with pytest.raises(ValueError, match="wrong values"):
        Fact("f", "?", "1", ("1", "2"), wording)
    with pytest.raises(ValueError, match="phrasings"):
        Fact("f", "?", "1", ("2", "3"), wording[:3])
    with pytest.raises(ValueError, match="exactly once"):
        Fact("f", "?", "1", ("2", "3"), (*wording[:3], "no slot"))
    with pytest.raises(ValueError, match="no facts in 'fr'"):
        handbook("fr")


def test_a_mix_is_a_distribution() -> None:
    """Rates that are negative, do not sum to one or are refusals alone are errors."""
    with pytest.raises(ValueError, match="sum to one"):
        Mix(0.5, 0.1, 0.1, 0.1, 0.1)
    with pytest.raises(ValueError, match="sum to one"):
        Mix(1.1, -0.1, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="claim something"):
        only(ResponseKind.REFUSES)


def test_the_incident_multiplies_noise_sensitivity_only() -> None:
    """0.08 becomes 0.40; hallucination, faithfulness and the relevant mode stay as they were."""
    normal, incident = expected(NORMAL), expected(INCIDENT)
    moved = "noise_sensitivity_irrelevant"
    assert float(WRONG_SHARE) == 0.8
    assert normal[moved] == pytest.approx(0.08, abs=1e-12)
    assert incident[moved] == pytest.approx(0.40, abs=1e-12)
    for metric in ("faithfulness", "hallucination", "noise_sensitivity_relevant"):
        assert incident[metric] == normal[metric]


@MIXES
def test_expectation_agrees_with_simulation(mix: Mix) -> None:
    """Over 10,000 interactions each metric's mean is within 4 standard errors of the exact one."""
    truths = [generated.truth.values for generated in generate(mix, 10_000)]
    for metric, mean in expected(mix).items():
        found = [value for truth in truths if (value := truth[metric]) is not None]
        assert len(found) > 10_000 * 0.6
        assert abs(fmean(found) - mean) < 4 * stdev(found) / math.sqrt(len(found)), metric


def test_the_same_seed_and_index_give_the_same_interaction() -> None:
    """Whatever was generated before; another seed or index gives another interaction."""
    one, two = (DemoTraffic(seed=3, mix_at=lambda _: EVEN) for _ in range(2))
    two.interaction(0, NOON)
    assert one.interaction(5, NOON) == two.interaction(5, NOON)
    texts = {
        json.dumps({**generated.json, "interaction_id": ""})
        for generated in (
            one.interaction(5, NOON),
            one.interaction(6, NOON),
            DemoTraffic(seed=4, mix_at=lambda _: EVEN).interaction(5, NOON),
        )
    }
    assert len(texts) == 3


def test_the_mix_is_asked_at_the_event_time() -> None:
    """``mix_at`` gets Unix seconds, so an incident can begin at a moment."""
    start = NOON.timestamp()
    traffic = DemoTraffic(
        seed=1,
        mix_at=lambda t: only(ResponseKind.IGNORES) if t >= start else only(ResponseKind.FOLLOWS),
    )
    before = traffic.interaction(0, NOON - timedelta(seconds=1)).truth.kind
    assert (before, traffic.interaction(0, NOON).truth.kind) == (
        ResponseKind.FOLLOWS,
        ResponseKind.IGNORES,
    )


def test_the_timestamp_is_the_event_time_in_utc() -> None:
    """A time in another zone is turned into UTC; a naive one is an error."""
    traffic = DemoTraffic(seed=1, mix_at=lambda _: NORMAL)
    shanghai = NOON.astimezone(timezone(timedelta(hours=8)))
    assert traffic.interaction(0, shanghai).json["timestamp"] == "2026-11-20T12:00:00Z"
    with pytest.raises(ValueError, match="time zone"):
        traffic.interaction(0, NOON.replace(tzinfo=None))


def test_the_json_is_a_native_interaction_without_the_truth() -> None:
    """It has the fields of the native format and no others, and it can be decoded."""
    for generated in generate(EVEN, 200):
        found = generated.json
        assert set(found) == {
            "interaction_id",
            "timestamp",
            "application",
            "user_input",
            "response",
            "retrieved_contexts",
            "reference",
            "attributes",
        }
        assert set(found["attributes"]) == {"tenant", "language", "model", "prompt_version"}
        assert all(set(page) == {"id", "text", "score"} for page in found["retrieved_contexts"])
        interaction = read(generated)
        assert interaction.interaction_id == generated.truth.interaction_id
        assert interaction.event_time == NOON
        assert len(interaction.retrieved_contexts) in (3, 4)


def test_passage_order_does_not_tell_the_relevant_one() -> None:
    """In a hundred interactions that follow, the relevant passage stands first, later and last."""
    places = set()
    for generated in generate(only(ResponseKind.FOLLOWS), 100, reference_share=1.0):
        columns = zip(*generated.truth.verdicts.reference_by_passage, strict=True)
        places |= {place for place, column in enumerate(columns) if any(column)}
    assert places == {0, 1, 2, 3}


def test_shares_of_language_tenant_and_reference() -> None:
    """Half of each language, tenants by weight, references in the share asked for."""
    found = [generated.json for generated in generate(NORMAL, 4_000, reference_share=0.3)]
    languages = Counter(interaction["attributes"]["language"] for interaction in found)
    tenants = Counter(interaction["attributes"]["tenant"] for interaction in found)
    references = sum(interaction["reference"] is not None for interaction in found)
    assert languages["en"] / 4_000 == pytest.approx(0.5, abs=0.03)
    assert references / 4_000 == pytest.approx(0.3, abs=0.03)
    for tenant, weight in TENANTS.items():
        assert tenants[tenant] / 4_000 == pytest.approx(weight / 10, abs=0.03)


@pytest.mark.parametrize(
    ("kind", "nonzero"),
    [
        (ResponseKind.FOLLOWS, set()),
        (ResponseKind.IGNORES, {"hallucination", "incorrect_claims"}),
        (ResponseKind.MISLED_BY_RELEVANT, {"noise_sensitivity_relevant", "incorrect_claims"}),
        (ResponseKind.MISLED_BY_IRRELEVANT, {"noise_sensitivity_irrelevant", "incorrect_claims"}),
    ],
)
def test_each_kind_moves_its_own_metrics(kind: ResponseKind, nonzero: set[str]) -> None:
    """And always those: each interaction of a bad kind has a wrong claim of its sort."""
    for generated in generate(only(kind), 300, reference_share=1.0):
        values = dict(generated.truth.values)
        faithfulness = values.pop("faithfulness")
        assert {metric for metric, value in values.items() if value} == nonzero
        assert faithfulness == pytest.approx(1 - (values["hallucination"] or 0.0))


def test_values_are_undefined_where_the_metrics_are() -> None:
    """Refusals have no values; without a reference only faithfulness has one."""
    for generated in generate(EVEN, 300):
        values = generated.truth.values
        refuses = generated.truth.kind is ResponseKind.REFUSES
        needs_reference = [value for name, value in values.items() if name != "faithfulness"]
        assert (values["faithfulness"] is None) == refuses
        undefined = refuses or generated.json["reference"] is None
        assert [value is None for value in needs_reference] == [undefined] * 4


def test_the_catalogue_scores_the_true_verdicts_with_the_true_values() -> None:
    """The metrics' formulas and the truth's own counting give the same on 1,000 interactions."""
    for generated in generate(EVEN, 1_000):
        truth = generated.truth
        judgement = Judgement(
            claims=truth.claims,
            passages=len(generated.json["retrieved_contexts"]),
            has_reference=generated.json["reference"] is not None,
            verdicts=truth.verdicts,
            judge=NOBODY,
        )
        scores = score_all(judgement)
        for metric, value in truth.values.items():
            assert _number(scores[metric]) == (None if value is None else pytest.approx(value))


@MIXES
async def test_the_offline_judge_sees_the_truth(mix: Mix) -> None:
    """In both languages means agree to 0.01, and at most 1 % of the values differ."""
    judge = OfflineJudge()
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for generated in generate(mix, 1_000):
        scores = score_all(await judge.judge(read(generated)))
        for metric, true in generated.truth.values.items():
            judged = _number(scores[metric])
            assert (judged is None) == (true is None), (metric, generated.json)
            if judged is not None and true is not None:
                language = generated.json["attributes"]["language"]
                pairs.setdefault((language, metric), []).append((judged, true))
    assert len(pairs) == len(LANGUAGES) * len(expected(mix))
    for key, found in pairs.items():
        judged_mean, true_mean = (fmean(column) for column in zip(*found, strict=True))
        assert abs(judged_mean - true_mean) < 0.01, key
        assert sum(abs(judged - true) > 1e-9 for judged, true in found) <= 0.01 * len(found), key


def _number(score: float | Unscored) -> float | None:
    return None if isinstance(score, Unscored) else score
