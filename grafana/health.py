"""*Monitor health*: does the monitor itself see everything, and in time?"""

from __future__ import annotations

from grafana.frame import Band, Section, dashboard
from grafana.health_flow import ENDS, IN_TIME
from grafana.health_rest import KAFKA, LEFT_OUT, PROCESSES
from grafana.health_tiles import tiles
from grafana.parts import Json
from grafana.pauses import band, pauses


def health() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-health",
        "RAG / Monitor health",
        "Does the monitor itself see everything, in time, and without losing any of it?",
        [
            Section("", [Band(5, tiles()), band()]),
            Section("Every interaction ends", [Band(8, [(8, p()) for p in ENDS])]),
            Section("In time", [Band(8, [(6, p()) for p in IN_TIME])]),
            Section("Kafka", [Band(7, [(6, p()) for p in KAFKA])]),
            Section("Left out", [Band(7, [(6, p()) for p in LEFT_OUT])]),
            Section("Processes", [Band(7, [(6, p()) for p in PROCESSES])]),
        ],
        annotations=[pauses()],
    )
