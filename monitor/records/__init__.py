"""The nouns of the monitor: frozen, validated at construction, free of I/O, clock and randomness.

Every schema that crosses a topic stands here: interactions and scores by name below, the records of
the topics of state in ``alarm`` and ``control``.
"""

from monitor.records.base import NEWER_SCHEMA, AnyMinor, Frozen, RecordT, read_record, unreadable
from monitor.records.interaction import REDACTED_TEXT, Interaction, Kind, Passage, Source
from monitor.records.judgement import (
    Claims,
    Evidence,
    Flags,
    JudgeIdentity,
    Judgement,
    Labels,
    Matrix,
    Probabilities,
    Usage,
    Verdicts,
)
from monitor.records.outcome import Outcome, Reason, Unscored
from monitor.records.score import (
    SCORE_SCHEMA,
    Members,
    RunMark,
    SamplingRecord,
    Score,
    ScoreRecord,
    UnscoredMark,
    read_score_record,
)

__all__ = [
    "NEWER_SCHEMA",
    "REDACTED_TEXT",
    "SCORE_SCHEMA",
    "AnyMinor",
    "Claims",
    "Evidence",
    "Flags",
    "Frozen",
    "Interaction",
    "JudgeIdentity",
    "Judgement",
    "Kind",
    "Labels",
    "Matrix",
    "Members",
    "Outcome",
    "Passage",
    "Probabilities",
    "Reason",
    "RecordT",
    "RunMark",
    "SamplingRecord",
    "Score",
    "ScoreRecord",
    "Source",
    "Unscored",
    "UnscoredMark",
    "Usage",
    "Verdicts",
    "read_record",
    "read_score_record",
    "unreadable",
]
