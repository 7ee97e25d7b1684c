"""All applications and metrics in a table, the nearest to an alarm first."""

from __future__ import annotations

from typing import Final

from grafana.kinds import table
from grafana.metrics import NAMES
from grafana.parts import (
    NEUTRAL,
    TO_ALARM,
    Json,
    Query,
    Texts,
    arranged,
    matching,
    named,
    same,
    thresholds,
)
from grafana.promql import WHO, WINDOW, nearness, once

#: Columns of the overview beside evidence; all but the last are of the window.
COLUMNS: Final = tuple(
    f"rag_score{end}" for end in ("", "_lower", "_upper", "_samples", "_baseline")
)
_HEADINGS: Final = ("score", "low", "high", "n", "baseline")


def _row(name: str) -> str:
    """The metrics with panels of their own, and whatever else has a baseline."""
    pair = "metric, application, judge"
    matchers = [WHO] if name == "rag_score_baseline" else [WHO, WINDOW]
    own = once(name, f'metric=~"{NAMES}"', *matchers)
    watched = f"{once(name, *matchers)} and on ({pair}) rag_score_baseline"
    return f"max by ({pair}) ({own} or {watched})"


def overview() -> Json:
    """One row an application, metric and judge."""
    evidence = f"max by (metric, application, judge) ({nearness(WHO)})"
    headings = {f"Value #{ref}": h for ref, h in zip("BCDEF", _HEADINGS, strict=True)}
    columns = {**same("application", "metric"), "Value #A": "evidence", **headings}
    texts = Texts(
        "Applications, nearest to an alarm first",
        "One row an application, metric and judge: `rag_score` over the chosen window with its "
        "95 % interval (`rag_score_lower`, `rag_score_upper`) and number (`rag_score_samples`), "
        "what is normal (`rag_score_baseline`), and `rag_drift_evidence` / `rag_drift_threshold`: "
        "100 % is an alarm.",
        decimals=3,
    )
    return table(
        texts,
        Query(evidence, instant=True, table=True),
        *(Query(_row(name), instant=True, table=True) for name in COLUMNS),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(columns | same("judge")),
        ],
        options={"sortBy": [{"displayName": "evidence", "desc": True}]},
        steps=NEUTRAL,
        overrides=[
            named("metric", custom__width=230),
            matching("/^(score|low|high|n|baseline|evidence)$/", custom__width=95),
            named("n", decimals=0),
            named(
                "evidence",
                unit="percentunit",
                decimals=0,
                thresholds=thresholds(_LIT),
                custom__cellOptions={"type": "color-background", "mode": "basic"},
                noValue="not watched yet",
            ),
        ],
    )


#: In a table, only what is doubtful has a colour.
_LIT: Final = ((None, "transparent"), *TO_ALARM[1:])
