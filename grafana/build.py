"""Writes ``grafana/dashboards/*.json``; ``--check`` only says whether they are as built.

``python -m grafana.build [--check]``; exit code 1 when ``--check`` finds a difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

# So that ``python grafana/build.py`` finds its own and the monitor's packages, too.
sys.path.insert(0, str(Path(__file__).parents[1]))

from grafana.drift import drift
from grafana.health import health
from grafana.judge import judge
from grafana.parts import Json
from grafana.quality import quality

FOLDER: Final = Path(__file__).parent / "dashboards"
DASHBOARDS: Final[dict[str, Callable[[], Json]]] = {
    "quality": quality,
    "drift": drift,
    "judge": judge,
    "health": health,
}


def built() -> dict[str, str]:
    """File name → text; the same at every run."""
    return {
        f"{name}.json": json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
        for name, make in DASHBOARDS.items()
    }


def differences(folder: Path = FOLDER) -> list[str]:
    """Names of the files that are not as built, are missing, or belong to no dashboard."""
    made = built()
    present = {path.name: path.read_text("utf-8") for path in folder.glob("*.json")}
    return sorted(n for n in made.keys() | present.keys() if made.get(n) != present.get(n))


def main(arguments: list[str]) -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(arguments).check
    differing = differences()
    if check:
        for name in differing:
            print(f"grafana/dashboards/{name} is not as built: python -m grafana.build")
        return 1 if differing else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in built().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
