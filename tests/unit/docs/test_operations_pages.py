"""The pages for who runs it: sizing, Kubernetes, upgrades and failure modes are what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, get_args

import pytest
import yaml
from jsonschema import Draft7Validator

from monitor.config import Settings
from monitor.config.alerting import AlertName
from monitor.config.schema import secret_paths
from tests.pages import blocks
from tests.stages.budgets import BUDGETS, HEAD, cells

ROOT: Final = Path(__file__).parents[3]
OPERATIONS: Final = (ROOT / "docs/operations.md").read_text("utf-8")
KUBERNETES: Final = (ROOT / "docs/kubernetes.md").read_text("utf-8")
FAILURES: Final = (ROOT / "docs/failure-modes.md").read_text("utf-8")


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """All panels of a dashboard, those of collapsed rows, too."""
    return [
        each
        for panel in board["panels"]
        for each in (panel, *(panels(panel) if "panels" in panel else ()))
    ]


def shown() -> dict[str, str]:
    """Title of a panel → all that stands in it, on any dashboard."""
    return {
        panel["title"]: json.dumps(panel, ensure_ascii=False)
        for file in (ROOT / "grafana/dashboards").glob("*.json")
        for panel in panels(json.loads(file.read_text("utf-8")))
        if panel.get("title")
    }


@pytest.mark.parametrize("page", ["failure-modes", "upgrade"])
def test_every_panel_and_its_words_exist(page: str) -> None:
    """Whoever looks for it finds the panel, and the word that it says."""
    there, text = shown(), (ROOT / f"docs/{page}.md").read_text("utf-8")
    titles = set(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", text)) - {"Contracts changed"}
    assert len(titles) > 1
    assert titles - set(there) == set()
    for title, word in re.findall(r"(?<!\*)\*([^*\n]+)\* says \*\*([^*]+)\*\*", text):
        assert f'"{word}"' in there[title], (title, word)


def test_every_alert_has_a_failure_and_a_look() -> None:
    """Each leads from what is seen to its runbook."""
    linked = set(re.findall(r"runbooks/(\w+)\.md", FAILURES))
    assert linked == set(get_args(AlertName))


def test_what_money_buys_is_what_the_plan_says() -> None:
    """Every cell of the table that takes no simulation; ``budget_table.py`` prints them all."""
    assert HEAD in OPERATIONS
    rows = re.findall(r"^\| (\d+) \$ \| (.+) \|$", OPERATIONS, re.MULTILINE)
    assert [int(usd) for usd, _ in rows] == list(BUDGETS)
    for usd, rest in rows:
        assert [f"{usd} $", *rest.split(" | ")][:3] == list(cells(int(usd)))


def test_the_values_shown_pass_the_charts_schema() -> None:
    """An example is taken as it stands, and names no secret outside of ``secrets``."""
    schema = json.loads((ROOT / "deploy/helm/rag-monitor/values.schema.json").read_text("utf-8"))
    (example,) = blocks(KUBERNETES, "yaml")
    values = yaml.safe_load(example)
    assert list(Draft7Validator(schema).iter_errors(values)) == []
    assert set(values["secrets"]["keys"]) <= set(secret_paths())
    settings = Settings.model_validate(
        {**values["config"], "kafka": {**values["config"]["kafka"], "sasl_password": "x"}}
    )
    assert settings.judge.kind == "llm"


def test_the_defaults_on_the_page_are_those_of_the_chart() -> None:
    """Replicas, seconds and versions are those of the values."""
    chart = ROOT / "deploy/helm/rag-monitor"
    values = yaml.safe_load((chart / "values.yaml").read_text("utf-8"))
    assert f"`scorer.replicas` ({values['scorer']['replicas']})" in KUBERNETES
    assert f"`minReadySeconds: {values['scorer']['minReadySeconds']}`" in KUBERNETES
    assert f"`ingest.drain_s` ({Settings().ingest.drain_s:.0f} s)" in KUBERNETES
    (needed,) = re.findall(r">=([\d.]+)\.0-0", (chart / "Chart.yaml").read_text("utf-8"))
    assert f"Kubernetes {needed} or newer" in KUBERNETES
    assert "the namespace `monitoring`" in KUBERNETES
    assert "monitoring" in str(values["networkPolicy"]["from"])
