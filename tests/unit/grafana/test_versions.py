"""The annotation of a new version of an application, as promtool evaluates it."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.dashboards import CHOSEN, annotation_queries, dashboards, filled
from tests.stages.promtool import promtool

SEEN_S = 600


def test_a_new_version_is_marked_at_its_first_minute(tmp_path: Path) -> None:
    """Once, though two exporters say it, and at the time that the gauge names."""
    who = 'application="bot", attribute="prompt_version", before="v12", value="v13"'
    labels = f'{who}, change="rolled_back"'
    name = "rag_deployment_changed_timestamp_seconds"
    series = [
        {"series": f'{name}{{instance="{one}", {labels}}}', "values": f"_x12 {SEEN_S}x30"}
        for one in "ab"
    ]
    (written,) = {q.expression for q in annotation_queries() if q.panel == "Versions"}
    expression = filled(written, CHOSEN)
    marked = [{"labels": f'{{{who}, change="rolled back"}}', "value": 1_000 * SEEN_S}]
    tests = [
        {"expr": expression, "eval_time": f"{minute}m", "exp_samples": samples}
        for minute, samples in ((10, []), (14, marked), (30, marked))
    ]
    story = {"interval": "1m", "input_series": series, "promql_expr_test": tests}
    (tmp_path / "story.yml").write_text(yaml.safe_dump({"tests": [story]}))
    found = promtool("test", "rules", tmp_path / "story.yml")
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_marks_lie_where_the_value_says() -> None:
    """On the dashboards of quality and of drift: at the value, and not at the scrape."""
    for name in ("quality", "drift"):
        listed = dashboards()[name]["annotations"]["list"]
        (found,) = (each for each in listed if each["name"] == "Versions")
        assert found["useValueForTime"]
        assert "{{before}} → {{value}} {{change}}" in found["titleFormat"]
