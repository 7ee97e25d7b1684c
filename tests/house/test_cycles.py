"""No module imports itself by way of others: each can be read after those that it imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

PACKAGES = ("monitor", "rag_monitor", "rag_monitor_pytest")


def cycle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Modules that import each other in a circle, the first also last; none where none does."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Of all modules, also where the import stands in a function or is for types only."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    assert len(imports) > 500
    assert cycle(imports) == []


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ({"a": ["b", "c"], "b": ["c"], "c": []}, []),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c", "b"]),
        ({"a": ["a"]}, ["a", "a"]),
    ],
)
def test_a_circle_is_seen(imports: dict[str, list[str]], found: list[str]) -> None:
    """Of two, and of one that imports itself; a diamond is none."""
    assert sorted(cycle(imports)) == sorted(found)
