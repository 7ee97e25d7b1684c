"""What it costs to be refused for good, for each of the refusals that only a person can mend.

A judge in full swing (eight judgements at once), from one moment on every request gets one of the
refusals of tests/data/provider_errors.jsonl, and interactions go on coming. Printed are the
requests until judging stopped (at most 20), those after that by probe intervals (at most one each),
and how long after the provider takes requests again the judge is judging, by itself.

    python tests/benchmarks/terminal_errors.py [--full]

An interval is half a second, ``--full`` three. Then the requests of a key that is wrong from the
start, and of one that is withdrawn as soon as it was healed, with more and more judgements at once
(each at most 20).
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any, Final, NamedTuple

from tests.benchmarks._sizes import parser
from tests.servers.judge_weather import Weather
from tests.stages.process import until
from tests.stages.provider import TERMINAL, Stage, refusal, stage

MOST: Final = 20
INTERVALS: Final = 3
COMING_S: Final = 0.02
STEP_S: Final = 0.01
AT_ONCE: Final = (8, 64, 256)
WRONG_KEY: Final = next(case for case in TERMINAL if case["status"] == 401)
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


async def wrong_key(concurrency: int, interval_s: float) -> tuple[int, int]:
    """The requests of a key that is wrong, and of one that was right for one judgement."""
    async with stage(probe_s=interval_s, concurrency=concurrency) as (made, weather, _):
        weather.refusal = refusal(WRONG_KEY)
        await made.many(2 * concurrency)
        first = len(weather.requests)
        weather.refusal = None
        await until(lambda: _is_scored(made), "a judge that is healed", every_s=STEP_S)
        before, weather.refusal = len(weather.requests), refusal(WRONG_KEY)
        await made.many(2 * concurrency)
        return first, len(weather.requests) - before


async def _is_scored(made: Stage) -> bool:
    return await made.one() == "scored"


async def run_wide(interval_s: float) -> int:
    """Print a line for each concurrency; how many miss the bar."""
    missed = 0
    for concurrency in AT_ONCE:
        found = await wrong_key(concurrency, interval_s)
        missed += max(found) > MOST
        print(
            f"a wrong key with {concurrency} judgements at once: {found[0]} requests from the "
            f"start, {found[1]} once it was healed{'' if max(found) <= MOST else '   MISSED'}",
            flush=True,
        )
    return missed


def main() -> int:
    """The exit code says whether all bars are held."""
    interval_s = 3.0 if parser(__doc__).parse_args().full else 0.5
    missed = asyncio.run(run(interval_s)) + asyncio.run(run_wide(interval_s))
    return min(1, missed)


if __name__ == "__main__":
    sys.exit(main())
