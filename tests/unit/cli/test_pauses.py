"""``pause``: what is wrong on its command line."""

from __future__ import annotations

import pytest

from tests.stages.command import one_line, rag_monitor


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--for=2x", "--for: found '2x', expected a duration"),
        ("--for=0h", "--for: found '0h', expected a duration"),
        ("--for=31d", "--for: found '31d', expected at most 30d"),
        ("--for=99999999d", "--for: found '99999999d', expected at most 30d"),
        ("--application=", "--application: empty"),
        ("--application=*", "--application: *; leave it out for all"),
    ],
)
def test_wrong_usage_is_said_in_a_line(option: str, said: str) -> None:
    """Exit code 2, before any broker is asked."""
    result = rag_monitor("pause", option)
    assert result.returncode == 2
    assert one_line(result).startswith(said)
