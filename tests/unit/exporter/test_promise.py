"""The benchmark of the promise: its short cut is the exporter's way, and its traffic as named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from monitor.app.scores import Aggregators, aggregators
from monitor.exporter.alarms.publisher import every
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.records.alarm import AlarmRecord
from monitor.stats.period import HorizonSpan
from tests.benchmarks.promising.arrays import told
from tests.benchmarks.promising.installation import (
    JUDGED_S,
    Exporter,
    Installation,
    Pick,
    Scores,
    SlotsOnly,
    picks,
    record,
    settings,
)
from tests.benchmarks.promising.laws import LAWS, together
from tests.benchmarks.promising.results import Results, row
from tests.benchmarks.promising.summary import by_law, by_world, not_kept
from tests.benchmarks.promising.table import SHARE, USUAL, WEEKS, one_watched
from tests.benchmarks.promising.weeks import Change, Delay, Found, Plan, played
from tests.benchmarks.promising.worlds import (
    DAY,
    EVENT_DAY,
    HOUR,
    METRICS,
    WORLDS,
    Cell,
    Picks,
    Traffic,
    Worse,
)

SEED = 3
SHORT = settings(
    **{
        "drift.learn_slots": 200,
        "drift.learn_wait": "60s",
        "drift.learn_for": "50m",
        "drift.period": "1h",
    }
)
CELL = Cell("10/min", "i.i.d.", "claims 0.08")
#: Whose whole weeks take a second.
RARE = Cell("100/day", "weekends", "claims 0.3")
FEW = settings(**{"drift.learn_slots": 60})
DAYS = 40


class ByRecords:
    """Every pick as a record, in all that an exporter does with it."""

    def __init__(self, found: Aggregators) -> None:
        self._scores = found.scores

    @property
    def training_slots(self) -> TrainingSlots:
        return self._scores.training_slots

    def begin_anew(self, span: HorizonSpan) -> None:
        self._scores.begin_anew(span)

    def add(self, pick: Pick) -> None:
        made = record(pick)
        self._scores.add(made, made.to_json())

    def advance(self, now: float) -> None:
        self._scores.advance(now)


@cache
def incident(world: str) -> tuple[Pick, ...]:
    """Three hours of traffic, in the second of which it is four times as bad."""
    return tuple(_incident(world))


def _incident(world: str) -> Iterator[Pick]:
    traffic = Traffic(CELL._replace(world=world), SEED, 0)
    changes = (None, Worse(traffic.start, 4.0), None)
    for hour, change in enumerate(changes):
        for pick in picks(traffic.day(0, change), 0):
            if (pick.at - traffic.start) // HOUR == hour:
                yield pick


@cache
def written(
    world: str, scores: Callable[[Aggregators], Scores] = SlotsOnly
) -> list[tuple[float, AlarmRecord]]:
    """What is written on the alarms' topic, and when."""
    made = Installation(SHORT, Traffic(CELL._replace(world=world), SEED, 0).start, scores)
    looks = (look for pick in incident(world) for look in made.play(pick))
    return [(look.now, one) for look in looks for one in look.records]


@pytest.mark.parametrize("world", ["judge fails", "mix shift", "17 % by 5"])
def test_slots_alone_alarm_as_their_records_do(world: str) -> None:
    """Moments, evidence and sentences are those of records that were read as an exporter does."""
    found = written(world)
    assert {one.state for _, one in found} == {"open", "closed"}
    assert found == written(world, ByRecords)


def test_another_period_reads_all_again() -> None:
    """Few picks a day ask for weeks of evidence, by slots alone as by records."""
    traffic = Traffic(RARE, SEED, 0)
    bad = Worse(traffic.start + (EVENT_DAY + 1) * DAY, 2.0)
    seen = []
    for scores in (SlotsOnly, ByRecords):
        made = Installation(settings(), traffic.start, scores)
        days_of = (picks(traffic.day(day, bad), day * 1_000) for day in range(EVENT_DAY + 4))
        looks = (look for day in days_of for pick in day for look in made.play(pick))
        seen.append([(look.now, one) for look in looks for one in look.records])
    assert seen[0]
    assert seen[0] == seen[1]


