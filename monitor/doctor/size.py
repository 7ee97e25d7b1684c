"""Which interactions would be too large to judge: worked out, and nobody is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from monitor.app.policies import Seat, llm_settings, traffic
from monitor.config import Settings
from monitor.errors import TooLarge
from monitor.judge.llm.dry_run import RehearsedJudge
from monitor.judge.offline.judge import OfflineJudge
from monitor.records import Interaction
from monitor.scorer.judging import judgeable

TooLargeTest = Callable[[Interaction], bool]


def too_large_for(settings: Settings, seats: Sequence[Seat]) -> TooLargeTest:
    """By the judge of each interaction, with its sentences as claims."""
    whole = traffic(settings, seats)
    judges = [(seat.judge, _foresees(seat)) for seat in seats]

    def is_too_large(interaction: Interaction) -> bool:
        chosen = whole.treatment(interaction).judge
        foresee = next(made for judge, made in judges if judge is chosen)
        try:
            foresee(judgeable(interaction))
        except TooLarge:
            return True
        return False

    return is_too_large


def _foresees(seat: Seat) -> Callable[[Interaction], None]:
    if seat.section.kind == "offline":
        return OfflineJudge().foresee
    return RehearsedJudge(llm_settings(seat.section)).foresee
