"""Does the record of an alarm say what changed?

Simulated incidents, each with traffic of its own: 3 to 10 segments of different sizes and normal
rates, 1,000 judged interactions that the baseline is learned from and as many in control. Then one
segment (at least 5 % of the traffic) becomes so much worse that the mean of all rises by 50 to
200 %, the mix of the traffic shifts and, in every other incident, the judge begins to fail more.

1. How often the planted segment stands first.
2. In how many incidents the share of the mix in the change (mix / (|mix| + |within|)) is right to
   0.1; and both shifts, estimated over true, ± one standard error. One incident's are mostly noise
   (a few dozen scores), so that is over the sum of all: as the record says it at the alarm, as it
   would say it later, and from the true start over as many (the arithmetic alone). At the alarm the
   within-segment shift is exaggerated, also where the start is known: an alarm comes the sooner,
   the worse the first slots happen to be.
3. How often a judge that fails more is named as such, and one that does not.
4. The estimated start, and how often the interval of the record holds the true mean.

    python -m tests.benchmarks.what_changed [--full] [--seed 1] [--incidents 100] [--later 1000]
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from monitor.exporter.alarms.explanation import Story, explained
from monitor.exporter.alarms.transitions import transitions
from monitor.exporter.scores.detectors import DriftDetectors, DriftKey, DriftSettings, Normal
from monitor.exporter.scores.observation import Observation
from monitor.records import JudgeIdentity
from monitor.records.alarm import AlarmRecord
from monitor.stats.baseline import NOTHING, ScoredPick, learned
from monitor.stats.candidates import Candidate
from tests.benchmarks._sizes import parser
from tests.benchmarks.drifting.streams import STANDARD

METRIC: Final = "noise_sensitivity_irrelevant"
JUDGE: Final = JudgeIdentity(name="offline", version="1", model="m", prompts="p", pipeline="joint")
KEY: Final = DriftKey(METRIC, "bot", JUDGE.label)
DAY: Final = 86_400
#: One judged interaction a second, from the beginning of a day on.
START: Final = 20_000 * DAY
SETTINGS: Final = DriftSettings((METRIC,), 1.0, 10_000.0, NOTHING, DAY, 0)
LEARN: Final = 1_000
#: An alarm that comes later than this is none of the incident.
PATIENCE: Final = 2_000
#: Highest rate of a segment, and the smallest share of one that becomes worse.
MOST, LEAST_SHARE = 0.95, 0.05
FAILS, FAILS_MORE = 0.004, 0.10
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Incident:
    """The truth: shares and rates of the segments before and since, and the judge's failures."""

    shares: Array
    rates: Array
    shares_since: Array
    rates_since: Array
    planted: int
    fails_since: float

    @property
    def mix(self) -> float:
        """The mix shift of the mean."""
        return float((self.shares_since - self.shares) @ self.rates)

    @property
    def within(self) -> float:
        """The within-segment shift."""
        return float(self.shares_since @ (self.rates_since - self.rates))


@dataclass(frozen=True)
class Seen:
    """What the monitor made of an incident: at the alarm, later, and told the true start.

    ``late`` is the estimated start less the true one, ``judged`` the slots until the alarm.
    """

    truth: Incident
    record: AlarmRecord
    later: AlarmRecord
    told: AlarmRecord
    late: float
    judged: int


def incident(rng: np.random.Generator, number: int) -> Incident:
    """Made up: sizes, normal rates, another mix, which segment, and how much worse it becomes."""
    count = int(rng.integers(3, 11))
    rates = np.clip(0.08 * np.exp(rng.normal(0.0, 0.6, count)), 0.02, 0.3)
    while True:
        shares = rng.dirichlet(np.full(count, 1.5))
        shifted = shares * np.exp(rng.normal(0.0, 0.5, count))
        since = shifted / shifted.sum()
        planted = int(rng.integers(count))
        worse = rates.copy()
        worse[planted] += rng.uniform(0.5, 2.0) * float(shares @ rates) / since[planted]
        if worse[planted] <= MOST and shares[planted] >= LEAST_SHARE:
            break
    return Incident(shares, rates, since, worse, planted, FAILS_MORE if number % 2 else FAILS)


