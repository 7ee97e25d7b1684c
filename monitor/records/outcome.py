"""Why an interaction was scored or not: every outcome, and every reason that has a name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple


class Outcome(StrEnum):
    """How an interaction ended; each consumed interaction has exactly one."""

    SCORED = "scored"
    NOT_SAMPLED = "not_sampled"
    OVER_BUDGET = "over_budget"
    UNSCORABLE = "unscorable"
    JUDGE_FAILED = "judge_failed"
    DEAD_LETTERED = "dead_lettered"
    HANDED_OVER = "handed_over"


class Unscored(StrEnum):
    """Why a metric has no value: never NaN, never 0, never 1."""

    NO_REFERENCE = "NO_REFERENCE"
    NO_REFERENCE_CLAIMS = "NO_REFERENCE_CLAIMS"
    NO_CLAIMS = "NO_CLAIMS"
    NO_CONTEXTS = "NO_CONTEXTS"
    NO_RELEVANT_CONTEXTS = "NO_RELEVANT_CONTEXTS"
    NO_RELEVANCE = "NO_RELEVANCE"
    NOT_ASKED = "NOT_ASKED"
    REDACTED = "REDACTED"
    TOO_LARGE = "TOO_LARGE"


#: Why a metric has no value, in words; the names are those of docs/metrics.md.
UNSCORED_IN_WORDS: Final[Mapping[str, str]] = {
    "NO_REFERENCE": "there is no reference, or one without words",
    "NO_REFERENCE_CLAIMS": "the reference claims nothing",
    "NO_CLAIMS": "the response claims nothing",
    "NO_CONTEXTS": "there are no retrieved passages with words",
    "NO_RELEVANT_CONTEXTS": "no passage supports a claim of the reference",
    "NO_RELEVANCE": "for some passage, relevance to the question is unknown",
    "NOT_ASKED": "no judge was asked: set judge.answer_relevance to judged",
    "REDACTED": "a text that it needs is hidden",
    "TOO_LARGE": "judging it would take more calls or tokens than one interaction may",
}


class Reason(StrEnum):
    """What the scorer says; the judge's are on ``JudgeFailed``, the metrics' ``Unscored``."""

    HASH = "hash"
    SLOT = "slot"
    LAG = "lag"
    FILTERED = "filtered"
    PAUSED = "paused"
    DUPLICATE = "duplicate"
    TOO_OLD = "too_old"
    TOMBSTONE = "tombstone"
    NO_ROOT = "no_root"
    TRACE_TOO_LARGE = "trace_too_large"
    USD_PER_DAY = "usd_per_day"
    DEADLINE = "deadline"
    NOT_JUDGING = "not_judging"
    INTERNAL = "internal_error"
    STUCK = "stuck"
    UNREADABLE = "unreadable_record"
    REVOKED = "revoked"
    SHUTDOWN = "shutdown"


class RecentOutcomes(NamedTuple):
    """How interactions ended within the last ``minutes``, by outcome and reason ("" for none)."""

    minutes: int
    ended: Mapping[tuple[str, str], int]
