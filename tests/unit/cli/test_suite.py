"""``rag-monitor suite`` as a build server runs it: values, exit codes, JUnit XML, annotations."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import yaml

from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.stages.command import one_line, rag_monitor
from tests.stages.worked_examples import (
    FRANCE,
    PYTHON,
    WORKED_EXAMPLES,
    WorkedExample,
    all_labels,
)

ROOT = Path(__file__).parents[3]
#: Element → its attributes, required ones first up to the mark, and its children, as in the schemas
#: of Ant and of Jenkins' plugin.
JUNIT: Final[dict[str, tuple[set[str], set[str], set[str]]]] = {
    "testsuites": (
        set(),
        {"name", "tests", "failures", "errors", "skipped", "time", "disabled"},
        {"testsuite"},
    ),
    "testsuite": (
        {"name", "tests"},
        {"failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "classname"},
        {"time", "assertions", "status"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"message", "type"}, set()),
    "error": (set(), {"message", "type"}, set()),
    "skipped": (set(), {"message"}, set()),
    "system-out": (set(), set(), set()),
}


def model_at(server: JudgeServer, *more: str) -> list[str]:
    """The options of a model that a server plays."""
    pairs = [f"judge.api_base={server.url}", "judge.api_key=none", *more]
    settings = [word for pair in pairs for word in ("--set", pair)]
    return ["--judge", "llm", "--model", "openai/judge", *settings]


def in_suite(example: WorkedExample) -> dict[str, Any]:
    """A worked example as somebody writes it in a suite; each threshold is its very value."""
    chunks = [
        text if not example.relevant else {"text": text, "relevant": example.relevant[number]}
        for number, text in enumerate(example.passages)
    ]
    variables = {"query": example.question, "response": example.response, "contextChunks": chunks}
    asserts: list[dict[str, Any]] = []
    for metric, value in example.values.items():
        one: dict[str, Any] = {"type": metric.replace("_", "-"), "threshold": value}
        if metric.startswith("noise_sensitivity"):
            mode = metric.removeprefix("noise_sensitivity_")
            one |= {"type": "noise-sensitivity", "config": {"mode": mode}}
        if example.reference is not None:
            one["value"] = example.reference
        asserts.append(one)
    return {"description": example.name, "vars": variables, "assert": asserts}


def suite_of(folder: Path, *tests: dict[str, Any]) -> Path:
    """A suite of these tests."""
    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump({"tests": list(tests)}, allow_unicode=True), "utf-8")
    return file


async def asked(
    server: JudgeServer, *more: str | Path, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command, with such a model."""
    return await asyncio.to_thread(rag_monitor, "suite", *more, *model_at(server), environ=environ)


def require_junit(element: ElementTree.Element) -> None:
    """It has the shape that CI servers read, all the way down, and its counts add up."""
    required, optional, children = JUNIT[element.tag]
    assert required <= set(element.attrib) <= required | optional, element.tag
    for child in element:
        assert child.tag in children
        require_junit(child)
    if element.tag in ("testsuites", "testsuite"):
        cases = list(element.iter("testcase"))
        assert int(element.attrib["tests"]) == len(cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[name]) == sum(case.find(tag) is not None for case in cases)


async def test_worked_examples_keep_their_values(tmp_path: Path) -> None:
    """LIC in two languages, super bowl, Einstein, Python and JavaScript, France: all pass."""
    file = suite_of(tmp_path, *map(in_suite, WORKED_EXAMPLES))
    async with JudgeServer(all_labels()) as server:
        result = await asked(server, file, "--json")
        verifies = [each for each in server.log if each.task == "verify_claims"]
    assert result.returncode == 0, result.stderr
    (found,) = json.loads(result.stdout)["suites"]
    told = {
        (test["name"], each["metric"]): each["value"]
        for test in found["tests"]
        for each in test["assertions"]
    }
    expected = {
        (example.name, metric): value
        for example in WORKED_EXAMPLES
        for metric, value in example.values.items()
    }
    assert told.keys() == expected.keys()
    assert all(abs(told[key] - value) < 1e-12 for key, value in expected.items())
    # Several assertions of one answer are one judgement.
    assert len(verifies) == len(WORKED_EXAMPLES)
    assert "noise_sensitivity_relevant 0.000, at most 0 (incorrect_claims 0.500)" in result.stderr


