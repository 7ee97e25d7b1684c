"""What it costs to be refused for good, for each of the refusals that only a person can mend.

A judge in full swing (eight judgements at once), from one moment on every request gets one of the
refusals of tests/data/provider_errors.jsonl, and interactions go on coming. Printed are the
requests until judging stopped (at most 20), those after that by probe intervals (at most one each),
and how long after the provider takes requests again the judge is judging, by itself.

    python tests/benchmarks/terminal_errors.py [--full]

An interval is half a second, ``--full`` three.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any, Final, NamedTuple

from tests.benchmarks._sizes import parser
from tests.e2e.process import until
from tests.servers.judge_weather import Weather
from tests.unit.judge.test_pressure import TERMINAL, Stage, refusal, stage

MOST: Final = 20
INTERVALS: Final = 3
COMING_S: Final = 0.02
STEP_S: Final = 0.01
#: What is under way takes so long.
LATENCY_S: Final = 0.3


class Row(NamedTuple):
    """What one refusal cost: requests, probes, and seconds from the healing to the judging."""

    requests: int
    probes: int
    healed_s: float
    reasons: set[str]


class Coming:
    """Interactions that go on coming, whatever becomes of them."""

    def __init__(self, made: Stage) -> None:
        self._made = made
        self._works = set[asyncio.Task[None]]()
        self.endings: list[str] = []

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                work = asyncio.create_task(self._one())
                self._works.add(work)
                work.add_done_callback(self._works.discard)
                await asyncio.sleep(COMING_S)
        finally:
            for work in list(self._works):
                work.cancel()
            await asyncio.gather(*self._works, return_exceptions=True)

    async def _one(self) -> None:
        self.endings.append(await self._made.one())


async def refused(case: dict[str, Any], interval_s: float) -> Row:
    """Judge, be refused, stop, probe, heal."""
    async with stage(probe_s=interval_s) as (made, weather, _):
        weather.latency_s = LATENCY_S
        coming = Coming(made)
        running = asyncio.create_task(coming.run())
        await until(lambda: coming.endings.count("scored") >= 30, "judging", every_s=STEP_S)
        before, ended = len(weather.requests), len(coming.endings)
        weather.refusal = refusal(case)
        await until(lambda: made.state() == "stopped", "the stop", every_s=STEP_S)
        await asyncio.sleep(max(LATENCY_S, interval_s / 2))  # those under way end
        requests = len(weather.requests) - before
        await asyncio.sleep(INTERVALS * interval_s)
        probes = len(weather.requests) - before - requests
        reasons = set(coming.endings[ended:]) - {"scored"}
        healed_s = await _healed(made, weather)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return Row(requests, probes, healed_s, reasons)


async def _healed(made: Stage, weather: Weather) -> float:
    weather.refusal, since = None, time.monotonic()
    await until(lambda: made.state() == "judging", "the next probe", every_s=STEP_S)
    return time.monotonic() - since


async def run(interval_s: float) -> int:
    """Print a row for each; how many miss a bar."""
    print("provider       status  requests  probes in 3 intervals  judging again after  reason")
    missed = 0
    for case in TERMINAL:
        found = await refused(case, interval_s)
        held = found.requests <= MOST and found.probes <= INTERVALS + 1
        held = held and found.reasons == {case["reason"]}
        missed += not held
        print(
            f"{case['provider']:14} {case['status']:6} {found.requests:9} {found.probes:12} "
            f"{found.healed_s:22.2f} s        {', '.join(sorted(found.reasons))}"
            f"{'' if held else '   MISSED'}",
            flush=True,
        )
    return missed


def main() -> int:
    """The exit code says whether all bars are held."""
    return min(1, asyncio.run(run(3.0 if parser(__doc__).parse_args().full else 0.5)))


if __name__ == "__main__":
    sys.exit(main())
