"""What README and docs say is true: links, names, settings, commands, examples."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
import yaml

from monitor.cli import app
from monitor.config import Settings, load, paths
from monitor.ingest.formats import native
from monitor.judge.offline.judge import OfflineJudge
from monitor.metrics.catalogue import CATALOGUE, score_all
from monitor.records import (
    Judgement,
    Outcome,
    Reason,
    SamplingRecord,
    ScoreRecord,
    Source,
    Unscored,
    read_score_record,
)
from tests import pages
from tests.metric_names import known_metrics, metrics_mentioned_in

ROOT = Path(__file__).parents[3]
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in (
        *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
        ROOT / "tests/README.md",
        *sorted((ROOT / "docs").glob("*.md")),
    )
}
PAGE = pytest.mark.parametrize("page", PAGES)
#: Lists what is wrong, and has a test of its own.
WRONG = "docs/wrong-inputs.md"
PAGE_OF_RIGHT = pytest.mark.parametrize("page", [page for page in PAGES if page != WRONG])
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SOURCE = Source(topic="rag.interactions.v1", partition=0, offset=7)
#: What docs/metrics.md and the README say of their example.
WARRANTY = {
    "faithfulness": 1.0,
    "faithfulness_by_passage": 1.0,
    "noise_sensitivity_relevant": 0.0,
    "noise_sensitivity_irrelevant": 0.5,
    "incorrect_claims": 0.5,
    "hallucination": 0.0,
    "self_knowledge": 0.0,
    "claim_precision": 0.5,
    "claim_recall": 0.5,
    "claim_f1": 0.5,
    "context_recall": 0.5,
    "context_precision": 0.5,
    "context_utilization": 1.0,
    "irrelevant_context_reliance": Unscored.NO_RELEVANCE,
    "answered": 1.0,
    "retrieved": 1.0,
    "answer_relevance": Unscored.NOT_ASKED,
}


def text(page: str) -> str:
    """A page."""
    return PAGES[page].read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Its fenced blocks in one language."""
    return pages.blocks(text(page), language)


