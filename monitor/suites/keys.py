"""Keys of a suite that are not used here, and those that would change an answer. Pure.

Whatever promptfoo knows has an entry in one of the tables, or is used. What has none is a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ANSWERS: Final = "no model is asked for answers: they come from vars.response, or from --responses"
_UNUSED: Final = "it is not used here"
_JUDGE: Final = "the judge of the settings judges"
_RUN: Final = "nothing is run here that changes an answer: give it as it is to be judged"

#: Of the file: named once, and left out.
FILE_NOTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("providers", "targets", "prompts"), _ANSWERS),
    **dict.fromkeys(
        (
            *("$schema", "author", "commandLineOptions", "derivedMetrics", "env"),
            *("evaluateOptions", "extensions", "metadata", "nunjucksFilters", "outputPath"),
            *("sharing", "tags", "tracing", "writeLatestResults"),
        ),
        _UNUSED,
    ),
}
FILE_REFUSED: Final[Mapping[str, str]] = {
    "scenarios": "write its tests out under tests",
    "redteam": "attacks are promptfoo's own",
}
FILE_USED: Final = frozenset({"tests", "defaultTest", "description"})

TEST_NOTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("provider", "providers", "prompts"), _ANSWERS),
    "metadata": _UNUSED,
}
TEST_REFUSED: Final[Mapping[str, str]] = {
    "threshold": "a test passes when all of its assertions hold; give them thresholds",
    "assertScoringFunction": _RUN,
}
TEST_USED: Final = frozenset({"description", "vars", "assert", "options", "providerOutput"})

OPTION_REFUSED: Final[Mapping[str, str]] = dict.fromkeys(
    ("transform", "transformVars", "postprocess"), _RUN
)
OPTION_USED: Final = frozenset({"disableDefaultAsserts", "disableVarExpansion"})

ASSERT_NOTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("provider", "rubricPrompt"), _JUDGE),
    "weight": "every assertion must hold",
    "metric": _UNUSED,
}
#: Results of promptfoo hold what it gave.
CONTEXT_TRANSFORM: Final = "contextTransform"
ASSERT_REFUSED: Final[Mapping[str, str]] = dict.fromkeys(("transform", CONTEXT_TRANSFORM), _RUN)
ASSERT_USED: Final = frozenset({"type", "value", "threshold", "config"})
CONFIG_USED: Final = frozenset({"mode", "noiseContext", "contextChunks"})
