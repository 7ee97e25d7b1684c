"""An alarm as a command prints it: times in UTC, segments by how far they moved."""

from __future__ import annotations

from datetime import timedelta

from monitor.exporter.alarms.listing import lines, wrapped
from tests.stages.alarm_records import HEADLINE, SENTENCE, alarm, segment
from tests.stages.records import NOON

LATER = NOON + timedelta(minutes=12)


def test_an_alarm_for_people() -> None:
    """The line of the message first, then the sentence, and each segment with its share."""
    silent = segment("zen").model_copy(update={"value": None, "lower": None, "upper": None})
    shown = list(lines(alarm(segments=(segment("acme"), silent)), LATER, with_claims=False))
    assert shown == [
        f"open    {HEADLINE}",
        f"        {SENTENCE}",
        "        since 2026-11-20 02:10:00 UTC (10 h ago), "
        "opened 2026-11-20 12:00:00 UTC (12 min ago)",
        "        judge offline@3f2a91",
        "        tenant=acme: 10 % → 30 % (20–40 %), 60 % of the traffic",
        "        tenant=zen: not scored since, 60 % of the traffic",
        "        noise_sensitivity_irrelevant 1.00  i-1, tenant=acme, 2026-11-20 12:00:00 UTC",
    ]


def test_a_terminal_of_80_columns_shows_all_of_it() -> None:
    """The newest message is whole there: no word is lost, and none is cut."""
    shown = list(lines(alarm(), LATER, with_claims=True))
    narrow = [part for line in shown for part in wrapped(line, 80)]
    assert max(map(len, narrow)) <= 80
    assert " ".join(narrow).split() == " ".join(shown).split()
