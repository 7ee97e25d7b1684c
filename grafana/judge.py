"""*Judge and budget*: does the judge answer, can it be trusted, and what does it cost?"""

from __future__ import annotations

from grafana.frame import Band, Section, dashboard, judge_changes, pauses, releases
from grafana.judge_bursts import bursts
from grafana.judge_calls import MONEY, calls, latency
from grafana.judge_tiles import tiles
from grafana.judge_trust import agreement, cache, canaries, failures, judges
from grafana.parts import Json


def judge() -> Json:
    """The dashboard. What only a model has is collapsed: the offline judge fills none of it."""
    return dashboard(
        "rag-judge",
        "RAG / Judge and budget",
        "Does the judge answer, can its verdicts be trusted, and what do they cost?",
        [
            Section(
                "",
                [
                    Band(4, tiles()),
                    Band(8, [(12, failures()), (12, judges())]),
                ],
            ),
            Section("Calls of a model", [Band(8, [(12, calls()), (6, latency()), (6, cache())])]),
            Section("Money and limits", [Band(8, [(8, panel()) for panel in MONEY])]),
            Section("Trust in a model", [Band(8, [(12, agreement()), (12, canaries())])]),
            Section("Bursts", [Band(8, [(24, bursts())])]),
        ],
        chosen=(),
        annotations=[judge_changes(), pauses(), releases()],
    )
