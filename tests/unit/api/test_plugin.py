"""The pytest plugin in a project of somebody else's, in a process and a folder of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

#: A suite as a user writes it; the answer has one claim too many.
SUITE = """
TURN = {
    "user_input": "How long is the warranty, and what does returning cost?",
    "response": "The warranty lasts 24 months. Returning an item costs 5 euros.",
    "retrieved_contexts": [
        "The warranty lasts 24 months from the day of delivery.",
        "Price list of 2019: returning an item costs 5 euros.",
    ],
    "judge": "offline",
}
REFERENCE = "The warranty lasts 24 months. Returning an item is free."


def test_good(rag_score):
    results = rag_score(**TURN, faithfulness=0.9)
    assert results["faithfulness"].value == 1.0


async def within_a_loop(rag_score):
    rag_score(**TURN)


def test_in_a_loop(rag_score):
    import asyncio

    asyncio.run(within_a_loop(rag_score))


def test_noisy(rag_score):
    rag_score(**TURN, reference=REFERENCE, noise_sensitivity_irrelevant=0.2)


def test_no_bound(rag_score):
    rag_score(**TURN, reference=REFERENCE)


def test_nothing_to_score(rag_score):
    rag_score(**TURN, hallucination=0.1)


def test_misspelt(rag_score):
    rag_score(**TURN, faithfullness=0.1)
"""
#: Bounds that are no shares, as they are written.
BOUNDS = ("2", "-0.5", "'high'")
BOUNDED = "".join(
    f"""
def test_{number}(rag_score):
    rag_score(user_input="a", response="b", judge="offline", faithfulness={bound})
"""
    for number, bound in enumerate(BOUNDS)
)
#: A module that has the name of our package, as projects have one.
OWN = """
NAME = "a stranger"
"""
OTHERS = """
import monitor, sys


def test_the_name_is_theirs():
    assert monitor.NAME == "a stranger"
    assert "rag_monitor" not in sys.modules
    assert "litellm" not in sys.modules


def test_it_still_scores(rag_score):
    rag_score(user_input="a", response="b")
"""


def ran(folder: Path, **suites: str) -> tuple[int, str]:
    """Exit code and output of pytest in a folder that holds these suites."""
    for name, suite in suites.items():
        (folder / f"test_{name}.py").write_text(suite, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return found.returncode, found.stdout + found.stderr


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of a user's suite, and of one whose bounds are none."""
    code, said = ran(tmp_path_factory.mktemp("suites"), suite=SUITE, bounded=BOUNDED)
    assert code == 1
    return said


def failed(said: str, suite: str) -> list[str]:
    """The tests of a suite that failed, by the summary."""
    return re.findall(rf"^FAILED test_{suite}\.py::(\w+)", said, re.MULTILINE)


def test_a_failure_names_the_claims_that_are_wrong(said: str) -> None:
    """With the passages they came from; what has no value, or no such name, says so."""
    wrong = ["test_noisy", "test_no_bound", "test_nothing_to_score", "test_misspelt"]
    assert failed(said, "suite") == wrong
    assert f"{len(wrong) + len(BOUNDS)} failed, 2 passed" in said
    assert "noise_sensitivity_irrelevant 0.500 is above 0.2: 1 of 2 claims" in said
    assert "counts against it: claim 2, wrong, from irrelevant passage 2: Returning an item" in said
    assert "   2  [irrelevant] Price list of 2019: returning an item costs 5 euros." in said
    assert "incorrect_claims 0.500 is above 0: 1 of 2 claims: wrong claims" in said
    assert "hallucination has no value, so it cannot be at most 0.1: there is no reference" in said
    assert "rag_score() has no argument 'faithfullness': did you mean faithfulness?" in said
    assert "rag_monitor_pytest" not in said.split("short test summary")[0].split("plugins:")[-1]


def test_a_module_called_monitor_keeps_its_name(tmp_path: Path) -> None:
    """In a run that is not about us nothing of ours is loaded; who asks for us is told who hides.

    The plugin is loaded whether it is wanted or not.
    """
    (tmp_path / "monitor.py").write_text(OWN, encoding="utf-8")
    code, said = ran(tmp_path, suite=OTHERS)
    assert code == 1
    assert "1 failed, 1 passed" in said
    assert "was imported as monitor and hides that of rag-monitor" in said


def test_a_bound_is_a_share(said: str) -> None:
    """Anything else is an error that says what was found."""
    assert failed(said, "bounded") == [f"test_{number}" for number in range(len(BOUNDS))]
    for bound in BOUNDS:
        assert f"faithfulness: found {bound}, expected a bound from 0 to 1" in said
