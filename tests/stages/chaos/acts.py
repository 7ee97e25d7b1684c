"""What is done to a stage: chaos, or a rolling restart under steady traffic."""

from __future__ import annotations

import asyncio
import time

from tests.stages.chaos.run import Stage
from tests.stages.chaos.strikes import Blows, Kind, Strike, schedule
from tests.stages.process import until

#: So many interactions lie ready beyond those that are done: every kill hits full hands.
LEAD = 2_000


async def chaos(stage: Stage, blows: Blows) -> None:
    """Feed everything, and strike in the midst of it."""
    bursts = schedule(blows, len(stage.traffic), stage.setup.seed)
    broker = asyncio.Lock()
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.feeder.run(stage.traffic, lambda: stage.progress + LEAD))
        for burst in bursts:
            await stage.reached(burst.at)
            # Not waited for: the next burst may fall into the trouble that this one has made.
            for strike in burst.strikes:
                group.create_task(_strike(stage, strike, broker))


async def _strike(stage: Stage, strike: Strike, broker: asyncio.Lock) -> None:
    await asyncio.sleep(strike.delay_s)
    match strike.kind:
        case Kind.KILL:
            await until(lambda: stage.crew.kill(strike.pick), "a scorer to kill")
        case Kind.TERM:
            await until(lambda: stage.crew.term(strike.pick), "a scorer that is up")
        case Kind.BROKER_KILL:
            async with broker:
                await asyncio.to_thread(stage.broker.kill)
                await asyncio.to_thread(stage.broker.start)
        case Kind.BROKER_STOP:
            async with broker:
                await asyncio.to_thread(stage.broker.restart)
    stage.struck[strike.kind] += 1


async def rolling_restart(stage: Stage, rounds: int, per_second: float) -> None:
    """Restart one scorer after the other, ``rounds`` times, while traffic flows steadily.

    The traffic ends with the last restart.
    """
    begun = time.monotonic()

    def due() -> float:
        return (time.monotonic() - begun) * per_second

    async with asyncio.TaskGroup() as group:
        group.create_task(stage.feeder.run(stage.traffic, due))
        for _ in range(rounds):
            for place in range(len(stage.crew.places)):
                await stage.reached(stage.progress + 1)
                await stage.crew.restart(place)
                await stage.crew.places[place].ready()
                stage.struck[Kind.TERM] += 1
        stage.feeder.enough = True
    if stage.feeder.fed == len(stage.traffic):
        raise RuntimeError("the traffic ended before the restarts did: make more")
    stage.traffic = stage.traffic[: stage.feeder.fed]
