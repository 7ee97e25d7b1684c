"""What a suite asserts and the judge is not asked: told before anybody is asked anything."""

from __future__ import annotations

import pytest

from monitor.config import Settings
from monitor.errors import ConfigurationError
from monitor.suites.parsing import suite
from monitor.suites.run import require_asked

SUITE = suite(
    """
tests:
  - vars: {query: "Where is Rome?", response: Rome is in Italy.}
    assert:
      - {type: answer-relevance, threshold: 0.8}
""",
    "s.yaml",
    lambda name: name,
)


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ({}, "set judge.answer_relevance: judged and judge.kind: llm"),
        ({"kind": "llm", "model": "openai/m"}, "set judge.answer_relevance: judged"),
    ],
)
def test_a_metric_that_nobody_is_asked_for_is_a_mistake(judge: dict[str, str], said: str) -> None:
    """Its tests would all fail, whatever the answers; the line and the setting are named."""
    settings = Settings.model_validate({"judge": judge})
    with pytest.raises(ConfigurationError, match=rf"^s\.yaml:5: answer-relevance .*: {said}$"):
        require_asked(settings.judge, [SUITE])


def test_where_the_judge_is_asked_nothing_is_wrong() -> None:
    """Nor where no test asserts it."""
    asked = {"kind": "llm", "model": "openai/m", "answer_relevance": "judged"}
    require_asked(Settings.model_validate({"judge": asked}).judge, [SUITE])
    require_asked(Settings().judge, [])
