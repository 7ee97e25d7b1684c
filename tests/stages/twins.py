"""The gauges of an application, to be held against those of its twin in our own JSON."""

from __future__ import annotations

from typing import Final

from tests.stages.process import Samples

GAUGES: Final = ("rag_score", "rag_score_lower", "rag_score_upper", "rag_score_samples")


def gauges(samples: Samples, application: str) -> dict[tuple[str, ...], float]:
    """All gauges of an application, by metric and window."""
    return {
        (gauge, dict(labels)["metric"], dict(labels)["window"]): value
        for (gauge, labels), value in samples.items()
        if gauge in GAUGES and dict(labels)["application"] == application
    }
