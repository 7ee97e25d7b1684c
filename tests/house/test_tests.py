"""The tree of tests: unit tests mirror the package, and no test imports a test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
#: Folders of unit tests that are about something beside the package.
BESIDE = {"deploy", "docs", "grafana"}


def imports() -> Iterator[tuple[str, str]]:
    """Every import of a module of tests: who imports it, and its name."""
    for path in sorted(TESTS.rglob("*.py")):
        importer = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                for alias in node.names:
                    yield importer, f"{node.module}.{alias.name}"


def test_no_test_is_imported() -> None:
    """What several tests need stands in a module that is no test."""
    found = [
        (importer, name)
        for importer, name in imports()
        if any(part.startswith("test_") for part in name.split(".")[:-1])
    ]
    assert found == []


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
