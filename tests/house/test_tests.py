"""The tree of tests: unit tests mirror the package, and no test imports a test."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.stages.statements import statements

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
#: Folders of unit tests that are about something beside the package.
BESIDE = {"deploy", "docs", "grafana"}


def imported(importer: str, source: str) -> Iterator[str]:
    """The names below ``tests`` that a module imports: modules, or what it takes from them."""
    for node in statements(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = importer.split(".")[: -node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        yield from (name for name in names if name.split(".")[0] == "tests")


def is_of_a_test(name: str) -> bool:
    """Whether an imported name is a module of tests, or stands in one."""
    return any(part.startswith("test_") for part in name.split("."))


@cache
def imports() -> Sequence[tuple[str, str]]:
    """Every import of a module of tests: who imports it, and its name."""
    found = list[tuple[str, str]]()
    for path in sorted(TESTS.rglob("*.py")):
        importer = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found += ((importer, name) for name in imported(importer, path.read_text("utf-8")))
    return found


def test_no_test_is_imported() -> None:
    """What several tests need stands in a module that is no test."""
    assert [(importer, name) for importer, name in imports() if is_of_a_test(name)] == []


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("from tests.unit.scorer.test_walk import walked", True),
        ("from tests.unit.scorer import test_walk", True),
        ("from tests.unit.scorer import test_walk as walk", True),
        ("import tests.unit.scorer.test_walk", True),
        ("import json, tests.unit.scorer.test_walk as walk", True),
        ("def late():\n    from . import test_walk", True),
        ("from .test_walk import walked", True),
        ("from ..judge.test_contract import judged", True),
        ("from tests.stages.records import attributed", False),
        ("from .. import conftest", False),
        ("import unittest.test_case", False),
    ],
)
def test_each_way_to_import_a_test_is_found(source: str, is_found: bool) -> None:
    """As a module or a part of one, by its whole name or from beside it."""
    found = imported("tests.unit.scorer.test_slots", source)
    assert any(map(is_of_a_test, found)) is is_found


def test_what_several_tests_share_stands_among_the_stages() -> None:
    """A module beside tests is about one of them."""
    users: dict[str, set[str]] = {}
    for importer, name in imports():
        module = next((each for each in _modules() if name.startswith(f"{each}.")), None)
        if module is not None and module != importer:
            users.setdefault(module, set()).add(importer)
    assert {module: sorted(by) for module, by in users.items() if len(by) > 1} == {}


@cache
def _modules() -> Sequence[str]:
    """The modules beside unit tests and end-to-end tests that are none."""
    found = [path for kind in ("unit", "e2e", "house") for path in (TESTS / kind).rglob("*.py")]
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in found
        if not path.name.startswith("test_") and path.stem not in ("__init__", "conftest")
    ]


def test_kinds_of_tests_share_stages_only() -> None:
    """Neither unit nor end-to-end tests take anything from the other kind."""
    kinds = ("tests.unit.", "tests.e2e.")
    found = [
        (importer, name)
        for importer, name in imports()
        if name.startswith(kinds) and not importer.startswith(name[: name.index(".", 6) + 1])
    ]
    assert found == []


def test_unit_tests_mirror_the_package() -> None:
    """Each folder of unit tests has the name of a room, or of a module at the top."""
    folders = {path.parent.relative_to(TESTS / "unit") for path in TESTS.glob("unit/**/*.py")}
    strangers = [
        str(folder)
        for folder in sorted(folders)
        if folder.parts[0] not in BESIDE
        and not (ROOT / "monitor" / folder / "__init__.py").exists()
        and not (ROOT / "monitor" / folder).with_suffix(".py").exists()
    ]
    assert strangers == []