def test_looks_that_are_left_out_see_nothing() -> None:
    """An exporter that looks at each of its moments writes the same at the same time."""
    found = aggregators(SHORT)
    scores = SlotsOnly(found)
    exporter, due = Exporter(found, scores), list(incident("judge fails"))
    every_s = every(found.drift.settings.settle_s)
    first = math.ceil(due[0].at / every_s)
    seen = []
    for number in range(first, int(due[-1].at / every_s)):
        now = number * every_s
        while due[0].at + JUDGED_S <= now:
            scores.add(due.pop(0))
        seen += [(now, one) for one in exporter.look(now).records]
    assert seen == written("judge fails")


@pytest.mark.parametrize("law", LAWS)
def test_laws_have_the_mean_that_is_asked_for(law: str) -> None:
    """Within four standard errors, for each metric; and metrics of one answer go together."""
    asked = np.full(40_000, 1.5 * LAWS[law].mean)
    scores = together(np.random.default_rng(SEED), LAWS[law], asked, len(METRICS))
    assert ((scores >= 0.0) & (scores <= 1.0)).all()
    se = scores.std(axis=0) / math.sqrt(len(scores))
    assert (abs(scores.mean(axis=0) - asked[0]) < 4 * se).all()
    assert np.asarray(np.corrcoef(scores.T))[0, 1] == pytest.approx(0.25, abs=0.1)


def days(world: str) -> list[Picks]:
    """Weeks at 100 a day."""
    traffic = Traffic(RARE._replace(world=world), SEED, 0)
    return [traffic.day(day) for day in range(DAYS)]


def test_a_world_is_as_its_name_says() -> None:
    """Shares of weekends, repeats, failures and tenants, to three standard errors."""
    number = [len(day.times) for day in days("weekends")]
    weekend = [n for n, day in zip(number, days("weekends"), strict=True) if n < 50]
    assert len(weekend) == pytest.approx(DAYS * 2 / 7, abs=2)
    alike = np.concatenate([np.unique(d.answers, return_counts=True)[1] for d in days("17 % by 5")])
    assert alike[alike > 1].sum() / alike.sum() == pytest.approx(0.17, abs=0.04)
    assert alike.max() == 5
    failed = np.mean([day.failed.mean() for day in days("judge fails")])
    assert failed == pytest.approx(1 / 24, abs=0.01)
    assert min((day.times % DAY).min() for day in days("quiet hour")) >= HOUR


@pytest.mark.parametrize(("world", "before"), [("new tenant", 0.0), ("mix shift", 0.02)])
def test_a_tenant_grows(world: str, before: float) -> None:
    """To a fifth of the traffic, once all is learned."""
    found = days(world)
    last = WORLDS[world].tenants - 1
    shares = [(day.tenants == last).mean() for day in found]
    assert np.mean(shares[:EVENT_DAY]) == pytest.approx(before, abs=0.016)
    assert np.mean(shares[EVENT_DAY:]) == pytest.approx(0.2, abs=0.03)


def test_a_change_is_of_the_mean_from_its_moment_on() -> None:
    """And before it nothing is another."""
    traffic = Traffic(RARE, SEED, 0)
    since = traffic.start + DAY / 2
    usual, worse = traffic.day(0), traffic.day(0, Worse(since, 3.0))
    assert (usual.times == worse.times).all()
    changed = usual.times >= since
    assert worse.scores[changed].mean() > 2 * usual.scores[changed].mean()


