"""Score records → which tests pass, which fail and why. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from monitor.evaluate.thresholds import beyond, value_of
from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.claim_rows import verdict_in_words
from monitor.metrics.offending_claims import judged_claims
from monitor.records import Outcome, ScoreRecord
from monitor.suites.model import (
    NOISE_MODES,
    NOISE_SENSITIVITY,
    AskedAnswer,
    SkippedAssertion,
    Suite,
    SuiteAssertion,
    SuiteNote,
    SuiteTest,
)

#: ``error``: the judge could not say; that is no pass.
Status = Literal["passed", "failed", "error", "skipped"]
_FAILURES: Final = (Outcome.JUDGE_FAILED, Outcome.OVER_BUDGET)
_INCORRECT: Final = "incorrect_claims"


@dataclass(frozen=True)
class AssertionVerdict:
    """What became of an assertion: its value, why it does not pass, and the claims behind that."""

    assertion: SuiteAssertion
    status: Status
    value: float | None
    why: str
    claims: tuple[str, ...] = ()
    beside: str = ""

    @property
    def words(self) -> str:
        """One line."""
        metric, threshold = self.assertion.metric, self.assertion.threshold
        if self.status == "passed":
            better = "at least" if CATALOGUE[metric].higher_is_better else "at most"
            return f"{metric} {self.value:.3f}, {better} {threshold:g}{self.beside}"
        return f"{metric}: {self.why}{self.beside}"


@dataclass(frozen=True)
class SuiteTestVerdict:
    """What became of a test; ``seconds`` is how long its answers took to judge."""

    test: SuiteTest
    status: Status
    assertions: tuple[AssertionVerdict, ...]
    seconds: float = 0.0

    @property
    def skipped(self) -> tuple[SkippedAssertion, ...]:
        """Assertions that are not checked here."""
        return self.test.skipped

    def reasons(self) -> Iterator[str]:
        """Why it does not pass, a line each."""
        if self.test.broken is not None:
            yield self.test.broken
        for each in self.assertions:
            if each.status != "passed":
                yield each.words
                yield from (f"  {claim}" for claim in each.claims)


@dataclass(frozen=True)
class SuiteVerdict:
    """What became of a suite."""

    suite: Suite
    tests: tuple[SuiteTestVerdict, ...]

    @property
    def counts(self) -> Counter[str]:
        """Tests by status."""
        return Counter(test.status for test in self.tests)

    @property
    def notes(self) -> tuple[SuiteNote, ...]:
        """What of the file is not used."""
        return self.suite.notes

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "file": self.suite.file,
            "counts": dict(self.counts),
            "notes": [{"line": note.line, "text": note.text} for note in self.notes],
            "tests": [_test_json(test) for test in self.tests],
        }


def judged(suite: Suite, records: Mapping[AskedAnswer, ScoreRecord]) -> SuiteVerdict:
    """The verdict of every test; an answer without a record could not be judged."""
    return SuiteVerdict(suite, tuple(_test(test, records) for test in suite.tests))


def _test(test: SuiteTest, records: Mapping[AskedAnswer, ScoreRecord]) -> SuiteTestVerdict:
    found = tuple(_assertion(each, records.get(each.answer)) for each in test.assertions)
    answers = dict.fromkeys(each.answer for each in test.assertions)
    judged_s = (sum(records[answer].timings.values()) for answer in answers if answer in records)
    return SuiteTestVerdict(test, _status(test, found), found, sum(judged_s))


def _status(test: SuiteTest, found: tuple[AssertionVerdict, ...]) -> Status:
    statuses = {each.status for each in found}
    if "failed" in statuses:
        return "failed"
    if "error" in statuses or test.broken is not None:
        return "error"
    return "passed" if found else "skipped"


def _assertion(assertion: SuiteAssertion, record: ScoreRecord | None) -> AssertionVerdict:
    if record is None:
        return AssertionVerdict(assertion, "error", None, "it was not judged")
    if record.outcome in _FAILURES:
        why = f"the judge could not say: {record.reason or record.outcome}"
        return AssertionVerdict(assertion, "error", None, why)
    value = value_of(record, assertion.metric)
    why_not = beyond(assertion.metric, value, assertion.threshold)
    number = value if isinstance(value, float) else None
    beside = _beside(assertion, record)
    if why_not is None:
        return AssertionVerdict(assertion, "passed", number, "", beside=beside)
    claims = tuple(_wrong(record)) if number is not None else ()
    return AssertionVerdict(assertion, "failed", number, why_not, claims, beside)


def _beside(assertion: SuiteAssertion, record: ScoreRecord) -> str:
    """In relevant mode promptfoo counts every wrong claim: its number stands beside ours."""
    if assertion.type != NOISE_SENSITIVITY or assertion.metric != NOISE_MODES["relevant"]:
        return ""
    value, every = value_of(record, assertion.metric), value_of(record, _INCORRECT)
    return (
        "" if not isinstance(every, float) or every == value else f" (incorrect_claims {every:.3f})"
    )


def _wrong(record: ScoreRecord) -> Iterator[str]:
    for claim in judged_claims(record):
        if claim.is_wrong or not claim.together:
            yield f"“{claim.text or f'claim {claim.number}'}” is {verdict_in_words(claim)}"


def _test_json(test: SuiteTestVerdict) -> dict[str, Any]:
    return {
        "name": test.test.name,
        "line": test.test.line,
        "status": test.status,
        "broken": test.test.broken,
        "assertions": [
            {
                "type": each.assertion.type,
                "metric": each.assertion.metric,
                "threshold": each.assertion.threshold,
                "line": each.assertion.line,
                "status": each.status,
                "value": each.value,
                "why": each.why or None,
                "claims": each.claims,
            }
            for each in test.assertions
        ],
        "skipped": [
            {"type": each.type, "line": each.line, "why": each.why} for each in test.skipped
        ],
    }
