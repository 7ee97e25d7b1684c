"""What of docs/metrics.md is the catalogue: two tables between marks.

``python -m tests.metrics_page`` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from monitor.metrics.catalogue import CATALOGUE, Metric

PAGE: Final = Path(__file__).parents[1] / "docs/metrics.md"
_FORMULAS = (
    "| metric | meaning | formula | good | needs | usual | says nothing | same as |\n"
    "|---|---|---|---|---|---|---|---|\n"
)
_IMPROVE = "| metric | where it is bad |\n|---|---|\n"


def _formula(metric: Metric) -> str:
    needs = {"passages": metric.needs_contexts, "reference": metric.needs_reference}
    cells = (
        f"`{metric.name}`",
        metric.meaning.removesuffix("."),
        metric.formula,
        {True: "high", False: "low", None: "–"}[metric.higher_is_better],
        ", ".join(name for name, needed in needs.items() if needed),
        "{:g}–{:g}".format(*metric.typical),
        metric.says_nothing,
        metric.same_as,
    )
    return "| " + " | ".join(cells) + " |\n"


def _improve(metric: Metric) -> str:
    names = sorted(CATALOGUE, key=len, reverse=True)
    linked = re.sub(
        rf"\b({'|'.join(name for name in names if '_' in name)})\b", r"`\1`", metric.improve
    )
    return f"| `{metric.name}` | {linked} |\n"


def tables() -> Mapping[str, str]:
    """The lines of each table by its mark."""
    return {
        "catalogue": _FORMULAS + "".join(map(_formula, CATALOGUE.values())),
        "improve": _IMPROVE + "".join(map(_improve, CATALOGUE.values())),
    }


def written(page: str) -> str:
    """The page with its tables as the catalogue says; ``ValueError`` for a missing mark."""
    for mark, table in tables().items():
        begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"no {begin.strip()} … {end}")
        page = f"{before}{begin}{table}{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
