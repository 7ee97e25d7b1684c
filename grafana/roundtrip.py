"""Sends the dashboards through Grafana's own types and back: what is lost is unknown to them.

``python -m grafana.roundtrip TYPES [DASHBOARDS]``, where TYPES holds an unpacked
``grafana-foundation-sdk`` (`.ci/fetch-grafana-types` brings the oldest and the next one). There is
one for each version of Grafana, and two cannot be installed beside each other. Exit code 1 when
more is lost than allowed; with ``--json`` all that is lost is printed, allowed or not.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from grafana.build import FOLDER
from grafana.parts import Json

#: What the types do not have, and Grafana reads all the same.
ALLOWED: Final = {
    # Annotations of Prometheus: the data source has fields of its own, which it still migrates.
    "annotations.list.step",
    "annotations.list.tagKeys",
    "annotations.list.textFormat",
    "annotations.list.titleFormat",
    "annotations.list.useValueForTime",
    # What the editor of a variable shows; the query itself is kept.
    "templating.list.definition",
    # Of a dashboard that is not saved yet.
    "id",
}


def losses(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Where ``after`` lacks something of ``before``, or has another value.

    >>> sorted(losses({"a": 1, "b": [{"c": 2}, {"c": 3}]}, {"b": [{"c": 2}, {"c": 4}], "d": 5}))
    ['a', 'b.c']
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            below = f"{path}.{name}" if path else name
            if name in after:
                yield from losses(value, after[name], below)
            else:
                yield below
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from losses(one, other, path)
    elif before != after:
        yield path


def through(sdk: Path, dashboard: Json) -> Json:
    """The dashboard as the types of the SDK in this folder write it again."""
    sys.path.insert(0, str(sdk))
    load = importlib.import_module
    load("grafana_foundation_sdk.cog.plugins").register_default_plugins()
    encoder = load("grafana_foundation_sdk.cog.encoder").JSONEncoder
    read = load("grafana_foundation_sdk.models.dashboard").Dashboard.from_json(dashboard)
    written: Json = json.loads(json.dumps(read, cls=encoder))
    return written


def main(arguments: list[str]) -> int:
    """Tell what is lost of each dashboard."""
    types, *others = [Path(one) for one in arguments if one != "--json"]
    found = {}
    for path in sorted((others[0] if others else FOLDER).glob("*.json")):
        dashboard = json.loads(path.read_text("utf-8"))
        found[path.name] = sorted(set(losses(dashboard, through(types, dashboard))))
    if "--json" in arguments:
        print(json.dumps(found))
        return 0
    for name, all_of_them in found.items():
        lost = [one for one in all_of_them if one not in ALLOWED]
        print(f"{name}: allowed {len(all_of_them) - len(lost)}, lost {lost}")
    return int(any(set(all_of_them) - ALLOWED for all_of_them in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