async def test_what_fails_says_which_claims(tmp_path: Path) -> None:
    """Exit code 1, and everywhere the claims that are wrong with their passages."""
    test = in_suite(FRANCE)
    test["assert"] = [
        {
            "type": "noise-sensitivity",
            "value": FRANCE.reference,
            "config": {"mode": "irrelevant", "noiseContext": FRANCE.passages[1]},
        }
    ]
    del test["vars"]["contextChunks"]
    test["vars"]["context"] = FRANCE.passages[0]
    file, junit = suite_of(tmp_path, test, in_suite(PYTHON)), tmp_path / "junit.xml"
    lines = file.read_text("utf-8").splitlines()
    async with JudgeServer(all_labels()) as server:
        result = await asked(
            *(server, file, "--junit", junit, "--out", tmp_path / "scores.jsonl"),
            environ={"GITHUB_ACTIONS": "true"},
        )
        requests = server.counts()["requests"]
        again = await asked(server, file, "--out", tmp_path / "scores.jsonl")
        assert server.counts()["requests"] == requests
    assert (result.returncode, again.returncode) == (1, 1)
    claim = "“Berlin is the capital of Germany.” is wrong, from irrelevant passage 2 (noise-1)"
    assert (
        f"      noise_sensitivity_irrelevant: 0.500 is above 0.2\n        {claim}" in result.stderr
    )
    root = ElementTree.parse(junit).getroot()
    require_junit(root)
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    failure = root.find(".//failure")
    assert failure is not None
    assert claim in (failure.text or "")
    (command,) = result.stdout.splitlines()
    match = re.fullmatch(r"::error file=(.+),line=(\d+),title=France with noise::(.+)", command)
    assert match is not None
    assert match[1] == str(file)
    assert (
        "type: noise-sensitivity" in lines[int(match[2]) - 1]
        or "- config" in (lines[int(match[2]) - 1])
    )
    assert match[3] == f"noise_sensitivity_irrelevant: 0.500 is above 0.2%0A  {claim}"


async def test_a_judge_that_fails_is_no_pass(tmp_path: Path) -> None:
    """Exit code 3, an error in JUnit, and the tests that could be judged stay as they are."""
    file, junit = suite_of(tmp_path, *map(in_suite, (PYTHON, FRANCE))), tmp_path / "junit.xml"
    plan = FaultPlan(rules=(FaultRule(fault=Fault.BAD_VERDICT, times=None, task="verify_claims"),))
    async with JudgeServer(all_labels(), plan) as server:
        result = await asked(server, file, "--junit", junit)
    assert result.returncode == 3
    assert "the judge could not say: malformed_reply" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("rag-monitor: the judge answers nothing")
    root = ElementTree.parse(junit).getroot()
    require_junit(root)
    assert (root.attrib["errors"], root.attrib["failures"]) == ("2", "0")


def test_a_value_that_is_missing_fails(tmp_path: Path) -> None:
    """A response that claims nothing has no faithfulness, and does not pass for that."""
    variables = {"query": "q", "response": "!", "context": "A passage."}
    one = {"type": "faithfulness", "threshold": 0.1}
    file = suite_of(tmp_path, {"vars": variables, "assert": [one]})
    result = rag_monitor("suite", file)
    assert result.returncode == 1
    assert "faithfulness: it has no value (NO_CLAIMS), and so does not pass" in result.stderr


def test_results_of_promptfoo_are_read(tmp_path: Path) -> None:
    """As they are; and as answers to a suite of ours, for what promptfoo does not know."""
    recorded = ROOT / "tests/data/promptfoo/results.json"
    result = rag_monitor("suite", recorded, "--junit", tmp_path / "j.xml")
    assert result.returncode == 0, result.stderr
    assert "not checked: icontains is no type of ours" in result.stderr
    require_junit(ElementTree.parse(tmp_path / "j.xml").getroot())
    variables = {"query": "What are the main features of Python?"}
    one = {"type": "incorrect-claims", "value": "Python is a high-level language."}
    file = suite_of(tmp_path, {"vars": variables, "assert": [one | {"threshold": 0.4}]})
    held = rag_monitor("suite", file, "--responses", recorded)
    assert held.returncode == 1
    assert "incorrect_claims: 0.500 is above 0.4" in held.stderr
    assert "“JavaScript is also popular.” is wrong" in held.stderr
    late = rag_monitor("suite", recorded, "--junit", tmp_path / "no/j.xml")
    assert (late.returncode, "there is no folder" in one_line(late)) == (2, True)
    without = rag_monitor("suite", file)
    assert without.returncode == 2
    assert "give it, or --responses RESULTS" in one_line(without)


def test_examples_of_the_page_run(tmp_path: Path) -> None:
    """What docs/suites.md shows is a suite, and comes to what stands there."""
    page = (ROOT / "docs/suites.md").read_text("utf-8")
    (example, *others) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "suite.yaml"
    file.write_text(example, "utf-8")
    result = rag_monitor("suite", file)
    assert result.returncode == 1, result.stderr
    (shown,) = re.findall(r"```console\n\$ rag-monitor suite suite.yaml\n(.*?)```", page, re.DOTALL)
    told = result.stderr.replace(str(file), "suite.yaml").splitlines()
    assert told[1:-2] == shown.rstrip().splitlines()
    for other in others:
        assert yaml.safe_load(other)
