"""All applications and metrics in a table, the nearest to an alarm first."""

from __future__ import annotations

from typing import Final

from grafana.kinds import table
from grafana.metrics import NAMES, PLAIN_CELLS
from grafana.parts import (
    NEUTRAL,
    TO_ALARM,
    Json,
    Texts,
    arranged,
    matching,
    named,
    rows,
    same,
    thresholds,
)
from grafana.promql import BY, WHO, WINDOW, once, standing

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
    evidence = f"max by (metric, application, judge) ({standing(WHO)})"
    headings = {f"Value #{ref}": h for ref, h in zip("BCDEF", _HEADINGS, strict=True)}
    columns = {**same("application", "metric"), "Value #A": "of an alarm", **headings}
    texts = Texts(
        "Applications, nearest to an alarm first",
        "One row an application, metric and judge: evidence as a share of what opens an alarm "
        "(`rag_drift_evidence` / `rag_drift_threshold`; 100 % is one, and an open "
        "`rag_drift_alarm` is no less), `rag_score` over the chosen window with its 95 % interval "
        "(`rag_score_lower`, `rag_score_upper`) and number (`rag_score_samples`), and what is "
        "normal (`rag_score_baseline`). An application is a link that chooses it.",
        decimals=3,
    )
    return table(
        texts,
        rows(evidence),
        *(rows(_row(name)) for name in COLUMNS),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(columns | same("judge")),
        ],
        options={"sortBy": [{"displayName": "of an alarm", "desc": True}]},
        steps=NEUTRAL,
        overrides=_overrides(),
    )


def _overrides() -> list[Json]:
    return [
        named("application", custom__width=220, links=[_CHOOSE]),
        named("metric", mappings=PLAIN_CELLS, custom__width=330),
        matching("/^(score|low|high|n|baseline|of an alarm)$/", custom__width=95),
        # Also with traffic: a metric that has no value, or has none any more.
        matching("/^(score|low|high)$/", noValue="no value"),
        named("n", decimals=0),
        named(
            "of an alarm",
            unit="percentunit",
            decimals=0,
            thresholds=thresholds(_LIT),
            custom__cellOptions={"type": "color-background", "mode": "basic"},
            noValue="not watched yet",
        ),
    ]


_KEPT: Final = (*BY, "datasource", "judge", "window", "audit_url")
#: The same dashboard with one application; ``__all_variables`` would name a second one.
_CHOOSE: Final = {
    "title": "Only ${__value.raw}",
    "url": "/d/rag-quality?${__url_time_range}&"
    + "&".join(f"${{{name}:queryparam}}" for name in _KEPT)
    + "&var-application=${__value.raw}",
    "targetBlank": False,
}
#: In a table, only what is doubtful has a colour.
_LIT: Final = ((None, "transparent"), *TO_ALARM[1:])
