"""What changed, in a sentence, and the way from there to the interactions themselves."""

from __future__ import annotations

from typing import Final

from grafana.frame import PAUSED
from grafana.kinds import DASH, headline, table
from grafana.metrics import PLAIN_CELLS
from grafana.parts import (
    DOUBT,
    NEUTRAL,
    PLAIN,
    WORSE,
    Json,
    Texts,
    arranged,
    named,
    rows,
    same,
)
from grafana.promql import WHO, WINDOW, nearness, once, or_unknown, plainly

DETECTOR: Final = "metric, application, judge"
NOTHING: Final = "No alarm is open"
SOON: Final = "An alarm is open; what changed is still to be told."
LEARNING: Final = "Nothing is watched yet: what is normal is still learned."
NOBODY: Final = "No exporter is seen."
#: The colours of the sentence: an alarm is 1, what is to be known is 0.5, all is well is 0.
_TOLD: Final = ((None, PLAIN), (0.5, DOUBT), (1.0, WORSE))


def what_changed() -> Json:
    """The sentence of the strongest alarm; without one, how near the nearest is."""
    texts = Texts(
        "What changed",
        "While alarms are open, the sentence of the one with the most evidence (label `answer` of "
        "`rag_drift_change_info`) and how many there are: from what to what, since when, whether "
        "the judge fails more often, what the traffic mix explains, and the segment that differs "
        "from the others. Else what has no value any more (`rag_quality_missing`), else "
        "the metric and application that are nearest to an alarm (`rag_drift_evidence` / "
        "`rag_drift_threshold`), or what is paused (`rag_monitor_paused`).",
    )
    soon = f"1 + 0 * (sum({once('rag_drift_alarm', WHO)}) > 0)"
    learning = f"0 * sum({once('rag_score_samples', WHO, WINDOW)})"
    parts = (
        _told(),
        _said(soon, SOON),
        _missing(),
        _paused(),
        _calm(),
        _said(learning, LEARNING),
        _said("vector(0.5)", NOBODY),
    )
    return headline(texts, " or on () ".join(parts), steps=_TOLD)


def _told() -> str:
    """The strongest alarm's sentence, and of how many; at least 1: evidence may have fallen since.

    One, as two would be cut off where a sentence takes two lines. The table names them all.
    """
    told = f"max by ({DETECTOR}, answer) (rag_drift_change_info{{{WHO}}})"
    near = f"max by ({DETECTOR}) ({nearness(WHO)})"
    strongest = f"clamp_min(topk(1, {told} * on ({DETECTOR}) group_left () {near} or {told}), 1)"
    number = f'count_values("alarms", count({told}))'
    plain = plainly(strongest, "answer", "{} of $1", "{} of (.*)")
    counted = f"({plain}) * on () group_left (alarms) {number}"
    joined = f'label_join({counted}, "answer", "|", "alarms", "answer")'
    alone = f'label_replace({joined}, "answer", "$1", "answer", "1[|](.*)")'
    return f'label_replace({alone}, "answer", "{_OF_SEVERAL}", "answer", "([0-9]+)[|](.*)")'


_OF_SEVERAL: Final = "The strongest of $1 alarms: $2"


def _said(expression: str, sentence: str) -> str:
    return f'label_replace({expression}, "answer", "{sentence}", "", "")'


def _missing() -> str:
    """What has no value opens no alarm, however bad it is."""
    gone = plainly(
        f"topk(1, max by (metric, application) ({once('rag_quality_missing', WHO)}) > 0)"
    )
    sentence = "$1 of $2: no value any more, so that no alarm can open."
    joined = f'label_join({gone}, "answer", "|", "metric", "application")'
    return f'label_replace({joined}, "answer", "{sentence}", "answer", "(.*)[|](.*)")'


def _paused() -> str:
    sentence = "Judging of $1 is paused by hand: rag-monitor resume ends it."
    chosen = f"0.5 * topk(3, {PAUSED.replace('rag_monitor_paused', _OF_CHOSEN)})"
    return f'label_replace({chosen}, "answer", "{sentence}", "application", "(.+)")'


_OF_CHOSEN: Final = 'rag_monitor_paused{application=~"$application|[*]"}'


def _calm() -> str:
    """PromQL makes a label of a number by ``count_values`` alone."""
    near = plainly(f"topk(1, max by (metric, application) ({nearness(WHO)}))")
    share = f'0 * count_values by (metric, application) ("share", round(100 * {near}))'
    parts = f'label_join({share}, "answer", "|", "metric", "application", "share")'
    sentence = "Within normal. Nearest: $1 of $2, $3 % of what opens an alarm."
    return f'label_replace({parts}, "answer", "{sentence}", "answer", "(.*)[|](.*)[|](.*)")'


def open_alarms() -> Json:
    """One row an open alarm: since when, how strong, and the interactions behind it."""
    since = once("rag_drift_change_since_timestamp_seconds", WHO)
    of_open = f"max by ({DETECTOR}) (rag_drift_alarm{{{WHO}}}) > 0"
    strength = f"max by ({DETECTOR}) ({nearness(WHO)}) and on ({DETECTOR}) ({of_open})"
    texts = Texts(
        "Open alarms",
        "One row an open `rag_drift_alarm`: the estimated start of its change "
        "(`rag_drift_change_since_timestamp_seconds`; look for what was rolled out then) and its "
        "evidence as a share of what opens an alarm (`rag_drift_evidence` / "
        "`rag_drift_threshold`). With the variable Audit pages set, a link to the interactions.",
    )
    nothing = "metric", NOTHING
    return table(
        texts,
        rows(linked(or_unknown(f"1000 * max by ({DETECTOR}) ({since})", *nothing))),
        rows(linked(or_unknown(strength, *nothing))),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(_ALARMS),
        ],
        steps=NEUTRAL,
        overrides=[
            named("metric", mappings=PLAIN_CELLS),
            named("since", unit="dateTimeAsIso", custom__width=180, mappings=DASH),
            named("of an alarm", unit="percentunit", decimals=0, custom__width=110, mappings=DASH),
            AUDIT,
        ],
    )


_ALARMS: Final = {
    **same("metric", "application"),
    "Value #A": "since",
    "Value #B": "of an alarm",
    **same("judge"),
    "audit": "Audit",
}
AUDIT: Final = named(
    "Audit",
    custom__width=90,
    links=[{"title": "Interactions", "url": "${__value.raw}", "targetBlank": True}],
    mappings=[{"type": "regex", "options": {"pattern": ".+", "result": {"text": "open"}}}],
)


def linked(expression: str) -> str:
    """With a label ``audit``: the page of an application's interactions; none without a URL."""
    page = "${audit_url}/interactions?application=$1"
    everywhere = f'label_replace({expression}, "audit", "{page}", "application", "(.+)")'
    return f'label_replace({everywhere}, "audit", "", "audit", "/.*")'
