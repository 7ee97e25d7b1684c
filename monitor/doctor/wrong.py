"""A wrong setting as a line; apart, so that it is said without importing all that is checked."""

from __future__ import annotations

from monitor.doctor.report import ReportLine, fail
from monitor.errors import ConfigurationError


def wrong_setting(error: ConfigurationError) -> ReportLine:
    """The line for a setting that is wrong: its path, and what was found and expected."""
    path, colon, what = str(error).partition(": ")
    mend = "rag-monitor config reference shows every setting"
    return fail("settings", path if colon else "", what if colon else path, mend)
