"""JUnit XML of whatever texts: it can be read, and the texts stand in it."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from monitor.suites.annotations import workflow_commands
from monitor.suites.junit import as_junit
from monitor.suites.model import SkippedAssertion, Suite, SuiteNote, SuiteTest
from monitor.suites.verdicts import SuiteVerdict, judged

TEXTS = st.text(min_size=1, max_size=30)


def verdict(name: str, why: str) -> SuiteVerdict:
    """Of a test that could not be judged, and one that is skipped."""
    skipped = (SkippedAssertion("llm-rubric", why, 4),)
    tests = [SuiteTest(name, (), broken=why, line=3), SuiteTest(name, (), skipped)]
    return judged(Suite.of("s.yaml", tests, [SuiteNote(why, 1)]), {})


@given(TEXTS, TEXTS)
def test_any_text_is_written_so_that_it_is_read(name: str, why: str) -> None:
    """Also control characters and halves of pairs, which XML cannot hold."""
    text = as_junit([verdict(name, why)])
    root = ElementTree.fromstring(text.encode("utf-8"))
    first, second = root.iter("testcase")
    assert (root.attrib["tests"], root.attrib["errors"], root.attrib["skipped"]) == ("2", "1", "1")
    error = first.find("error")
    assert error is not None
    assert second.find("skipped") is not None
    if name.isascii() and name.isprintable():
        assert first.attrib["name"] == name
        assert second.attrib["name"] == f"{name} (2)"


@given(TEXTS, TEXTS)
def test_an_annotation_is_one_line(name: str, why: str) -> None:
    """No text of a test ends a command, or begins another."""
    found = list(workflow_commands(verdict(name, why)))
    assert [each.partition(" ")[0] for each in found] == ["::error", "::notice", "::notice"]
    for each in found:
        assert "\n" not in each
        assert "\r" not in each
        assert each.count("::") >= 2
    assert found[0].startswith("::error file=s.yaml,line=3,title=")
