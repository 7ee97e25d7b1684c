"""Gates: what can be asked, and that what is not known does not pass."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from monitor.errors import ConfigurationError
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge_check import formats, gates
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
