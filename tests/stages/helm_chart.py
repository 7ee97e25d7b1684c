"""Renders a chart and validates what comes out, in the tools' environment: .venv-tools.

``python tests/stages/helm_chart.py CHART`` takes a JSON list of values on stdin. On stdout it gives
a list of answers: ``{"error": …}``, or ``{"manifests": {template: text}, "invalid": […], "lint":
[…]}`` with what Kubernetes would refuse and what Helm's linter says. No cluster and no network.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import helm_python
import kubernetes_validate
import yaml

KUBERNETES = ("1.29", "1.34")
NAMESPACE = "rag"


def tried(chart: helm_python.Chart, path: str, values: dict[str, Any]) -> dict[str, Any]:
    """What a chart gives with some values."""
    try:
        chart.validate_schema(values)
        manifests = chart.render(values, name="prod", namespace=NAMESPACE)
    except helm_python.HelmError as error:
        return {"error": str(error)}
    report = helm_python.lint(path, values, strict=True, namespace=NAMESPACE)
    return {
        "manifests": manifests,
        "invalid": [fault for text in manifests.values() for fault in faults(text)],
        # 1 is what would be nice to have, like an icon.
        "lint": [each["error"] for each in report["messages"] if each["severity"] > 1],
    }


def faults(text: str) -> list[str]:
    """What Kubernetes' own schemas say, strictly; kinds of CRDs have none there."""
    found = []
    for document in yaml.load_all(text, yaml.CSafeLoader) if "apiVersion:" in text else ():
        for version in KUBERNETES if document else ():
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.SchemaNotFoundError:
                continue
            except kubernetes_validate.ValidationError as error:
                place = ".".join(map(str, error.path))
                found.append(f"{document['kind']} ({version}) {place}: {error.message}"[:300])
    return found


def main() -> None:
    """Answer all of them at once: the renderer takes a second to load."""
    path = sys.argv[1]
    chart = helm_python.Chart.load(path)
    json.dump([tried(chart, path, values) for values in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
