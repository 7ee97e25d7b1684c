"""Score records as the exporter's selection gets them."""

from __future__ import annotations

from typing import Final

from monitor.exporter.scores.observation import Reader
from monitor.records import ScoreRecord
from monitor.stats.candidates import Candidate

_READER: Final = Reader()


def candidate_of(record: ScoreRecord, line: bytes) -> Candidate:
    """A record with the metrics of the catalogue."""
    return _READER.candidate(record, line)
