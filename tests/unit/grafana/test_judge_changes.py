"""The annotation of a new judge, as promtool evaluates it."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.dashboards import CHOSEN, annotation_queries, filled
from tests.stages.promtool import promtool

LENGTH = 120
CHANGE = 60


def test_a_new_judge_is_an_annotation_and_the_first_one_is_not(tmp_path: Path) -> None:
    """From the change on for five minutes; not at the start, nor when an exporter was away."""
    labels = 'model="m", prompts="p", pipeline="joint"'
    series = {
        # Away for a quarter of an hour: what comes back is not new.
        f'rag_judge_info{{judge="llm@1", instance="a", {labels}}}': f"1x30 _x14 1x{LENGTH}",
        f'rag_judge_info{{judge="llm@2", instance="a", {labels}}}': f"_x{CHANGE} 1x{LENGTH}",
        f'rag_judge_info{{judge="llm@2", instance="b", {labels}}}': f"_x{CHANGE} 1x{LENGTH}",
    }
    new = [{"labels": f'{{judge="llm@2", {labels}}}', "value": 1}]
    (written,) = {q.expression for q in annotation_queries() if q.panel == "Judge changes"}
    expression = filled(written, CHOSEN)
    tests = [
        {"expr": expression, "eval_time": f"{minute}m", "exp_samples": samples}
        for minute in (0, 4, 10, 35, 46, CHANGE - 1, CHANGE, CHANGE + 4, CHANGE + 10, LENGTH)
        for samples in [new if 0 <= minute - CHANGE < 5 else []]
    ]
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    story = {"interval": "1m", "input_series": inputs, "promql_expr_test": tests}
    (tmp_path / "story.yml").write_text(yaml.safe_dump({"tests": [story]}))
    found = promtool("test", "rules", tmp_path / "story.yml")
    assert found.returncode == 0, found.stdout + found.stderr
