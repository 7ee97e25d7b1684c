"""What does the risk signal cost? Records per CPU second of the scorer, without a judge that costs.

Interactions of usual length (a response of four sentences, five passages) go through the scorer
in blocks of 32: decoded, gathered, picked from, and the pick's record built. The judge answers at
once. Three times: without a signal, with the signal on a tenth of the traffic (the rest is left
out by its hash), and with the signal on all of it.

    python -m tests.benchmarks.screening [--full] [--records 3200]
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry

from monitor.control.calibrations import Calibrations
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.judge.limits.limits import Limits
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Verdicts
from monitor.runtime.health import Health
from monitor.sampling.blocks import BlockPlan
from monitor.sampling.hashing import Sampler
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.picking import Member, Picker, PickSettings
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.scorer.slots import Slots
from monitor.stats.calibration import Calibration
from monitor.telemetry import ScorerTelemetry
from tests.benchmarks._sizes import parser
from tests.stages.fixed_pace import FixedPace
from tests.stages.loop import Record
from tests.stages.producers import Memory

BLOCK: Final = 32
WORDS: Final = (
    *("warranty", "lasts", "months", "delivery", "returning", "item", "costs", "euros", "price"),
    *("support", "order", "number", "shipping", "Norway", "takes", "days", "battery", "refund"),
)
IDENTITY: Final = JudgeIdentity(name="none", version="1", model="m", prompts="-", pipeline="p")
KNOWN: Final = Calibration((0.25,), (0.5, 2.0), {"faithfulness": (0.05, 0.4)})


class AtOnce:
    """A judge that finds nothing to judge."""

    identity = IDENTITY

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        return Judgement(
            claims=Claims(),
            passages=len(interaction.retrieved_contexts),
            has_reference=False,
            verdicts=Verdicts(),
            judge=IDENTITY,
        )

    async def prepare(self) -> None:
        return

    async def aclose(self) -> None:
        return


class Known(Calibrations):
    """The same for everything."""

    def of(self, application: str, judge: str) -> Calibration | None:
        return KNOWN


def sentence(rng: random.Random) -> str:
    """Twelve words and a number."""
    return f"The {' '.join(rng.choices(WORDS, k=12))} {rng.randint(1, 99)}."


def records(count: int) -> list[Record]:
    """Interactions one after the other."""
    rng = random.Random(1)
    return [
        Record(
            n,
            key=b"i%d" % n,
            value=json.dumps(
                {
                    "interaction_id": f"i{n}",
                    "application": "bot",
                    "user_input": sentence(rng),
                    "response": " ".join(sentence(rng) for _ in range(4)),
                    "retrieved_contexts": [
                        " ".join(sentence(rng) for _ in range(6)) for _ in range(5)
                    ],
                }
            ).encode(),
        )
        for n in range(count)
    ]


class Setup(NamedTuple):
    """A line of the table."""

    name: str
    rate: float
    directed: bool


def scorer(setup: Setup) -> Scorer:
    """One that writes nowhere."""
    telemetry, written = ScorerTelemetry(CollectorRegistry()), Memory()
    gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    slot_buffer: SlotBuffer[Member] = SlotBuffer(FixedPace(BlockPlan(BLOCK)), time.monotonic)
    picker = Picker(PickSettings(directed=setup.directed), calibrations=Known())
    return Scorer(
        ScorerSettings("scores", 1_000_000),
        Policies(ScoringPolicy(Sampler(setup.rate, "record_key"), AtOnce(), Limits(8, 60.0))),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        time.time,
        slots=Slots(slot_buffer, picker),
    )


async def consumed(worker: Scorer, fed: Sequence[Record]) -> float:
    """CPU seconds of this process for all records."""
    begun, tasks = time.process_time(), list[asyncio.Task[None]]()
    for start in range(0, len(fed), 512):
        for record in worker.prefilter(fed[start : start + 512]):
            if (work := worker.begin(record)) is not None:
                tasks.append(work.start())
        worker.turn()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    return time.process_time() - begun


def main() -> None:
    """Print the table."""
    line = parser(__doc__)
    line.add_argument("--records", type=int, help="default 3,200; full: 32,000; whole blocks")
    chosen = line.parse_args()
    count = chosen.records or (32_000 if chosen.full else 3_200)
    fed = records(count)
    size = sum(len(record.value or b"") for record in fed) / count
    print(f"{count:,} records of {size:,.0f} bytes, blocks of {BLOCK}; records per CPU second")
    for setup in (
        Setup("no signal", 1.0, False),
        Setup("no signal, a tenth of the traffic", 0.1, False),
        Setup("the signal on a tenth of the traffic", 0.1, True),
        Setup("the signal on all of the traffic", 1.0, True),
    ):
        spent_s = asyncio.run(consumed(scorer(setup), fed))
        print(f"  {setup.name:38} {count / spent_s:9,.0f}")


if __name__ == "__main__":
    main()
