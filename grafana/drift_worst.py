"""Charts of *Drift and incidents*: the worst interactions."""

from __future__ import annotations

from typing import Final

from grafana.changes import AUDIT, linked
from grafana.kinds import lines, table
from grafana.metrics import EVERY_PICK, SHOWN
from grafana.parts import NEUTRAL, Json, Query, Texts, arranged, named, same
from grafana.promql import APPLICATION, increase, rate


def share() -> Json:
    """The share of bad answers, with exemplars."""
    texts = Texts(
        "Share of bad answers",
        "Share of the interactions with a faithfulness of at most 0.5, a noise sensitivity above "
        "it, no answer or no passage (`rag_interaction_score_bucket`). Points are exemplars: "
        "single interactions at their score, with their id, and a link to their audit page where "
        "the data source is set up for it (grafana/README.md).",
        "percentunit",
    )
    every = rate("rag_interaction_score_count", _WHOSE, f'metric=~"{_NAMES}"', APPLICATION)
    low, high = (
        rate("rag_interaction_score_bucket", _WHOSE, f'metric=~"{names}"', _HALF, APPLICATION)
        for names in (_LOW, _HIGH)
    )
    expression = f"({low} / {every} or 1 - {high} / {every}) >= 0"
    query = Query(expression, "{{metric}} · {{application}}", exemplars=True)
    return lines(texts, query, min=0, max=1, points=80)


def bad() -> Json:
    """How many bad answers there were."""
    bad_low = _counted("bucket", _LOW, _HALF)
    bad_high = f"{_counted('count', _HIGH)} - {_counted('bucket', _HIGH, _HALF)}"
    texts = Texts(
        "Bad answers in the time shown",
        "Interactions with a faithfulness of at most 0.5, a noise sensitivity above it, no answer "
        "or no passage, and of how many (`rag_interaction_score_bucket`, "
        "`rag_interaction_score_count`). With the variable Audit pages set, each row has a link to "
        "the interactions themselves.",
        decimals=0,
    )
    return table(
        texts,
        Query(linked(f"({bad_low} or {bad_high})"), instant=True, table=True),
        Query(linked(f"({_counted('count', _NAMES)})"), instant=True, table=True),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(_BAD),
        ],
        steps=NEUTRAL,
        overrides=[
            named("metric", custom__width=230),
            named("bad", custom__width=80),
            named("of", custom__width=80),
            AUDIT,
        ],
        options={"sortBy": [{"displayName": "bad", "desc": True}]},
    )


_HALF: Final = 'le="0.5"'
_WHOSE: Final = "application, metric"
_METRICS: Final = (*SHOWN, *EVERY_PICK)
_NAMES: Final = "|".join(metric.name for metric in _METRICS)
_LOW: Final = "|".join(metric.name for metric in _METRICS if metric.higher_is_better)
_HIGH: Final = "|".join(metric.name for metric in _METRICS if not metric.higher_is_better)
_BAD: Final = {
    **same("application", "metric"),
    "Value #A": "bad",
    "Value #B": "of",
    "audit": "Audit",
}


def _counted(ending: str, names: str, *matchers: str) -> str:
    name = f"rag_interaction_score_{ending}"
    return increase(name, f'metric=~"{names}"', *matchers, APPLICATION, by=_WHOSE)
