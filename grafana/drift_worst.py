"""Charts of *Drift and incidents*: the worst interactions."""

from __future__ import annotations

from typing import Final

from grafana.changes import AUDIT, linked
from grafana.kinds import lines, table
from grafana.metrics import EVERY_PICK, PLAIN_CELLS, SHOWN
from grafana.parts import NEUTRAL, PLAIN, Json, Query, Texts, arranged, fixed, named, rows, same
from grafana.promql import APPLICATION, at_end, increase, plainly, rate


def share() -> Json:
    """The share of bad answers, and of the worst ones with exemplars."""
    texts = Texts(
        "Share of bad answers",
        "Share of the interactions with a faithfulness of at most 0.5, a noise sensitivity above "
        "it, no answer or no passage (`rag_interaction_score_bucket`); thin: the highest share "
        "with the worst score of all, 0 or above 0.9. Points are exemplars of the worst: single "
        "interactions at their score, with their id, and a link to their audit page where the "
        "data source is set up for it (grafana/README.md). Of the ten metrics and applications "
        "with the most bad answers in the time shown.",
        "percentunit",
    )
    every = _rate("count", _NAMES)
    bad_low, worst_low = (_rate("bucket", _LOW, bound) for bound in (_HALF, 'le="0.0"'))
    good_high, nine, all_high = (
        _rate("bucket", _HIGH, bound) for bound in (_HALF, 'le="0.9"', 'le="1.0"')
    )
    ten = f"and on ({_WHOSE}) topk(10, {at_end(_all_bad())})"
    shares = f"({bad_low} / {every} or 1 - {good_high} / {every}) >= 0 {ten}"
    # Exemplars come from every bucket that the query names: none but those of the worst.
    worst = f"max({worst_low} / {every} or ({all_high} - {nine}) / {every}) >= 0"
    return lines(
        texts,
        Query(plainly(shares), "{{metric}} · {{application}}"),
        Query(worst, _THIN, exemplars=True),
        overrides=[named(_THIN, custom__lineWidth=1, custom__lineStyle=_DOTS, color=fixed(PLAIN))],
        min=0,
        max=1,
        points=80,
    )


def _rate(ending: str, names: str, *matchers: str) -> str:
    name = f"rag_interaction_score_{ending}"
    return rate(name, _WHOSE, f'metric=~"{names}"', *matchers, APPLICATION)


def _all_bad() -> str:
    low = _counted("bucket", _LOW, _HALF)
    return f"({low} or {_counted('count', _HIGH)} - {_counted('bucket', _HIGH, _HALF)})"


def bad() -> Json:
    """How many bad answers there were."""
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
        rows(linked(_all_bad())),
        rows(linked(f"({_counted('count', _NAMES)})")),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(_BAD),
        ],
        steps=NEUTRAL,
        overrides=[
            named("metric", mappings=PLAIN_CELLS, custom__width=300),
            named("bad", custom__width=80),
            named("of", custom__width=80),
            AUDIT,
        ],
        options={"sortBy": [{"displayName": "bad", "desc": True}]},
    )


_THIN: Final = "with the worst score, at most"
_DOTS: Final = {"dash": [2, 4], "fill": "dash"}
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
