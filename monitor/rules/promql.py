"""Pieces of PromQL that several rules have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from monitor.config import seconds

#: What every scorer shows from its start on.
SCORER: Final = "rag_monitor_interactions_in_flight"


def grown(counter: str, window: str, *labels: str) -> str:
    """How much a counter of the scorers has grown within a window, process by process.

    ``increase`` needs two values of a series: where a counter with ``labels`` begins with its first
    event, that event would not count. So what was not there before the window counts in full, if
    its process was, or has started since. Else nobody had looked (Prometheus was away, or is new),
    and what the process has counted in all its life is no news.
    """
    known = f"({SCORER} offset {window} or process_start_time_seconds > time() - {seconds(window)})"
    born = f"({counter} unless {counter} offset {window}) and ignoring ({', '.join(labels)})"
    return f"(({born} {known}) or increase({counter}[{window}]))"


def quoted(labels: Sequence[str]) -> str:
    """Selectors with the values of an alert's own labels, for ``printf`` in a template.

    >>> quoted(["metric", "judge"])
    'metric=%q,judge=%q'
    """
    return ",".join(f"{label}=%q" for label in labels)


def asked(series: str, labels: Sequence[str], then: str, otherwise: str = "") -> str:
    """A template: ``then`` with the first result as its dot, ``otherwise`` without any.

    ``series`` is a name, or an expression with ``SELECTOR`` in it. What cannot ask, like Grafana's
    own alerts, takes ``otherwise``. A value from traffic is quoted, so it cannot end its quotes.
    """
    query = series if "SELECTOR" in series else f"{series}{{SELECTOR}}"
    query = query.replace("SELECTOR", quoted(labels))
    values = "".join(f" $labels.{label}" for label in labels)
    found = f"{{{{ with printf `{query}`{values} | query }}}}{{{{ with . | first }}}}{then}"
    return f"{found}{{{{ end }}}}{{{{ else }}}}{otherwise}{{{{ end }}}}"


def length_s(text: str) -> int:
    """Seconds of a duration that may be none.

    >>> length_s("5m"), length_s("0s")
    (300, 0)
    """
    return seconds(text) if text.strip("0") != "s" else 0


def duration(length: int) -> str:
    """So many seconds, as Prometheus reads and people write them.

    >>> duration(300), duration(90), duration(7200)
    ('5m', '90s', '2h')
    """
    for unit, name in ((3600, "h"), (60, "m")):
        if length % unit == 0:
            return f"{length // unit}{name}"
    return f"{length}s"
