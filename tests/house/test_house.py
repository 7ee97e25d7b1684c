"""The house itself: short functions, facts as docstrings, locks that match what is declared."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.stages.statements import statements

ROOT = Path(__file__).parents[2]
LOCKS = ("core", "scorer", "dev")
SCORER = ("audit", "llm", "msk", "otlp", "patterns", "redis", "registry")
RIVALS = ("benchmarks/ragas", "benchmarks/ragchecker")
TOOLS = ("uv", "tools")
# Taken apart, so that this file does not name what it looks for.
HOSTS = re.compile(
    "|".join(
        re.escape(".".join(parts))
        for parts in (
            ("pypi", "org"),
            ("pythonhosted", "org"),
            ("repo", "maven", "apache", "org"),
            ("repo1", "maven", "org"),
            ("registry", "npmjs", "org"),
            ("crates", "io"),
            ("proxy", "golang", "org"),
            ("deb", "debian", "org"),
        )
    )
)
# A group that gives nothing back. Of a single character Python has always got that right.
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{+[0-9]*,?[0-9]*\}+)\+")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(folder: str, begins: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below a folder whose name begins so, with where it stands."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # To parse all of them takes a while.
        for node in statements(ast.parse(text)) if f"def {begins}" in text else ():
            if isinstance(node, Function) and node.name.startswith(begins):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def length(function: Function) -> int:
    """Lines from ``def`` to the last statement, the docstring included."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def lock_lines(name: str) -> list[str]:
    """The lines of a lock."""
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def pins(name: str) -> dict[str, set[Version]]:
    """Package → its locked versions: one for each of the markers that a universal lock needs."""
    found: dict[str, set[Version]] = {}
    for line in lock_lines(name):
        if line[:1].isalnum():
            pin = Requirement(line.removesuffix("\\").strip())
            (specifier,) = pin.specifier
            assert specifier.operator == "=="
            versions = found.setdefault(canonicalize_name(pin.name), set())
            versions.add(Version(specifier.version))
    return found


def declared(name: str) -> list[Requirement]:
    """What ``pyproject.toml`` asks for, in the place that a lock belongs to."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    held = {"core": ["audit"], "scorer": [*SCORER], "dev": [*SCORER, "dev"]}[name]
    extras = [line for extra in held for line in optional[extra]]
    return [Requirement(line) for line in [*project["dependencies"], *extras]]


def tracked_files() -> list[Path]:
    """What git tracks or would track, as far as it is there."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_functions_are_short() -> None:
    """Nine functions of ten in the package have at most 30 lines, and none has more than 50."""
    lengths = sorted((length(node), where) for where, node in functions("monitor"))
    assert lengths[-1][0] <= 50, lengths[-1]
    assert lengths[int(0.9 * (len(lengths) - 1))][0] <= 30


def test_every_test_states_its_fact() -> None:
    """Every test function has a docstring."""
    stated = {where: ast.get_docstring(node) for where, node in functions("tests", "test_")}
    assert len(stated) > 1_000
    assert [where for where, said in stated.items() if not said] == []


@pytest.mark.parametrize("held", [r"(?:a|bc)*+", r"(?:a|bc){1,8}+", r"(a|bc)?+", "(a){{2}}++"])
def test_a_possessive_group_is_seen(held: str) -> None:
    """Whatever it is repeated by, also as an f-string has it; one character may be possessive."""
    assert POSSESSIVE_GROUP.search(held)
    assert not POSSESSIVE_GROUP.search(r"(?>(?:a|bc)*)+[ab]++x{1,8}+(?:\.)*")


def test_no_group_is_possessive() -> None:
    """Python 3.11.0 to 3.11.4, so Debian 12's, matches too much by it; ``(?>…)`` is the same."""
    named = [path for path in tracked_files() if path.suffix == ".py" and path != Path(__file__)]
    assert len(named) > 500
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in named}
    assert [name for name, text in texts.items() if POSSESSIVE_GROUP.search(text)] == []


@pytest.mark.parametrize("name", [*LOCKS, *RIVALS, *TOOLS])
def test_locks_name_no_place(name: str) -> None:
    """A lock says what and with which hash, never from where: that is the installer's choice."""
    placed = re.compile(r"://|^\s*-[a-z-]+[ =]\s*\S*/|--(extra-)?index-url|--find-links|\s@\s")
    assert [line for line in lock_lines(name) if placed.search(line)] == []


@pytest.mark.parametrize("name", [*LOCKS, *RIVALS, *TOOLS])
def test_every_pin_has_hashes(name: str) -> None:
    """Each pinned package is followed by at least one SHA-256."""
    lines = lock_lines(name)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line[:1].isalnum():
            assert line.endswith("\\"), line
            assert re.match(r"\s+--hash=sha256:[0-9a-f]{64}\b", following), line


@pytest.mark.parametrize("name", LOCKS)
def test_locks_satisfy_what_is_declared(name: str) -> None:
    """Every declared requirement is locked, in versions that it allows."""
    locked = pins(name)
    for requirement in declared(name):
        versions = locked.get(canonicalize_name(requirement.name), set())
        assert versions, requirement
        assert all(version in requirement.specifier for version in versions), requirement


@pytest.mark.parametrize("name", ["core", "scorer"])
def test_dev_contains_what_runs(name: str) -> None:
    """The tests run with exactly the versions that the monitor is installed with."""
    smaller, dev = pins(name), pins("dev")
    assert {package: dev.get(package) for package in smaller} == smaller


def test_core_asks_no_model() -> None:
    """The demo, exporters and pages of audits are installed without litellm and what it needs."""
    assert not pins("core").keys() & {"litellm", "openai", "stamina", "tiktoken", "tokenizers"}


@pytest.mark.parametrize("malicious", ["1.82.7", "1.82.8"])
def test_malicious_litellm_is_excluded(malicious: str) -> None:
    """The two malicious releases are locked out, and excluded for installs without a lock."""
    (litellm,) = [each for each in declared("scorer") if each.name == "litellm"]
    assert malicious not in litellm.specifier
    locked = [pins(name).get("litellm", set()) for name in (*LOCKS, *RIVALS)]
    assert all(Version(malicious) not in versions for versions in locked)
    assert sum(map(bool, locked)) == 3


def test_no_registry_is_named() -> None:
    """No tracked file names the host of a package registry: mirrors must work unchanged."""
    naming = [
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if HOSTS.search(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert naming == []