class World:
    """The monitor's book of detectors, and the traffic that it sees."""

    def __init__(self, rng: np.random.Generator, truth: Incident) -> None:
        self._rng, self._truth = rng, truth
        self.aggregator = DriftDetectors(SETTINGS)
        self.judged = 0

    def step(self, changed: bool) -> ScoredPick | None:
        """One judged interaction; None when the judgement failed."""
        truth, rng = self._truth, self._rng
        shares = truth.shares_since if changed else truth.shares
        rates = truth.rates_since if changed else truth.rates
        segment = int(rng.choice(len(shares), p=shares))
        failed = rng.random() < (truth.fails_since if changed else FAILS)
        value = None if failed else float(STANDARD(rng, 1, float(rates[segment]))[0])
        name = f"s{segment}"
        slot = observation(name, value, failed)
        self.aggregator.apply(candidate(self.judged, slot), slot, +1)
        self.judged += 1
        return None if value is None else ScoredPick(name, 1.0, value)

    @property
    def now(self) -> float:
        """The time of the last judged interaction."""
        return float(START + self.judged - 1)

    def learn(self) -> None:
        """The baseline, as the exporter learns it."""
        picks = [pick for _ in range(LEARN) if (pick := self.step(changed=False)) is not None]
        baseline = learned(picks)
        if baseline is None:
            raise SystemExit("nothing was scored while learning")
        self.aggregator.set_normal("bot", JUDGE.label, Normal({METRIC: baseline}, self.now))

    def alarm(self) -> AlarmRecord | None:
        """The record of an alarm that opens now."""
        states = list(self.aggregator.states(self.now))
        if not any(state.alarm for state in states):
            return None
        return transitions({}, states, self.aggregator.history, self.now, "tenant")[0]

    def told(self, began: int) -> AlarmRecord:
        """The record as it would be if the true start were known."""
        (state,) = self.aggregator.states(self.now)
        history = self.aggregator.history(KEY, self.now)
        if history is None:
            raise SystemExit("no history of a detector")
        before, since = history.counted[:began], history.counted[began:]
        return explained(state, Story(before, since, since), history, self.now, "tenant")


def observation(segment: str, value: float | None, failed: bool) -> Observation:
    """A uniform pick of one interaction."""
    return Observation(
        judge=JUDGE,
        judge_label=JUDGE.label,
        m=1,
        q=1.0,
        u=1.0,
        expected={},
        metrics=(METRIC,),
        numbers=(value,),
        failed=failed,
        segment=segment,
        segments={},
    )


def candidate(number: int, slot: Observation) -> Candidate:
    """The slot of a second."""
    when = float(START + number)
    return Candidate(
        "bot", f"{number:07}", when, when, b"", True, True, "t", 0, "with_reference",
        number, number, slot,
    )  # fmt: skip


def run(seed: int, number: int, control: int, later: int) -> Seen | None:
    """One incident; None when an alarm was open before it, or none came."""
    rng = np.random.default_rng([seed, number])
    truth = incident(rng, number)
    world = World(rng, truth)
    world.learn()
    for _ in range(control):
        world.step(changed=False)
    if world.alarm() is not None:
        return None
    began = world.judged
    for judged in range(1, PATIENCE):
        world.step(changed=True)
        record = world.alarm()
        if record is not None:
            for _ in range(later):
                world.step(changed=True)
            late = record.since.timestamp() - START - began
            return Seen(truth, record, world.alarm() or record, world.told(began), late, judged)
    return None


def found(seed: int, incidents: int, control: int, later: int) -> Iterator[Seen]:
    """As many incidents as are asked for."""
    number = left = 0
    while left < incidents:
        seen = run(seed, number, control, later)
        number += 1
        if seen is not None:
            left += 1
            yield seen


