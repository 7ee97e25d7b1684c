"""Every setting is on the page of its subject: ``config reference`` alone explains too little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from monitor.cli import app
from monitor.config import Settings, listed, paths
from tests.pages import blocks

ROOT = Path(__file__).parents[3]
#: Written from the settings, and so no page of their subjects.
REFERENCE = ROOT / "docs/configuration.md"
PAGES = (
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page != REFERENCE),
)
#: Keys of the entries of `applications` and `objectives`.
ENTRIES = {
    key
    for name in ("applications", "objectives")
    if (entry := listed(Settings.model_fields[name])) is not None
    for key in entry.model_fields
}
#: Sections that repeat another one's settings: its page explains both.
SAME_AS = (
    (r"^applications\.N\.(judge|sampling)\.", r"\1."),
    (r"^applications\.N\.objective\.N\.", "objectives.N."),
    (r"^kafka_output\.", "kafka."),
    (r"^(ingest\.exclude|sampling\.forced|applications\.N\.when)\.N\.", "ingest.include.N."),
)


def canonical(path: str) -> str:
    """The path of the setting that a page explains.

    >>> canonical("applications.N.judge.cache.ttl")
    'judge.cache.ttl'
    """
    for pattern, other in SAME_AS:
        path = re.sub(pattern, other, path)
    return path


def keys(value: object, path: str = "") -> Iterator[str]:
    """The paths of a YAML file; N stands for the number of an entry.

    >>> list(keys({"kafka": {"topics": 1}, "objectives": [{"bound": 0.9}]}))
    ['kafka', 'kafka.topics', 'objectives', 'objectives.N', 'objectives.N.bound']
    """
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from keys(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}.N")


def mentioned(page: str) -> set[str]:
    """The settings on a page: dotted in code style, in an example, or as a variable.

    >>> sorted(mentioned("Set `log.level: debug` or `RAG_MONITOR_JUDGE__API_KEY_FILE`."))
    ['judge.api_key', 'log.level']
    """
    found = {key for block in blocks(page, "yaml") for key in keys(yaml.safe_load(block))}
    for span in re.findall(r"`([^`\n]+)`", page):
        found |= set(re.findall(r"^[a-z_]+(?:\.\w+)+", span))
    for variable in re.findall(r"\bRAG_MONITOR_([A-Z_]+)", page):
        found.add(variable.removesuffix("_FILE").lower().replace("__", "."))
    return {canonical(path) for path in found}


def every_path() -> Iterator[str]:
    """Those of the entries of a list, too."""
    for path, field in paths():
        yield path
        entry = listed(field)
        for inner, deeper in paths(entry, f"{path}.N.") if entry else ():
            yield inner
            last = listed(deeper)
            yield from (each for each, _ in paths(last, f"{inner}.N.")) if last else ()


def test_every_setting_stands_on_a_page() -> None:
    """Whoever sets it finds what it does beside what it acts on."""
    on_pages = set().union(*(mentioned(page.read_text("utf-8")) for page in PAGES))
    assert [path for path in every_path() if canonical(path) not in on_pages] == []


@pytest.mark.parametrize("path", ["log.level", "applications.N.judge.cache.ttl"])
def test_what_no_page_mentions_is_found(path: str) -> None:
    """A mention elsewhere, or of a neighbour, does not count."""
    assert canonical(path) in set(map(canonical, every_path()))
    assert canonical(path) not in mentioned("`log.format`, `judge.cache.kind`, level and ttl")


def test_the_reference_is_that_of_the_settings(capfd: pytest.CaptureFixture[str]) -> None:
    """The page is what the command prints today, and has every setting of every section."""
    app(["config", "reference", "--markdown"], standalone_mode=False)
    page = REFERENCE.read_text("utf-8")
    assert page == capfd.readouterr().out
    shown = set(re.findall(r"^\| `([^`]+)`", page, re.MULTILINE))
    wanted = {path for path, field in paths() if not path.startswith("kafka_output.")}
    assert wanted - shown == {"applications", "objectives"}
    assert shown - wanted == {"kafka_output.bootstrap_servers", *ENTRIES}
