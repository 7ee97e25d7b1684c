"""Gates: what can be asked, and that what is not known does not pass."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import pytest

from monitor.errors import ConfigurationError
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge_check import formats, gates
from monitor.judge_check.labelled import VerdictKind
from monitor.judge_check.measure import Options, measure
from monitor.judge_check.report import Report, report
from monitor.judge_check.subject import OfflineSubject

PAIRS = "\n".join(
    f'{{"claim": "Refunds take {days} days.", "passage": "Refunds take 14 days. {days}{n}",'
    f' "supported": {str(supported).lower()}}}'
    for n, (days, supported) in enumerate([(14, True), (30, False), (14, True), (14, False)])
)


@pytest.fixture(scope="module")
def found() -> Report:
    """Four pairs by the offline judge: the last label is against it."""
    labelled, files = formats.read({"f": PAIRS})
    subject = OfflineSubject(OfflineJudge())
    run = asyncio.run(measure(subject, labelled, Options(), time.perf_counter))
    return report(files, [run])


@pytest.mark.parametrize(
    ("gate", "failed"),
    [
        ("accuracy<0.75", ()),
        ("accuracy <= 0.75", ("offline/response_by_context 0.75",)),
        ("kappa<0.6", ("offline/response_by_context 0.5",)),
        ("response_by_context.kappa<0.6", ("offline/response_by_context 0.5",)),
        ("offline/response_by_context.kappa>=0.5", ("offline/response_by_context 0.5",)),
        ("recall_lower<0.9", ("offline/response_by_context 0.01224",)),
        ("recall_upper<0.9", ()),
        ("auc<0.1", ()),
        ("bias>0.2", ("offline/faithfulness 0.25",)),
        ("faithfulness.error>0.3", ()),
        ("failed>0", ()),
        ("response_by_passage.kappa<0.6", ("not measured",)),
        ("joint/kappa<0.6", ("not measured",)),
        ("coverage<0.5", ("not measured",)),
        ("flips>0.1", ("not measured",)),
    ],
)
def test_gate(found: Report, gate: str, failed: tuple[str, ...]) -> None:
    """A gate says no where its condition holds in any scope, and where nothing was measured."""
    assert gates.judged(gates.parse(gate), found) == gates.GateResult(gate, failed)


def by_the_offline_judge(text: str) -> tuple[Report, list[VerdictKind]]:
    """The report on a file, and the kinds that it has labels of."""
    labelled, files = formats.read({"f": text})
    run = asyncio.run(measure(OfflineSubject(OfflineJudge()), labelled, Options(), time.monotonic))
    return report(files, [run]), gates.labelled_kinds(labelled)


def refunds(n: int, *, has_second_label: bool) -> str:
    """One claim that a passage supports in every second one; and one claim of the reference."""
    said, rule = f"Refunds take {14 if n % 2 else 30} days.", "Refunds take 14 days."
    verdicts = {"response_by_passage": [[said == rule]]}
    interaction = {"user_input": "How long?", "response": said, "retrieved_contexts": [rule]}
    return json.dumps(
        {
            "interaction_id": f"i-{n}",
            "interaction": {**interaction, "reference": rule},
            "claims": {"response": [said], "reference": [rule]},
            "verdicts": verdicts
            | ({"reference_by_response": [said == rule]} if has_second_label else {}),
        }
    )


@pytest.mark.parametrize(
    ("gate", "failed"),
    [
        ("kappa_lower<0.6", ("offline/reference_by_response not measured",)),
        ("kappa<0.6", ("offline/reference_by_response not measured",)),
        ("kappa_lower>0.6", ("offline/response_by_passage 0.6406",
                             "offline/reference_by_response not measured")),
        ("accuracy<0.6", ()),
        ("accuracy_lower<0.6", ("offline/reference_by_response not measured",)),
        ("response_by_passage.kappa_lower<0.6", ()),
        ("reference_by_response.kappa<0.6", ("not measured",)),
        ("response_by_reference.kappa<0.6", ("not measured",)),
    ],
)  # fmt: skip
def test_a_kind_that_has_labels_and_no_value_does_not_pass(
    gate: str, failed: tuple[str, ...]
) -> None:
    """Also beside one that has a value; kinds without labels do not count unless they are named."""
    found, kinds = by_the_offline_judge(
        "\n".join(refunds(n, has_second_label=n == 1) for n in range(20))
    )
    assert kinds == ["response_by_passage", "reference_by_response"]
    assert gates.judged(gates.parse(gate), found, kinds).failed == failed


def test_a_kind_of_which_each_verification_failed_does_not_pass() -> None:
    """It is in no table, and has labels all the same."""
    found, kinds = by_the_offline_judge(
        "\n".join(refunds(n, has_second_label=True) for n in range(20))
    )
    gate = gates.parse("kappa<0.6")
    assert gates.judged(gate, found, kinds).failed == ()
    (judge,) = found.judges
    first = {kind: judge.kinds[kind] for kind in kinds[:1]}
    part = replace(found, judges=[replace(judge, kinds=first)])
    assert gates.judged(gate, part, kinds).failed == ("offline/reference_by_response not measured",)
    assert gates.judged(gate, part, kinds[:1]).failed == ()


def test_a_pipeline_that_was_not_measured_does_not_pass_beside_another() -> None:
    """Its judgements as in production have all failed."""
    found, kinds = by_the_offline_judge(refunds(1, has_second_label=True))
    (judge,) = found.judges
    silent = replace(judge, pipeline="joint", extraction={}, kinds={})
    both = replace(found, judges=[judge, silent])
    assert gates.judged(gates.parse("coverage<0.5"), found, kinds).failed == ()
    assert gates.judged(gates.parse("coverage<0.5"), both, kinds).failed == ("joint not measured",)
    assert gates.judged(gates.parse("offline/coverage<0.5"), both, kinds).failed == ()
    assert gates.judged(gates.parse("accuracy<0.5"), both, kinds).failed == (
        "joint/response_by_passage not measured",
        "joint/reference_by_response not measured",
    )


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("kappa", "--fail-if: found 'kappa', expected [pipeline/][scope.]name<number, like kappa"),
        ("kappa=0.6", "--fail-if: found 'kappa=0.6', expected"),
        ("kapa<0.6", "--fail-if: found 'kapa', expected kappa, balanced_accuracy"),
        ("faithfulness.kappa<1", "--fail-if: found 'faithfulness', expected response_by_passage"),
        ("response_by_passage.bias<1", "--fail-if: found 'response_by_passage', expected faithful"),
        ("faithfulness.failed>0", "--fail-if: found 'faithfulness', expected no scope"),
        ("kappa<0.6.1", "--fail-if: 'kappa<0.6.1' has no number"),
    ],
)
def test_bad_gate(gate: str, expected: str) -> None:
    """A gate that cannot be read says what is expected."""
    with pytest.raises(ConfigurationError) as raised:
        gates.parse(gate)
    assert str(raised.value).startswith(expected)


def test_by_default_what_was_not_asked_is_no_failure(found: Report) -> None:
    """Where nothing was verified there is nothing to guess; where it was, it must be measured."""
    (judge,) = found.judges
    unmeasured = replace(judge, kinds={})
    asked = replace(found, judges=[unmeasured])
    assert gates.by_default(asked).failed == ("offline not measured",)
    nobody = replace(unmeasured, verifying=replace(judge.verifying, judgements=0))
    assert gates.by_default(replace(found, judges=[nobody])).failed == ()
