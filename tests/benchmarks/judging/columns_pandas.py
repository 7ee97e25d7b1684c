"""What pandas says of the columns of a file of score records; runs in an environment that has it.

    python columns_pandas.py SCORES.jsonl

Prints its version, and for each metric what ``describe()`` gives with the number of empty cells.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd


def main() -> None:
    """Of the file that is named."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    frame = pd.DataFrame([_row(json.loads(line)["scores"]) for line in lines])
    columns = {name: frame[name].dropna() for name in frame}
    found = {
        name: {
            "n": int(column.count()),
            "mean": float(column.mean()),
            "median": float(column.median()),
            "min": float(column.min()),
            "max": float(column.max()),
            "deviation": float(column.std()),
            "lower_quartile": float(column.quantile(0.25)),
            "upper_quartile": float(column.quantile(0.75)),
        }
        for name, column in columns.items()
        if len(column)
    }
    print(json.dumps({"version": pd.__version__, "columns": found}))


def _row(scores: dict[str, object]) -> dict[str, float | None]:
    """A column each; what has no value is an empty cell."""
    return {
        name: float(score) if isinstance(score, int | float) else None
        for name, score in scores.items()
    }


if __name__ == "__main__":
    main()
