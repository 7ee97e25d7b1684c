"""Which interactions would be too large to judge: worked out, and nobody is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from monitor.app.inspection import dry_run_judge
from monitor.app.judges import ConfiguredJudge
from monitor.app.policies import build_policies
from monitor.config import Settings
from monitor.errors import TooLarge
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.verifier import VerifierJudge
from monitor.records import Interaction
from monitor.scorer.judging import judge_input

TooLargeTest = Callable[[Interaction], bool]


def too_large_for(settings: Settings, configured_judges: Sequence[ConfiguredJudge]) -> TooLargeTest:
    """By the judge of each interaction, with its sentences as claims."""
    whole = build_policies(settings, configured_judges)
    judges = [(configured.judge, _foresees(configured)) for configured in configured_judges]

    def is_too_large(interaction: Interaction) -> bool:
        chosen = whole.policy(interaction).judge
        foresee = next(made for judge, made in judges if judge is chosen)
        try:
            foresee(judge_input(interaction))
        except TooLarge:
            return True
        return False

    return is_too_large


def _foresees(configured: ConfiguredJudge) -> Callable[[Interaction], None]:
    if isinstance(configured.judge, OfflineJudge | VerifierJudge):
        return configured.judge.foresee
    return dry_run_judge(configured.section).foresee
