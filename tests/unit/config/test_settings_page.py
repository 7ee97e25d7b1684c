"""What docs/settings.md shows can be loaded, and does what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.config import Settings, load, paths
from monitor.config.rules import OPERATORS

PAGE = (Path(__file__).parents[3] / "docs/settings.md").read_text(encoding="utf-8")


def block(number: int, directory: Path) -> Settings:
    """The settings of one of its examples."""
    file = directory / "config.yaml"
    file.write_text(re.findall(r"```yaml\n(.*?)```", PAGE, re.S)[number], encoding="utf-8")
    return load({}, file)


def test_the_rules_load(tmp_path: Path) -> None:
    """Each operator is explained, and the example has its rules in both lists."""
    ingest = block(0, tmp_path).ingest
    assert [rule.operator for rule in ingest.include] == ["in", "regex"]
    assert [rule.operator for rule in ingest.exclude] == ["exists", "equals"]
    assert re.findall(r"^\| `(\w+)` \| (?:is|equals)", PAGE, re.M) == list(OPERATORS)


def test_the_applications_load(tmp_path: Path) -> None:
    """A judge of its own, a share for the rest, and none at all."""
    first, second, third = block(1, tmp_path).effective
    assert (first.judge.label_name, first.sampling.rate) == ("strict", 1.0)
    assert first.objective[0].minimum_samples == 50
    assert (second.judge.kind, second.sampling.rate) == ("offline", 0.1)
    assert second.segment == ("prompt_version",)
    assert second.metrics == ("faithfulness", "hallucination")
    assert third.sampling.rate == 0


@pytest.mark.parametrize("name", sorted(set(re.findall(r"RAG_MONITOR_[A-Z0-9_]+", PAGE))))
def test_its_variables_exist(name: str) -> None:
    """Numbers stand for entries of lists."""
    path = name.removeprefix("RAG_MONITOR_").removesuffix("_FILE").lower().replace("__", ".")
    assert any(path == known or path.startswith(f"{known}.0.") for known, _ in paths())
