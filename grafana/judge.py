"""*Judge and budget*: does the judge answer, can it be trusted, and what does it cost?"""

from __future__ import annotations

from grafana.frame import Band, Section, dashboard, judge_changes
from grafana.judge_bursts import BURSTS
from grafana.judge_calls import MONEY, calls, latency, whole
from grafana.judge_tiles import tiles
from grafana.judge_trust import (
    agreement,
    cache,
    canaries,
    checks,
    errors,
    failures,
    judges,
    retries,
    yes_shares,
)
from grafana.parts import Json
from grafana.pauses import band, pauses


def judge() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-judge",
        "RAG / Judge and budget",
        "Does the judge answer, can its verdicts be trusted, and what do they cost?",
        [
            Section("", [Band(5, tiles()), band()]),
            Section("Calls", [Band(8, [(8, calls()), (8, latency()), (8, whole())])]),
            Section("Money and limits", [Band(8, [(6, panel()) for panel in MONEY])]),
            Section("Failures", [Band(8, [(8, failures()), (8, errors()), (8, retries())])]),
            Section(
                "Trust",
                [
                    Band(8, [(8, agreement()), (8, checks()), (8, cache())]),
                    Band(8, [(12, canaries()), (12, yes_shares())]),
                ],
            ),
            Section("Bursts", [Band(7, [(8, panel()) for panel in BURSTS])]),
            Section("Judges", [Band(5, [(24, judges())])]),
        ],
        annotations=[judge_changes(), pauses()],
    )
