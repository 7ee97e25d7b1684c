"""*Monitor health*: does the monitor itself see everything, and in time?"""

from __future__ import annotations

from grafana.frame import Band, Section, dashboard, pauses, releases
from grafana.health_flow import ENDS, IN_TIME
from grafana.health_rest import KAFKA, LEFT_OUT, PROCESSES
from grafana.health_tiles import tiles
from grafana.parts import Json


def health() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-health",
        "RAG / Monitor health",
        "Does the monitor itself see everything, in time, and without losing any of it?",
        [
            Section(
                "",
                [
                    Band(4, tiles()),
                    Band(9, [(12, panel()) for panel in ENDS]),
                    Band(8, [(12, panel()) for panel in IN_TIME]),
                ],
            ),
            Section("Left out", [Band(8, [(8, panel()) for panel in LEFT_OUT])]),
            Section("Kafka", [Band(7, [(12, panel()) for panel in KAFKA])]),
            Section("Processes", [Band(7, [(12, panel()) for panel in PROCESSES])]),
        ],
        chosen=(),
        annotations=[pauses(), releases()],
    )
