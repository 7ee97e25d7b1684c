"""How long nothing is heard of a series before that is news, and before an alarm of it is over.

A judge that was replaced, an application that is gone or traffic that ended on a Friday evening
leave an alarm open, and nothing that anybody does would close it.
"""

from __future__ import annotations

from typing import Final

#: Gaps between two slots that are no silence yet, as long as all of them together are one.
USUAL_GAPS: Final = 20
LEAST_SILENCE_S: Final = 3_600.0
#: An alarm that has been stale for so long is over.
OVER_AFTER_S: Final = 86_400.0


def usual_silence_s(gap_s: float) -> float:
    """For how long nothing may be heard where one slot follows another after ``gap_s``.

    >>> usual_silence_s(30.0), usual_silence_s(360.0)
    (3600.0, 7200.0)
    """
    return max(LEAST_SILENCE_S, USUAL_GAPS * gap_s)


def ends_alarms(silence_s: float, gap_s: float) -> bool:
    """Whether an alarm that was open before a silence is over after it.

    >>> ends_alarms(89_999.0, 30.0), ends_alarms(90_001.0, 30.0), ends_alarms(90_001.0, 360.0)
    (False, True, False)
    """
    return silence_s > OVER_AFTER_S and silence_s - usual_silence_s(gap_s) > OVER_AFTER_S
