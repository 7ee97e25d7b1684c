"""What a file came to, in words and as JSON: table, risks, gates, thresholds. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from monitor.config.evaluating import RiskSettings
from monitor.evaluate.column import histogram
from monitor.evaluate.gates import FileGate, FileVerdict, judged
from monitor.evaluate.risks import RiskLimits, RiskSign, risk_signs
from monitor.evaluate.summary import MOST_TABLES, MetricGroups, MetricSums, Summary, one_line, table
from monitor.metrics.catalogue import CATALOGUE

#: Rows that miss their threshold are named one by one up to here.
MOST_NAMED_FAILURES: Final = 20


@dataclass(frozen=True)
class FileOutcome:
    """A file, what became of it, and what was asked of it; ``risks`` are the limits of signs."""

    file: str
    summary: Summary
    gates: Sequence[FileGate]
    risks: RiskSettings

    @cached_property
    def groups(self) -> MetricGroups:
        """By application and judge; then by metric."""
        return self.summary.groups()

    @cached_property
    def verdicts(self) -> list[FileVerdict]:
        """Of each gate."""
        found = [judged(gate, self.groups) for gate in self.gates]
        if self.summary.stopped_before is None:
            return found
        why = f"not all is judged: stopped before line {self.summary.stopped_before}"
        return [each._replace(failed=(*each.failed, why)) for each in found]

    @property
    def is_bad(self) -> bool:
        """Whether anything says no: a gate, a row's threshold, or a row that is no interaction."""
        thresholds = self.summary.thresholds
        misses = thresholds is not None and bool(thresholds.failed)
        return misses or bool(self.summary.rejected) or any(each.failed for each in self.verdicts)

    def signs(self, name: str, found: MetricSums) -> list[RiskSign]:
        """The signs of risk of a metric; none of one that is nobody's fault."""
        column = found.statistics()
        if column is None:
            return []
        limits = RiskLimits(**self.risks.model_dump())
        metric = CATALOGUE[name]
        better, is_one_bit = metric.higher_is_better, metric.source != "verdicts"
        return list(risk_signs(found.scores, column, better, limits, two_valued=is_one_bit))

    def lines(self) -> Iterator[str]:
        """For people."""
        yield from table(self.summary)
        yield from self.notes()
        for each in self.verdicts:
            yield f"--fail-if {each.gate}: {'; '.join(each.failed) or 'does not hold'}"
        yield one_line(self.summary)

    def notes(self) -> Iterator[str]:
        """What deserves a look: signs of risk, contexts of one text, short and failing rows."""
        yield from self._risks()
        yield from self._contexts()
        yield from self._repeats()
        yield from self._cells()
        yield from self._thresholds()

    def _risks(self) -> Iterator[str]:
        several = len(self.groups) > 1
        for (application, _), metrics in list(self.groups.items())[:MOST_TABLES]:
            for name, found in metrics.items():
                for sign in self.signs(name, found):
                    where = f"{application}: {name}" if several else name
                    yield (
                        f"risk: {where}: {sign.name} {sign.value:.3f} is above {sign.limit:g}: "
                        f"{sign.meaning}"
                    )

    def _contexts(self) -> Iterator[str]:
        """In irrelevant mode a context of one text says nothing; and labels that nobody goes by."""
        if number := self.summary.one_texts:
            yield (
                f"warning: the context of {_rows(number)} is one text. It counts as one relevant "
                "passage, so noise_sensitivity_irrelevant is 0 there; give a list of passages"
            )
        if number := self.summary.unused_labels:
            yield (
                f"note: passages of {_rows(number)} are labelled. What supports the reference is "
                "relevant all the same; to go by the labels set judge.relevance=labels"
            )

    def _repeats(self) -> Iterator[str]:
        if number := self.summary.repeats:
            repeat = "repeats" if number == 1 else "repeat"
            yield (
                f"note: {_rows(number)} {repeat} an application and interaction_id of before. Each "
                "counts here. Gauges of these records count one of them"
            )

    def _cells(self) -> Iterator[str]:
        """A quote that nobody closes swallows all rows below it, and looks like a short one."""
        if short := self.summary.short_rows:
            have = "has" if len(short) == 1 else "have"
            yield (
                f"warning: {_rows(len(short))} {have} fewer cells than the header, the first is "
                f"row {short[0]}. What is missing counts as absent; look for a missing comma, or a "
                "quote that is not closed"
            )

    def _thresholds(self) -> Iterator[str]:
        found = self.summary.thresholds
        if found is None or not found.held:
            return
        for failure in found.failed[:MOST_NAMED_FAILURES]:
            yield f"row {failure.row} ({failure.interaction_id}): {failure.metric}: {failure.why}"
        if len(found.failed) > MOST_NAMED_FAILURES:
            yield f"and {len(found.failed) - MOST_NAMED_FAILURES} more"
        yield f"thresholds: {found.passed:,} of {found.held:,} rows keep theirs"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        summary, thresholds = self.summary, self.summary.thresholds
        return {
            "file": self.file,
            "records": summary.records,
            "resumed": summary.resumed,
            "outcomes": dict(summary.outcomes),
            "rejected": summary.rejected,
            "stopped_before": summary.stopped_before,
            "refused": summary.refused,
            "usage": {**summary.usage.model_dump(), "usd": summary.usd},
            "one_text_contexts": summary.one_texts,
            "repeated_ids": summary.repeats,
            "short_rows": summary.short_rows,
            "groups": [
                {
                    "application": application,
                    "judge": judge or None,
                    "metrics": {name: self._metric(name, each) for name, each in metrics.items()},
                }
                for (application, judge), metrics in self.groups.items()
            ],
            "gates": [{"gate": each.gate, "failed": each.failed} for each in self.verdicts],
            "thresholds": None
            if thresholds is None
            else {
                "held": thresholds.held,
                "passed": thresholds.passed,
                "failed": [each._asdict() for each in thresholds.failed],
            },
        }

    def _metric(self, name: str, found: MetricSums) -> dict[str, Any]:
        column = found.statistics()
        interval = found.interval(CATALOGUE[name].higher_is_better) or (None, None)
        return {
            **({"n": 0} if column is None else column._asdict()),
            "lower": interval[0],
            "upper": interval[1],
            "missing": dict(found.missing),
            "histogram": histogram(found.scores),
            "risks": [sign._asdict() for sign in self.signs(name, found)],
        }


def _rows(number: int) -> str:
    return f"{number:,} row{'s' if number != 1 else ''}"
