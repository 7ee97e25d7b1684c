"""Five watched metrics: how often do they alarm in vain, and how soon when answers stop coming?

The demo's traffic, its judge, and what scorer and exporter make of it, with the settings as they
are shipped; only the clock and the topics are left out. Of every seed:

1. a baseline is learned from 1,000 picks, and a week of traffic as usual follows: openings by
   metric, where at most one a week is promised for all five together;
2. an incident comes instead: refusals rise from 5 to 49 %, passages are empty in 46 %, or in all.
   How many are judged from the change to the alarm?

    python -m tests.benchmarks.quiet_weeks [--full] [--seed 1] [--weeks 2] [--per-day 720]
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, NamedTuple

from monitor.app.scores import aggregators
from monitor.config import Settings, load
from monitor.demo.mix import NORMAL
from monitor.demo.traffic import DemoTraffic
from monitor.ingest.formats import native
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.records import ScoreRecord, Source
from monitor.records.alarm import AlarmRecord
from monitor.sampling.hashing import Sampler
from monitor.scorer import score_records
from monitor.scorer.judging import JudgingInput, ScoringPolicy, judged
from tests.benchmarks._sizes import parser
from tests.benchmarks.promising.installation import Exporter

DAY: Final = 86_400
#: The beginning of a day.
START: Final = 20_778 * DAY
#: Judged until a baseline is there, some more so that it is, and what is judged after a change at
#: most.
LEARN, MORE, PATIENCE = 1_000, 60, 400
SEGMENT: Final = ("tenant",)
REFUSAL: Final = "I am sorry, I cannot help you with that."

#: An interaction as it is logged, and a draw → what is logged instead.
Altered = Callable[[dict[str, Any], float], dict[str, Any]]


def as_usual(logged: dict[str, Any], _draw: float) -> dict[str, Any]:
    """Nothing is wrong; one response in twenty is a refusal."""
    return logged


def refusing(share: float) -> Altered:
    """So many more responses are refusals."""
    return lambda logged, draw: {**logged, "response": REFUSAL} if draw < share else logged


def emptied(share: float) -> Altered:
    """So many have passages without a word."""
    blank = [{"text": ""}]
    return lambda logged, draw: {**logged, "retrieved_contexts": blank} if draw < share else logged


INCIDENTS: Final[Mapping[str, tuple[str, Altered]]] = {
    "refusals 5 % → 49 %": ("answered", refusing(0.463)),
    "passages empty in 46 %": ("retrieved", emptied(0.46)),
    "passages empty in 100 %": ("retrieved", emptied(1.0)),
}


#: What a baseline is learned from, by seed, seconds from one to the next, and number: incidents
#: that begin alike are judged once until they do.
_LEARNED: Final[dict[tuple[int, float, int], ScoreRecord]] = {}


class Watched:
    """A monitor whose time is an argument; one pick every ``every_s`` seconds."""

    def __init__(self, seed: int, every_s: float, settings: Settings | None = None) -> None:
        self._settings = settings or load({}, flags={"export.segment": "tenant"})
        self._traffic = DemoTraffic(seed, lambda _: NORMAL)
        self._seed, self._every_s = seed, every_s
        self._policy = ScoringPolicy(Sampler(1.0), OfflineJudge(), Limits(1, 60.0), SEGMENT)
        self.found = aggregators(self._settings)
        self._exporter = Exporter(self.found, self.found.scores, *SEGMENT)
        self.judged = 0
        self.now = float(START)

    async def pick(self, altered: Altered = as_usual) -> ScoreRecord:
        """One more interaction is logged, judged and read by the exporter."""
        learned = altered is as_usual and self.judged < LEARN + MORE
        key = self._seed, self._every_s, self.judged
        if (record := _LEARNED.get(key)) is None or not learned:
            record = await self._record(altered)
        if learned:
            _LEARNED[key] = record
        self.judged, self.now = self.judged + 1, record.judged_at.timestamp() + 1.0
        self.found.scores.add(record, record.to_json())
        return record

    async def _record(self, altered: Altered) -> ScoreRecord:
        at = datetime.fromtimestamp(START + self.judged * self._every_s, UTC)
        logged = self._traffic.interaction(self.judged, at).json
        logged = altered(logged, Random(f"altered/{self._seed}/{self.judged}").random())
        source = Source(topic="t", partition=0, offset=self.judged)
        decoded = native.decode(json.dumps(logged).encode(), source, int(at.timestamp() * 1000))
        result = await judged(JudgingInput(decoded.interaction), self._policy)
        return score_records.build(
            decoded.interaction, result, rate=1.0, segment_by=SEGMENT, now=at
        )

    def look(self) -> list[AlarmRecord]:
        """What the exporter does from time to time; the alarms that have opened since."""
        return [one for one in self._exporter.look(self.now).records if one.state == "open"]

    async def learned(self) -> None:
        """Traffic as usual until there is a baseline."""
        (needed,) = (self._settings.drift.learn_slots,)
        for number in range(needed + MORE):
            await self.pick()
            if number % 10 == 0:
                self.look()
        self.look()


async def quiet(seed: int, days: float, per_day: int) -> Counter[str]:
    """Openings by metric in so many days of traffic as usual."""
    watched, found = Watched(seed, DAY / per_day), Counter[str]()
    await watched.learned()
    for number in range(round(days * per_day)):
        await watched.pick()
        if number % 10 == 0:
            found.update(record.metric for record in watched.look())
    return found


class Incident(NamedTuple):
    """Judged from the change to the alarm of the ``metric``; None where it did not come."""

    metric: str
    judged: int | None
    said: str


async def incident(
    name: str, seed: int, settings: Settings | None = None, every_s: float = 60.0
) -> Incident:
    """The first alarm after a change."""
    metric, altered = INCIDENTS[name]
    watched = Watched(seed, every_s, settings)
    await watched.learned()
    for number in range(1, PATIENCE + 1):
        await watched.pick(altered)
        for record in watched.look():
            if record.metric == metric:
                return Incident(metric, number, record.answer)
    return Incident(metric, None, "")


async def rows(seed: int, weeks: int, per_day: int) -> AsyncIterator[str]:
    """What was found, line by line."""
    total = Counter[str]()
    for number in range(weeks):
        total += await quiet(seed + number, 7.0, per_day)
    by_metric = ", ".join(f"{metric} {count}" for metric, count in sorted(total.items()))
    yield f"{weeks} quiet weeks of {7 * per_day:,} judged: {total.total()} openings {by_metric}"
    yield f"a week: {total.total() / weeks:.2f} (promised: at most 1)"
    for name in INCIDENTS:
        found = [await incident(name, seed + number) for number in range(max(3, weeks // 2))]
        judged_until = sorted(PATIENCE if one.judged is None else one.judged for one in found)
        middle = judged_until[len(judged_until) // 2]
        yield f"{name}: judged until {found[0].metric} alarms: {middle} (most {judged_until[-1]})"


async def printed(seed: int, weeks: int, per_day: int) -> None:
    """Print them as they come."""
    began = time.perf_counter()
    async for line in rows(seed, weeks, per_day):
        print(line, flush=True)
    print(f"{time.perf_counter() - began:.0f} s")


def main() -> None:
    """Read the arguments, and run."""
    found = parser(__doc__)
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--weeks", type=int, default=None, help="default 2; full: 20")
    found.add_argument("--per-day", type=int, default=720)
    chosen = found.parse_args()
    weeks = chosen.weeks or (20 if chosen.full else 2)
    asyncio.run(printed(chosen.seed, weeks, chosen.per_day))


if __name__ == "__main__":
    main()
