"""Renders a chart and validates what comes out, in the tools' environment: .venv-tools.

``python tests/stages/helm_chart.py CHART VERSION…`` takes a JSON list of pairs on stdin: the name
of a release, and values. On stdout it gives a list of answers: ``{"error": …}``, or ``{"manifests":
{template: text}, "invalid": […], "lint": […]}`` with what these versions of Kubernetes would refuse
and what Helm's linter says. No cluster and no network.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

import helm_python
import yaml

# jsonschema has it build parsers of addresses, a third of all the time that is taken here. No
# format in Kubernetes' schemas needs them.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
import kubernetes_validate  # noqa: E402
from kubernetes_validate import utils  # noqa: E402

# Else both files of a schema are read anew for each document, and one has all kinds in it.
utils.schema_contents = cache(utils.schema_contents)
NAMESPACE = "rag"


class Strict(yaml.CSafeLoader):
    """Refuses a key that stands twice in one mapping, as the API server does."""


def _mapping(loader: yaml.CSafeLoader, node: yaml.MappingNode, deep: bool = False) -> Any:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(
                "a mapping", node.start_mark, f"key {key} twice", node.start_mark
            )
    return yaml.CSafeLoader.construct_mapping(loader, node, deep)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def tried(
    chart: helm_python.Chart, path: str, release: str, values: dict[str, Any]
) -> dict[str, Any]:
    """What a chart gives with some values."""
    try:
        chart.validate_schema(values)
        manifests = chart.render(values, name=release, namespace=NAMESPACE)
    except helm_python.HelmError as error:
        return {"error": str(error)}
    report = helm_python.lint(path, values, strict=True, namespace=NAMESPACE)
    return {
        "manifests": manifests,
        "invalid": [fault for text in manifests.values() for fault in faults(text)],
        # 1 is what would be nice to have, like an icon.
        "lint": [each["error"] for each in report["messages"] if each["severity"] > 1],
    }


@cache  # most templates give the same in most cases
def faults(text: str) -> list[str]:
    """What Kubernetes' own schemas say, strictly; kinds of CRDs have none there."""
    found = []
    try:
        documents = list(yaml.load_all(text, Strict)) if "apiVersion:" in text else []
    except yaml.YAMLError as error:
        return [str(error)]
    for document in documents:
        for version in sys.argv[2:] if document else ():
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
    asked = json.load(sys.stdin)
    json.dump([tried(chart, path, release, values) for release, values in asked], sys.stdout)


if __name__ == "__main__":
    main()
