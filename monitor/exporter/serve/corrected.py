"""The rolling estimates as people would have them, where their audits say how the judge errs."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from prometheus_client.core import GaugeMetricFamily

from monitor.control.corrections import Corrections
from monitor.exporter.scores.aggregator import SeriesEstimates, SeriesKey
from monitor.exporter.scores.folding import is_watched
from monitor.exporter.scores.stamped_cache import StampedCache
from monitor.exporter.serve.rolling import Rolling, Written
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.control import JudgeErrorsFound
from monitor.stats.correction import Corrected, JudgeErrors, corrected_estimate

CORRECTED_FAMILIES: Final = {
    "rag_score_corrected": "rag_score without the errors of the judge, as people's audits show.",
    "rag_score_corrected_lower": "Lower bound of the 95 % interval of rag_score_corrected.",
    "rag_score_corrected_upper": "Upper bound of the 95 % interval of rag_score_corrected.",
}


class SeriesCorrected(NamedTuple):
    """One window of one series, corrected."""

    key: SeriesKey
    window: str
    values: Corrected


_CorrectedBlock = tuple[SeriesCorrected, ...]


class CorrectedScores:
    """Corrects the blocks of estimates that it is given, each once for as long as it holds.

    What is summed up as ``other`` is of several applications or judges: it has no correction.
    """

    def __init__(self, corrections: Corrections, labels: Sequence[str]) -> None:
        self._corrections = corrections
        self._rolling = Rolling(CORRECTED_FAMILIES, labels)
        self._cache = StampedCache[SeriesKey, _CorrectedBlock]()
        self._blocks: list[_CorrectedBlock] = []

    def families(self) -> list[GaugeMetricFamily]:
        """The families with all samples, as objects."""
        return self._rolling.families(self._blocks)

    def written(self) -> Generator[None, None, list[Written]]:
        """The same as text."""
        return (yield from self._rolling.written(self._blocks))

    def steps(self, blocks: Iterable[SeriesEstimates], now: float) -> Iterator[None]:
        """Correct these, block by block; those before are forgotten. ``now`` in epoch seconds."""
        self._blocks = []
        for block in blocks:
            key = block[0].key if block else None
            errors = self._errors(key, now) if isinstance(key, SeriesKey) else None
            if isinstance(key, SeriesKey) and errors is not None:
                make = partial(_corrected, key, block, errors)
                self._blocks.append(self._cache.get(key, (block, errors), make))
                yield
        self._cache.sweep()

    def _errors(self, key: SeriesKey, now: float) -> JudgeErrorsFound | None:
        if not is_watched((key.application, key.judge)):
            return None
        record = self._corrections.of(key.application, key.judge)
        if record is None or not record.is_active_at(now):
            return None
        found = record.metrics.get(key.metric)
        return None if found is None else found.errors


def _corrected(key: SeriesKey, block: SeriesEstimates, errors: JudgeErrorsFound) -> _CorrectedBlock:
    """The windows that have an estimate."""
    line, better = _line(errors), CATALOGUE[key.metric].higher_is_better
    found = ((one.window, corrected_estimate(one.estimate, line, better)) for one in block)
    return tuple(SeriesCorrected(key, window, one) for window, one in found if one is not None)


def _line(found: JudgeErrorsFound) -> JudgeErrors:
    return JudgeErrors(
        found.alpha,
        found.beta,
        found.people,
        found.spread,
        found.squares,
        found.effective,
        found.audits,
    )
