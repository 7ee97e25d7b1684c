"""Writes what the chart takes from elsewhere; ``--check`` only says whether it is as built.

A chart is packed from its own folder: a link out of it does not survive that, and ``.Files`` reads
nothing outside. So rules and dashboards are copied, byte for byte, and a test holds the copies. The
schema of the values is made of ``values.schema.yaml`` and of that of the settings.

``python deploy/helm/build.py [--check]``; exit code 1 when ``--check`` finds a difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

import yaml

# So that it finds the monitor's package, too.
sys.path.insert(0, str(Path(__file__).parents[2]))

from monitor.config.parts import PART_OF, ROLES
from monitor.config.schema import config_schema, file_paths, secret_paths

ROOT: Final = Path(__file__).resolve().parents[2]
CHART: Final = ROOT / "deploy/helm/rag-monitor"
COPIED: Final = {"files/rules": "deploy/prometheus/rules", "files/dashboards": "grafana/dashboards"}
#: The settings that the rules depend on; a test holds them against ``rag-monitor rules render``.
RULES_DEPEND_ON: Final = (
    "alerts",
    "applications",
    "export.windows",
    "ingest.format",
    "ingest.sources",
    "ingest.when_behind",
    "sampling.block",
    "sampling.rate",
)
#: Secrets of an entry of ``applications``.
OF_ENTRIES: Final = r"^applications\.[0-9]+\.judge\.(api_key|headers|cache\.url)$"


def built() -> dict[str, str]:
    """Path within the chart → text; the same at every run."""
    made = {
        f"{folder}/{path.name}": path.read_text("utf-8")
        for folder, source in COPIED.items()
        for path in sorted((ROOT / source).iterdir())
    }
    made["files/settings.yaml"] = settings_file()
    made["values.schema.json"] = json.dumps(values_schema(), indent=1, ensure_ascii=False) + "\n"
    return made


def settings_file() -> str:
    """What templates must know of the settings."""
    known = {
        "secrets": secret_paths(),
        "files": file_paths(),
        "rules": list(RULES_DEPEND_ON),
        "unused": {  # by role: sections whose secrets it does not use
            role: [section for section, part in PART_OF.items() if part not in uses]
            for role, uses in ROLES.items()
        },
    }
    return "# Written by deploy/helm/build.py.\n" + yaml.safe_dump(known, sort_keys=False)


def values_schema() -> dict[str, Any]:
    """What Helm holds values against; ``config`` refers to the settings' own schema."""
    schema: dict[str, Any] = yaml.safe_load(
        (ROOT / "deploy/helm/values.schema.yaml").read_text("utf-8")
    )
    settings = config_schema()
    definitions = settings.pop("definitions")
    del settings["$schema"], settings["title"]
    schema["definitions"] |= {"ChartConfig": settings, **definitions}
    schema["properties"]["secrets"]["properties"]["keys"]["propertyNames"] = {
        "anyOf": [{"enum": [*secret_paths(), *file_paths()]}, {"pattern": OF_ENTRIES}]
    }
    return schema


def differences() -> list[str]:
    """Paths of the files that are not as built, are missing, or come from nowhere."""
    made = built()
    present = {
        str(path.relative_to(CHART)): path.read_text("utf-8")
        for path in (*CHART.glob("files/**/*"), CHART / "values.schema.json")
        if path.is_file()
    }
    return sorted(n for n in made.keys() | present.keys() if made.get(n) != present.get(n))


def main(arguments: list[str]) -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(arguments).check
    differing = differences()
    if check:
        for name in differing:
            print(f"{CHART.name}/{name} is not as built: python deploy/helm/build.py")
        return 1 if differing else 0
    for name, text in built().items():
        (CHART / name).parent.mkdir(parents=True, exist_ok=True)
        (CHART / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
