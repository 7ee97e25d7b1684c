"""Files that a suite refers to stand in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.errors import ConfigurationError
from monitor.suites.run import read

SUITE = """
tests:
  - vars: {query: Why, response: file://%s, context: a}
    assert: [{type: faithfulness, threshold: 0.5}]
"""


def response_of(folder: Path, name: str) -> str:
    """What a suite in the folder reads."""
    (folder / "s.yaml").write_text(SUITE % name, encoding="utf-8")
    (test,) = read(folder / "s.yaml", None, skips=False).tests
    return test.assertions[0].answer.response


def test_a_file_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    """By dots, by a whole path, or by a link; below the folder is fine."""
    folder = tmp_path / "suite"
    (folder / "texts").mkdir(parents=True)
    (folder / "texts/a.txt").write_text("Since.", encoding="utf-8")
    secret = tmp_path / "secret.txt"
    secret.write_text("A secret.", encoding="utf-8")
    (folder / "link.txt").symlink_to(secret)
    assert response_of(folder, "texts/a.txt") == "Since."
    for name in ("../secret.txt", str(secret), "link.txt"):
        with pytest.raises(ConfigurationError, match="is outside of the suite's folder") as error:
            response_of(folder, name)
        assert "A secret" not in str(error.value)