def code(page: str) -> list[str]:
    """Its words in code style."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text(page), flags=re.S | re.M))


@PAGE
def test_every_link_leads_somewhere(page: str) -> None:
    """Links are relative, and both the file and the heading are there."""
    for link in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        name, _, anchor = link.partition("#")
        target = (PAGES[page].parent / name).resolve() if name else PAGES[page]
        assert target.exists(), link
        assert not anchor or anchor in pages.anchors(target), link


@PAGE
def test_every_file_in_code_style_is_there(page: str) -> None:
    """Files are moved more often than pages are read."""
    named = re.findall(
        r"\b(?:monitor|tests|docs|deploy|grafana)/[\w/.-]+\.(?:py|md|json|yml|txt)\b", text(page)
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


@PAGE
def test_every_metric_name_is_exported(page: str) -> None:
    """Nobody looks in vain for a series."""
    known = known_metrics()
    families = {name.removesuffix("_bucket") for name in known}
    assert metrics_mentioned_in(text(page)) - known - families == set()


@PAGE_OF_RIGHT
def test_every_setting_exists(page: str) -> None:
    """Paths in code style, of one or of a group, and variables with or without _FILE."""
    known = {path for path, _ in paths()}
    groups = {path[:at] for path in known for at, sign in enumerate(path) if sign == "."}
    sections = "|".join(Settings.model_fields)
    spans = "\n".join(code(page))
    named = set(re.findall(rf"^((?:{sections})\.[a-z_.]+)", spans, re.MULTILINE))
    assert named - known - groups == set()
    variables = set(re.findall(r"RAG_MONITOR_[A-Z][A-Z_]*[A-Z]", text(page)))
    real = {"RAG_MONITOR_" + path.upper().replace(".", "__") for path in known}
    assert {name.removesuffix("_FILE") for name in variables} - real <= {"RAG_MONITOR_CONFIG"}


@PAGE
def test_every_topic_is_a_default(page: str) -> None:
    """The names are those of the settings."""
    defaults = set(Settings().kafka.topics.model_dump().values())
    assert set(re.findall(r"\brag\.[a-z-]+\.v1\b", text(page))) <= defaults


@pytest.mark.parametrize("page", ["docs/getting-started.md", "docs/records.md"])
async def test_the_example_is_an_interaction(page: str) -> None:
    """It decodes with its own time, and the offline judge scores it as the pages say."""
    (example, *_) = blocks(page, "json")
    decoded = native.decode(example.encode(), SOURCE, int(NOON.timestamp() * 1000))
    assert decoded.timestamp_replaced is None
    assert decoded.interaction.event_time == NOON
    judgement = await OfflineJudge().judge(decoded.interaction)
    assert score_all(judgement) == WARRANTY


def test_the_example_is_a_score_record() -> None:
    """It can be read, and nothing of a record is missing in it."""
    example = json.loads(blocks("docs/records.md", "json")[1])
    record = read_score_record(json.dumps(example).encode())
    assert json.loads(record.to_json()) == example
    given = {name: x for name, x in WARRANTY.items() if not isinstance(x, Unscored)}
    assert {name: x for name, x in record.scores.items() if isinstance(x, float)} == given
    unscored = {name: x.unscored for name, x in record.scores.items() if not isinstance(x, float)}
    assert unscored == {name: x for name, x in WARRANTY.items() if isinstance(x, Unscored)}


def test_the_example_is_a_judgement() -> None:
    """Its verdicts give the values of the worked example."""
    (example,) = blocks("docs/metrics.md", "json")
    assert score_all(Judgement.model_validate_json(example)) == WARRANTY


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_the_configuration_loads(page: str, tmp_path: Path) -> None:
    """The smallest file is a valid one, and says what its comments say."""
    file = tmp_path / "monitor.yaml"
    file.write_text(blocks(page, "yaml")[0], encoding="utf-8")
    settings = load({}, file)
    assert settings.kafka.create_topics
    assert (settings.sampling.rate, settings.judge.kind) == (0.1, "llm")
    assert Settings().sampling.rate == 1.0
    assert Settings().judge.kind == "offline"


def test_the_cache_as_it_is_described(tmp_path: Path) -> None:
    """Its example loads, every setting is named with its default, and so is the share."""
    file = tmp_path / "monitor.yaml"
    file.write_text(blocks("docs/cache.md", "yaml")[0], encoding="utf-8")
    assert load({}, file).judge.cache.kind == "redis"
    rows = dict(
        re.findall(r"^\| `judge\.cache\.(\w+)` \| `?([^|`]*?)`? ?\|", text("docs/cache.md"), re.M)
    )
    defaults = Settings().judge.cache
    assert rows == {
        name: "" if (value := getattr(defaults, name)) is None else str(value)
        for name in type(defaults).model_fields
    }
    assert f"{Settings().judge.recheck_rate:.0%}" == "1%"
    assert "`judge.recheck_rate`, 1 % by default" in text("docs/recheck.md")


def test_the_scrape_configuration_meets_the_default_address() -> None:
    """Prometheus finds a monitor that was told nothing about HTTP."""
    (job,) = yaml.safe_load(blocks("docs/getting-started.md", "yaml")[1])["scrape_configs"]
    http = Settings().http
    assert job["static_configs"] == [{"targets": [f"{http.host}:{http.port}"]}]


@PAGE_OF_RIGHT
def test_every_command_exists(page: str) -> None:
    """With its subcommand and its options."""
    root = typer.main.get_command(app)
    # Code that is broken over two lines is joined again.
    spans = re.findall(r"`(rag-monitor [^`]+)`", text(page))
    lines = [*blocks(page, "sh"), *(" ".join(span.split()) for span in spans)]
    shown = re.findall(r"rag-monitor ([a-z][^#\n]*)", "\n".join(lines))
    for line in shown:
        command = root
        for word in line.split():
            if word.startswith("--"):
                options = {name for option in command.params for name in option.opts}
                assert word in options, line
            elif hasattr(command, "commands"):
                command = command.commands[word]


def test_every_metric_and_reason_is_explained() -> None:
    """Nothing that a user meets on a page or a record is left out."""
    assert set(CATALOGUE) | set(Unscored) <= set(code("docs/metrics.md"))
    assert set(Outcome) | set(Reason) | set(Unscored) <= set(code("docs/outcomes.md"))


def test_the_readme_is_short() -> None:
    """It is read whole: what it takes more words for stands on a page of its own."""
    assert len(text("README.md").split()) <= 900


def test_the_time_of_a_test_is_pytests() -> None:
    """After so many seconds it is ended."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    limit = project["tool"]["pytest"]["ini_options"]["timeout"]
    assert f"A test has {limit} seconds." in text("tests/README.md")


def test_every_field_is_explained() -> None:
    """Of score records, their sampling and interactions."""
    fields = {field.alias or name for name, field in ScoreRecord.model_fields.items()}
    logged = {"timestamp", "user_input", "response", "retrieved_contexts", "reference"}
    fields |= set(SamplingRecord.model_fields) | logged
    assert fields <= set(code("docs/records.md"))


def test_the_picture_stands_alone() -> None:
    """It is an SVG that fetches nothing, and shows the incident."""
    picture = (ROOT / "docs/demo.svg").read_text(encoding="utf-8")
    tree = ElementTree.fromstring(picture)
    assert tree.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"@font-face|@import|url\(\s*['\"]?http|(href|src)\s*=", picture)
    assert "INCIDENT" in "".join(tree.itertext())
