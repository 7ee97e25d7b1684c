"""The labelled pairs that come with the package."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from monitor.judge_check.formats import read
from monitor.judge_check.shipped import NAME, shipped_pairs
from tests.stages.command import rag_monitor

PAIRS = [json.loads(line) for line in shipped_pairs().splitlines()]
PHENOMENA = {
    "arithmetic",
    "condition",
    "date",
    "embedded_instruction",
    "hedge",
    "name_swap",
    "negation",
    "number",
    "paraphrase",
    "scope",
    "several_passages",
    "shared_topic",
    "translation",
    "true_but_unstated",
    "unit",
}
PAGE = Path(__file__).parents[3] / "docs/offline-judge.md"


def test_every_phenomenon_has_both_labels_in_both_languages() -> None:
    """At least ten supported and ten not for each of the 15, half of them in each language."""
    labels = Counter((pair["phenomenon"], pair["supported"]) for pair in PAIRS)
    assert set(labels) == {(name, label) for name in PHENOMENA for label in (True, False)}
    assert len(PAIRS) >= 300
    assert min(labels.values()) >= 10
    languages = Counter((p["phenomenon"], p["supported"], p["language"]) for p in PAIRS)
    assert min(languages.values()) >= 5
    assert len(languages) == 2 * len(labels)


def test_every_pair_is_its_own() -> None:
    """No id and no claim on a text twice, and all are read."""
    labelled, files = read({NAME: shipped_pairs()})
    assert [(each.name, each.format) for each in files] == [(NAME, "pairs")]
    assert len({each.interaction.interaction_id for each in labelled}) == len(PAIRS)
    assert len({(p["claim"], *p["passages"]) for p in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p["phenomenon"] == "several_passages"])
def test_several_passages_are_several(pair: dict[str, list[str]]) -> None:
    """What takes several passages together has several."""
    assert len(pair["passages"]) >= 2


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: str(pair["id"]))
def test_the_language_is_that_of_the_claim(pair: dict[str, str]) -> None:
    """And where a claim is a translation, the text is in the other one."""
    chinese = re.compile("[\u4e00-\u9fff]")
    is_chinese = pair["language"] == "zh"
    assert bool(chinese.search(pair["claim"])) == is_chinese
    in_text = bool(chinese.search("".join(pair["passages"])))
    assert in_text == (is_chinese != (pair["phenomenon"] == "translation"))


def test_the_page_has_the_offline_judges_figures() -> None:
    """Accuracy and AUC by phenomenon and over all are what the command measures without a file."""
    result = rag_monitor("judge-check", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    (judge,) = json.loads(result.stdout)["judges"]
    groups = judge["by"]["phenomenon"]["response_by_context"]
    measured = {f"`{name}`": group for name, group in groups.items()}
    measured["all"] = judge["kinds"]["response_by_context"]
    table = PAGE.read_text(encoding="utf-8").split("shipped-pairs -->")[1]
    told = re.findall(r"\| (`\w+`|all) \| (\d\.\d{3}) \| (\d\.\d{3})", table)
    assert {name: (accuracy, area) for name, accuracy, area in told} == {
        name: (f"{g['agreement']['accuracy']['value']:.3f}", f"{g['auc']['value']:.3f}")
        for name, g in measured.items()
    }