def test_an_installation_is_played_once(tmp_path: Path) -> None:
    """What it has seen depends on nothing but the seed, and is kept from run to run."""
    plan = Plan(1.0, (Change(3.0),))
    found = played(RARE, SEED, 1, FEW, plan)
    assert found == played(RARE, SEED, 1, FEW, plan)
    assert found.weeks == pytest.approx(1.0)
    assert found.delays[Change(3.0).name].judged is not None
    kept = tmp_path / "found.jsonl"
    Results(kept).add(found)
    assert Results(kept).has(plan, RARE, SEED, 1)
    assert Results(kept).of(plan, RARE) == [found]


def test_a_row_says_what_is_missed() -> None:
    """More openings than promised by two standard errors, or in the worst tenth."""
    plan = Plan(1.0, (Change(2.0),))

    def is_kept(openings: list[int]) -> bool:
        found = [
            Found(plan.name, RARE.name, SEED, number, weeks=1.0, openings=count)
            for number, count in enumerate(openings)
        ]
        return row(RARE, plan, found).endswith("ok")

    assert is_kept([1] + [0] * 19)
    assert not is_kept([2] * 20)
    assert not is_kept([8, 8] + [0] * 18)


def test_rows_that_are_not_kept_are_named() -> None:
    """Beside all worlds at a glance; what was not played is not told of."""
    missed, plan = RARE._replace(world="i.i.d."), Plan(1.0, (Change(2.0),))

    def of(cell: Cell) -> list[Found]:
        openings = {RARE: 1, missed: 4}.get(cell)
        if openings is None:
            return []
        made = Found(plan.name, cell.name, SEED, 1, weeks=1.0, openings=openings)
        made.delays[Change(2.0).name] = Delay(30, 1.5)
        return [made, made]

    worlds, laws, named = (
        [*lines] for lines in (by_world(of), by_law(of, Change(2.0)), not_kept(of))
    )
    assert "| weekends | – | 1.00 ± 0.00 (1.0) | – | – | – |" in worlds
    assert worlds[-1] == "| all | – | 2.50 ± 0.87 (4.0) | – | – | – |"
    assert "| claims 0.3 | – | 1.5 (1.5) | – | – | – |" in laws
    assert named[2:] == [
        "| 100/day, i.i.d., claims 0.3 | 2 | 4.00 ± 0.00 | 4.0 | 0% |",
        "of 2 rows",
    ]


def test_another_promise_is_another_threshold() -> None:
    """A change that is seen soon is seen later where fewer false alarms are promised."""
    changes = tuple(Change(2.0, promised) for promised in (7.0, 0.1))
    seen = played(RARE, SEED, 1, FEW, Plan(0.5, changes)).delays
    often, rarely = (seen[change.name].judged or math.inf for change in changes)
    assert often < rarely


#: Small and large changes of the table for users, at promises that are kept and that are not.
CHANGES = (Change(1.2, 7.0), Change(1.5), Change(2.0, 0.1), Change(3.0, 1.0, 2_000.0))


@pytest.mark.parametrize(
    ("rate", "number", "least"), [("20/day", 2, 1.2), ("100/day", 1, 1.2), ("50/h", 1, 2.0)]
)
def test_arrays_tell_what_is_played(rate: str, number: int, least: float) -> None:
    """The table for users is of arrays: to the second they say when an exporter alarms."""
    cell, changes = Cell(rate, *USUAL), tuple(one for one in CHANGES if one.times >= least)
    plan = Plan(WEEKS, changes, SHARE)
    by_arrays, by_exporter = (way(cell, 1, number, one_watched(), plan) for way in (told, played))
    assert by_exporter.delays
    assert by_arrays.delays == by_exporter.delays
    assert by_arrays.learned_h == by_exporter.learned_h


def test_a_table_is_of_one_metric_that_shares_a_promise() -> None:
    """Of five, one false alarm a week lets it alarm when one watched alone does at a fifth."""
    of_five, alone = (
        played(RARE, SEED, 1, FEW, Plan(0.5, (Change(2.0, promised),), share)).delays.values()
        for promised, share in ((1.0, 5), (0.2, 1))
    )
    assert [*of_five] == [*alone]
