"""What a page says of baselines, in words. Pure."""

from __future__ import annotations

from typing import Final

from monitor.exporter.serve.scraped import DriftReading, Learning
from monitor.metrics.catalogue import CATALOGUE

ALARM: Final = "▲ ALARM"


def learning_words(learning: Learning | None) -> str:
    """How far learning is.

    >>> learning_words(Learning(120, 200, False)), learning_words(None)
    ('learning baseline 120/200', 'learning baseline')
    """
    if learning is None:
        return "learning baseline"
    return f"learning baseline {learning.slots}/{learning.needed}"


def evidence_words(watched: DriftReading | None) -> str:
    """Evidence against threshold, and whether that is an alarm.

    >>> evidence_words(DriftReading(8.1, 7.56, 0.1, True))
    '8.1/7.56 ALARM'
    >>> evidence_words(DriftReading(None, 7.56, 0.1, False)), evidence_words(None)
    ('none/7.56', 'no baseline')
    """
    if watched is None or watched.threshold is None:
        return "no baseline"
    found = "none" if watched.evidence is None else f"{watched.evidence:.1f}"
    return f"{found}/{watched.threshold:.2f}{' ALARM' if watched.alarm else ''}"


def bound(metric: str, baseline: float) -> str:
    """How far a metric may go and still be normal.

    >>> bound("faithfulness", 0.93), bound("hallucination", 0.05)
    ('≥ 0.93', '≤ 0.05')
    """
    sign = "≥" if CATALOGUE[metric].higher_is_better else "≤"
    return f"{sign} {baseline:.2f}"
