"""Verdicts as JUnit XML, as CI servers read it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from monitor.suites.verdicts import SuiteTestVerdict, SuiteVerdict

#: What XML 1.0 may hold in no form.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS: Final = {"failed": "failure", "error": "error"}


def as_junit(found: Sequence[SuiteVerdict]) -> str:
    """One ``testsuite`` a file and one ``testcase`` a test, as in the schema of Ant and Jenkins."""
    root = Element("testsuites", _counted([test for suite in found for test in suite.tests]))
    for suite in found:
        counts = _counted(suite.tests)
        element = SubElement(root, "testsuite", {"name": _text(suite.suite.file), **counts})
        for test in suite.tests:
            _add(element, suite.suite.file, test)
        notes = [f"{note.text}" for note in suite.notes]
        if notes:
            SubElement(element, "system-out").text = _text("\n".join(notes))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _counted(tests: Sequence[SuiteTestVerdict]) -> dict[str, str]:
    statuses = [test.status for test in tests]
    return {
        "tests": str(len(tests)),
        "failures": str(statuses.count("failed")),
        "errors": str(statuses.count("error")),
        "skipped": str(statuses.count("skipped")),
        "time": f"{sum(test.seconds for test in tests):.3f}",
    }


def _add(suite: Element, file: str, test: SuiteTestVerdict) -> None:
    attributes = {
        "name": _text(test.test.name),
        "classname": _text(file),
        "time": f"{test.seconds:.3f}",
    }
    case = SubElement(suite, "testcase", attributes)
    reasons = list(test.reasons())
    if test.status in _ELEMENTS:
        # One for the test: some servers keep only one.
        told = SubElement(case, _ELEMENTS[test.status], {"message": _text(reasons[0])})
        told.set("type", "assertion" if test.status == "failed" else "judge")
        told.text = _text("\n".join(reasons))
    elif test.status == "skipped":
        whys = [f"{each.type}: {each.why}" for each in test.skipped]
        SubElement(case, "skipped", {"message": _text("; ".join(whys) or "no assertion")})
    said = [each.words for each in test.assertions if each.status == "passed"]
    said += [f"not checked here: {each.type}" for each in test.skipped]
    if said:
        SubElement(case, "system-out").text = _text("\n".join(said))


def _text(found: str) -> str:
    return _NOT_XML.sub("\ufffd", found)
