"""An installation without the extra ``patterns``, as the exporter's image is."""

from __future__ import annotations

import subprocess

import pytest

from tests.stages.installed_without import ran_without

RULES = """
ingest: {include: [{attribute: application, regex: "^support-"}]}
sampling: {block: 64, forced: [{attribute: tenant, regex: "^x"}]}
applications: [{application: bot, when: [{attribute: tenant, regex: b}]}]
"""


NOBODY = " --set kafka.bootstrap_servers=127.0.0.1:9"
#: What needs no rules, and its exit code where there is no broker; and what does.
FREE = {"rules render --out -": 0, "traffic --timeout 0.1": 3}
BOUND = ("score", "ingest try in.jsonl", "config check")

Ran = dict[str, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """What came of each command with these rules, in a Python without google-re2."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "monitor.yaml").write_text(RULES, "utf-8")
    commands = [f"{each} --config monitor.yaml{NOBODY}" for each in FREE]
    commands += [f"{each} --config monitor.yaml" for each in BOUND]
    done = ran_without(["re2"], folder, [each.split() for each in commands])
    return dict(zip((*FREE, *BOUND), done, strict=True))


@pytest.mark.parametrize("command", FREE)
def test_who_reads_no_log_needs_no_library_for_its_rules(ran: Ran, command: str) -> None:
    """One file of settings serves all roles, only scorers apply rules; here is no broker."""
    done = ran[command]
    assert done.returncode == FREE[command], done.stderr
    assert "google-re2" not in done.stderr


@pytest.mark.parametrize("command", BOUND)
def test_who_applies_rules_says_what_is_missing(ran: Ran, command: str) -> None:
    """In one line, with exit code 2."""
    done = ran[command]
    assert done.returncode == 2
    assert "needs google-re2; pip install 'rag-monitor[patterns]'" in done.stderr
    assert done.stderr.count("\n") == 1
