"""What is paused by ``rag-monitor pause``: on every dashboard, so that silence has its reason."""

from __future__ import annotations

from typing import Final

from grafana.frame import Band, annotation
from grafana.kinds import tile
from grafana.parts import GOOD, NEUTRAL, WORSE, Json, Query, Texts
from grafana.promql import or_unknown

#: One series an application; the one of all of them, ``*``, in words.
PAUSED: Final = (
    'label_replace(max by (application) (rag_monitor_paused), "application", "all applications", '
    '"application", "[*]")'
)
_TEXTS: Final = Texts(
    "Paused by hand",
    "`rag_monitor_paused`: an application that is not judged, by `rag-monitor pause`. "
    "Its interactions end as not_sampled, paused, and its gauges grow old. Until when "
    "says the page `/` of every process; `rag-monitor resume` ends it.",
)


def band() -> Band:
    """The line below the first row of a dashboard."""
    nothing = 'label_replace(0 * max(rag_monitor_ready), "application", "Nothing", "", "")'
    query = Query(
        or_unknown(f"{PAUSED} or on () {nothing}", "application", "Unknown"),
        "{{application}}:",
        instant=True,
    )
    words = {0.0: ("judging goes on", GOOD), 1.0: ("paused", WORSE)}
    found = tile(
        _TEXTS,
        query,
        trend=False,
        named_value=True,
        words=words,
        absent="no process is seen",
        steps=NEUTRAL,
    )
    found["options"]["orientation"] = "auto"
    # Beside each other, and not at the two ends of a line as wide as the page.
    found["options"]["justifyMode"] = "center"
    found["options"]["text"] = {"titleSize": 14, "valueSize": 14}
    return Band(2, [(24, found)])


def pauses() -> Json:
    """From the beginning of a pause to its end."""
    return annotation(
        "Pauses",
        WORSE,
        PAUSED,
        "Judging of {{application}} is paused",
        "rag-monitor resume ends it",
    )
