"""Pieces of PromQL that several rules have in common."""

from __future__ import annotations

from collections.abc import Sequence


def grown(counter: str, window: str) -> str:
    """How much a counter has grown within a window, process by process.

    ``increase`` needs two values of a series: where a counter with labels begins with its first
    event, that event would not count. So what was not there before the window counts in full.
    """
    return f"(({counter} unless {counter} offset {window}) or increase({counter}[{window}]))"


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