def first(seen: list[Seen], of: Callable[[Seen], AlarmRecord]) -> int:
    """In how many incidents the planted segment stands first."""
    return sum(of(one).segments[0].segment == f"s{one.truth.planted}" for one in seen)


def splits(seen: list[Seen], of: Callable[[Seen], AlarmRecord]) -> tuple[str, str, int]:
    """Within and mix shift, estimated over true; in how many the mix's share is right to 0.1.

    Mix shifts go up and down: they are added up in the direction of the true one.
    """
    signs = [float(np.sign(one.truth.mix)) for one in seen]
    within = _ratio([of(one).change.within for one in seen], [one.truth.within for one in seen])
    mix = _ratio(
        [s * (of(one).change.mix or 0.0) for s, one in zip(signs, seen, strict=True)],
        [abs(one.truth.mix) for one in seen],
    )
    return within, mix, sum(_share_error(one, of(one)) <= 0.1 for one in seen)


def _ratio(found: list[float], true: list[float]) -> str:
    """Of both sums, and its standard error."""
    over, under = np.array(found), np.array(true)
    ratio = over.sum() / under.sum()
    error = math.sqrt(float(((over - ratio * under) ** 2).sum())) / under.sum()
    return f"{ratio:.2f} ± {error:.2f}"


def _share_error(one: Seen, record: AlarmRecord) -> float:
    mix, within = record.change.mix or 0.0, record.change.within
    true = one.truth.mix / (abs(one.truth.mix) + one.truth.within)
    return abs(mix / (abs(mix) + abs(within)) - true)


def _holds(one: Seen) -> bool:
    true = float(one.truth.shares_since @ one.truth.rates_since)
    change = one.record.change
    return (change.lower or 0.0) <= true <= (1.0 if change.upper is None else change.upper)


def judges(seen: list[Seen]) -> tuple[str, str]:
    """How often «more» was said of judges that fail more, and of those that do not."""
    cells = []
    for rate in (FAILS_MORE, FAILS):
        said = [
            one.record.judge_failures.verdict == "more"
            for one in seen
            if one.truth.fails_since == rate
        ]
        cells.append(f"{sum(said)} of {len(said)}")
    return cells[0], cells[1]


def table(seen: list[Seen], later: int) -> None:
    """Print all of it."""
    moments: dict[str, Callable[[Seen], AlarmRecord]] = {
        "at the alarm": lambda one: one.record,
        f"{later:,} judged later": lambda one: one.later,
        "… from the true start": lambda one: one.told,
    }
    print(f"{'':22}{'planted first':>14}{'within/true':>14}{'mix/true':>14}{'share ± 0.1':>14}")
    for name, of in moments.items():
        within, mix, right = splits(seen, of)
        planted = f"{first(seen, of)} of {len(seen)}"
        print(f"{name:22}{planted:>14}{within:>14}{mix:>14}{right:>7} of {len(seen)}")
    named, wrongly = judges(seen)
    print(f"judge said to fail more: {named} that do, {wrongly} that do not")
    late = np.array([one.late for one in seen])
    judged = np.median([one.judged for one in seen])
    held = sum(_holds(one) for one in seen)
    print(
        f"estimated start less the true one: median {np.median(late):+.0f} judged, median size "
        f"{np.median(np.abs(late)):.0f}, of {judged:.0f} from the change to the alarm (median)"
    )
    print(f"true mean since within the interval of the record at the alarm: {held} of {len(seen)}")
    print(f"for example: {seen[0].record.answer}")


def main() -> None:
    """Print the table."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--incidents", type=int, default=None, help="default 30; full: 100")
    line.add_argument("--control", type=int, default=1_000, help="slots between learning and it")
    line.add_argument("--later", type=int, default=None, help="default 300; full: 1,000")
    chosen = line.parse_args()
    incidents = chosen.incidents or (100 if chosen.full else 30)
    later = chosen.later if chosen.later is not None else 1_000 if chosen.full else 300
    began = time.monotonic()
    table(list(found(chosen.seed, incidents, chosen.control, later)), later)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
