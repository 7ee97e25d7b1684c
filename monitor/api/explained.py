"""A score in words: passages, claims, what is wrong and why, the counts and the formula. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from monitor.api.problems import reason_in_words
from monitor.lookup.shown import evidence_lines
from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.claim_rows import verdict_in_words
from monitor.metrics.offending_claims import judged_claims, offending
from monitor.metrics.ratios import counted
from monitor.records import ScoreRecord, UnscoredMark


def explained(record: ScoreRecord, metric: str) -> Iterator[str]:
    """The lines of one metric; texts and claims are shown as ``rag-monitor show`` shows them."""
    yield headline(record, metric)
    yield from evidence_lines(record)
    yield from wrong_lines(record, metric)
    yield from _formula(record, metric)
    judge = record.judge
    yield f"judged by {judge.label}: model {judge.model}, pipeline {judge.pipeline}"


def headline(record: ScoreRecord, metric: str) -> str:
    """The value, or why there is none."""
    found = record.scores.get(metric)
    if isinstance(found, float):
        return f"{metric} {found:.3f}: {_share(record, metric)}"
    reason = found.unscored if isinstance(found, UnscoredMark) else str(record.reason)
    return f"{metric} has no value: {reason_in_words(reason)}"


def _share(record: ScoreRecord, metric: str) -> str:
    found, plain = counted(record, metric), CATALOGUE[metric].plain
    if found is None:
        return plain
    return f"{found.part} of {found.whole} {found.what}: {plain}"


def wrong_lines(record: ScoreRecord, metric: str) -> Iterator[str]:
    """The claims that count against the response, and where each came from."""
    claims = judged_claims(record)
    for offence in offending(record, metric):
        claim = claims[offence.number - 1]
        # By what is relevant for this metric, which may be relevance to the question.
        said_of_it = verdict_in_words(claim._replace(passages=offence.passages))
        text = "(its text is not on record)" if offence.text is None else offence.text
        yield f"counts against it: claim {offence.number}, {said_of_it}: {' '.join(text.split())}"


def _formula(record: ScoreRecord, metric: str) -> Iterator[str]:
    found, formula = counted(record, metric), CATALOGUE[metric].formula
    if found is None:
        yield f"formula: {formula}"
    else:
        yield f"formula: {formula} = {found.part} / {found.whole}"


def as_html(lines: Iterator[str]) -> str:
    """The same for a notebook: the first line is the heading, columns stay in line."""
    first, *others = lines
    body = escape("\n".join(others))
    return f"<details open><summary><b>{escape(first)}</b></summary><pre>{body}</pre></details>"
