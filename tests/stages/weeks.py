"""Series of a made-up monitor, minute by minute, for ``promtool test rules``.

Two scorers and two exporters of one deployment; ``calm()`` is a day on which all is well, and tests
change what is different on theirs. Values are in promtool's notation: ``a+bxn`` is a start and n
steps, ``axn`` stays, ``_xn`` is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Minutes of a story: the long window of the rules and two hours.
LENGTH: Final = 480
NAMESPACE: Final = "rag"
METRIC: Final = 'metric="faithfulness",application="support-bot",judge="llm@3f2a91"'
SCORERS: Final = ("score-1", "score-2")
EXPORTERS: Final = ("export-1", "export-2")
TOPIC: Final = 'topic="rag.interactions.v1",partition="{}"'

#: Series → values.
Story = dict[str, str]


def of(process: str, name: str, labels: str = "") -> str:
    """A series as one process shows it; the role is the process's name without its number."""
    job = f"rag-monitor-{process.partition('-')[0]}"
    where = f'job="{job}",namespace="{NAMESPACE}",instance="{process}:9750",pod="{process}"'
    return f"{name}{{{where}{',' if labels else ''}{labels}}}"


def outcome(process: str, outcome_: str, reason: str = "") -> str:
    """The counter of an outcome."""
    return of(process, "rag_monitor_interactions_total", f'outcome="{outcome_}",reason="{reason}"')


def picked(process: str, outcome_: str, reason: str = "", application: str = "support-bot") -> str:
    """The counter of an application's picks."""
    labels = f'application="{application}",outcome="{outcome_}",reason="{reason}"'
    return of(process, "rag_monitor_picks_total", labels)


def constant(value: float) -> str:
    """One value all the time."""
    return f"{value}x{LENGTH}"


def growing(per_minute: float, start: float = 0) -> str:
    """A counter that grows all the time."""
    return f"{start}+{per_minute}x{LENGTH}"


def calm() -> Story:
    """Ten interactions a minute and process, nine of them scored, one unscorable; drift is far."""
    story: Story = {}
    for process in SCORERS:
        story |= _process(process)
        story |= {
            of(process, "rag_monitor_interactions_consumed_total"): growing(10, 1000),
            at_work(process): constant(2),
            outcome(process, "scored"): growing(9, 900),
            outcome(process, "unscorable", "no_contexts"): growing(1, 98),
            picked(process, "scored"): growing(9, 900),
            picked(process, "unscorable", "no_contexts"): growing(1, 98),
            of(process, "rag_monitor_interactions_waiting_for_money"): constant(0),
            of(process, "rag_monitor_dead_letters_waiting"): constant(0),
            of(process, "rag_monitor_dead_letter_circuit_open"): constant(0),
        }
        for state in ("judging", "waiting", "circuit_open", "stopped"):
            story[judge_state(process, state)] = constant(float(state == "judging"))
        story[not_judging(process)] = constant(0)
        story[judge_unknown(process)] = constant(0)
        story[verdicts_constant(process, "passage")] = constant(0)
        story[lost(process, "rag.interactions.v1")] = constant(0)
    for process in EXPORTERS:
        story |= _process(process) | _watching(process)
        story[lost(process, "rag.scores.v1")] = constant(0)
    return story


def lost(process: str, topic: str) -> str:
    """The counter of offsets that were deleted before the process had read them."""
    return of(process, "rag_monitor_offsets_lost_total", f'topic="{topic}"')


def _process(process: str) -> Story:
    ones = dict.fromkeys((of(process, "up"), of(process, "rag_monitor_ready")), constant(1))
    return {
        **ones,
        of(process, "process_start_time_seconds"): constant(-3600),
        of(process, "rag_monitor_clock_offset_seconds"): constant(-0.02),
    }


def _watching(process: str) -> Story:
    story = {
        of(process, "rag_monitor_series"): constant(210),
        of(process, "rag_drift_alarm", f'{METRIC},direction="worse"'): constant(0),
        of(process, "rag_drift_evidence", METRIC): constant(0.4),
        of(process, "rag_drift_threshold", METRIC): constant(4.3),
        of(process, "rag_score", f'{METRIC},window="1h"'): constant(0.93),
        of(process, "rag_score_samples", f'{METRIC},window="1h"'): constant(540),
        of(process, "rag_score_missing_ratio", f'{METRIC},window="1h"'): constant(0),
    }
    for partition in (0, 1):
        where = TOPIC.format(partition)
        story[of(process, "rag_monitor_input_end_offset", where)] = growing(10, 70_000)
        story[of(process, "rag_monitor_group_lag_records", where)] = constant(3)
    return story


def at_work(process: str) -> str:
    """The gauge that every scorer has, whatever judges."""
    return of(process, "rag_monitor_interactions_in_flight")


def judge_state(process: str, state: str) -> str:
    """The series of a state of the judge."""
    return of(process, "rag_monitor_judge_state", f'model="openai/gpt-4o",state="{state}"')


def verdicts_constant(process: str, kind: str) -> str:
    """Whether a scorer has heard the same 1,000 times."""
    labels = f'kind="{kind}",model="openai/gpt-4o"'
    return of(process, "rag_monitor_judge_verdicts_constant", labels)


def not_judging(process: str) -> str:
    """The series that says whether the judge guesses."""
    return of(process, "rag_monitor_judge_not_judging", 'model="openai/gpt-4o"')


def judge_unknown(process: str) -> str:
    """The series that says whether canaries have yet to say that."""
    return of(process, "rag_monitor_judge_unknown", 'model="openai/gpt-4o"')


def all_of(story: Story, *parts: str) -> list[str]:
    """The series with all these parts in them; there must be some."""
    found = [series for series in story if all(part in series for part in parts)]
    assert found, parts
    return found


def with_all(story: Story, values: str, *parts: str) -> Story:
    """The story with other values where a series has all these parts in it."""
    return {**story, **dict.fromkeys(all_of(story, *parts), values)}


def without(story: Story, *parts: str) -> Story:
    """The story without the series that have all these parts in them."""
    gone = set(all_of(story, *parts))
    return {series: values for series, values in story.items() if series not in gone}


def ended(story: Mapping[str, str], at: int, *parts: str) -> Story:
    """The story in which series end (are stale) at a minute, as when their process is gone."""
    return {
        series: stopped(values, at) if all(part in series for part in parts) else values
        for series, values in story.items()
    }


def stopped(values: str, at: int) -> str:
    """The values up to a minute, then stale; of ``a+bxn`` and ``axn`` only."""
    return f"{values.rpartition('x')[0]}x{at - 1} stale"


def unseen(values: str, start: int, end: int) -> str:
    """The values without those from a minute up to another; of ``a+bxn`` and ``axn`` only."""
    first, _, step = values.rpartition("x")[0].partition("+")
    each = float(step or 0)
    tail = f"{float(first) + each * end:g}+{each:g}x{LENGTH - end}"
    return f"{first}+{each:g}x{start - 1} _x{end - start} {tail}"
