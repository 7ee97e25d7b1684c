"""The first tile of *Quality*, as promtool evaluates it: one word for everything."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from grafana.quality_tiles import STATUS
from tests.dashboards import BUILT_IN, CHOSEN, filled, queries
from tests.unit.rules.promtool import promtool

WHO = 'application="bot", judge="llm@1"'
TWO = ("a", "b")


def story(learning: int = 0, samples: int = 90, alarm: int = 0, breached: int = 0) -> list[str]:
    """What two exporters show, and a second application that is well."""
    values = {
        f'rag_score_samples{{metric="faithfulness", window="1h", {WHO}': samples,
        f"rag_monitor_baseline_learning{{{WHO}": learning,
        f'rag_drift_alarm{{metric="faithfulness", direction="worse", {WHO}': alarm,
        f'rag_objective_breached{{metric="faithfulness", window="1h", {WHO}': breached,
    }
    return [f'{name}, instance="{one}"}} {value}' for name, value in values.items() for one in TWO]


@pytest.mark.parametrize(
    ("word", "series"),
    [
        ("OK", story()),
        ("Learning", story(learning=1)),
        ("No traffic", story(samples=0)),
        ("No traffic", story(samples=0, learning=1)),
        ("Below objective", story(breached=1)),
        ("Worse", story(breached=1, alarm=1)),
        ("Worse", story(alarm=1, samples=0)),
        ("No exporter", []),
    ],
)
def test_the_worst_that_is_the_case_is_said(word: str, series: list[str], tmp_path: Path) -> None:
    """An alarm before a broken objective, before silence, before learning."""
    (expression,) = {
        filled(query.expression, CHOSEN | BUILT_IN)
        for query in queries()
        if (query.dashboard, query.panel) == ("quality", "Status")
    }
    inputs = [
        {"series": name, "values": f"{value}x10"}
        for name, _, value in (each.rpartition(" ") for each in series)
    ]
    (number,) = (number for number, (said, _) in STATUS.items() if said == word)
    expected = [{"labels": "{}", "value": number}]
    case = {"expr": expression, "eval_time": "5m", "exp_samples": expected}
    test = {"interval": "1m", "input_series": inputs, "promql_expr_test": [case]}
    (tmp_path / "story.yml").write_text(yaml.safe_dump({"tests": [test]}))
    found = promtool("test", "rules", tmp_path / "story.yml")
    assert found.returncode == 0, found.stdout + found.stderr
