"""Every broker address: those of the settings, and those that the cluster hands out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from monitor.doctor.report import CheckStatus, ReportLine
from monitor.kafka.connection import Connection
from monitor.kafka.probe.steps import ProbeStep, probe

#: Seconds for all steps to one broker.
STEPS_LIMIT_S = 5.0
#: Beyond it a large cluster would be asked for long; the rest is named.
MOST_BROKERS = 50
ADVERTISED = (
    "the cluster hands this address out: make the name resolve and the port reachable from here, "
    "or change advertised.listeners of that broker"
)


async def examine(connection: Connection, addresses: Sequence[str]) -> list[list[ProbeStep]]:
    """The steps to each of the addresses, all at once; within ``STEPS_LIMIT_S`` seconds."""
    return await asyncio.gather(
        *(probe(connection, address, STEPS_LIMIT_S) for address in addresses)
    )


def reachable(steps: Iterable[ProbeStep]) -> bool:
    """Whether every step is fine."""
    return all(step.kind is None for step in steps)


def of_settings(visits: Sequence[Sequence[ProbeStep]]) -> list[ReportLine]:
    """Lines for the addresses of the settings: while one of them serves, the others may be away."""
    bad = CheckStatus.WARN if any(map(reachable, visits)) else CheckStatus.FAIL
    return [
        ReportLine(step.name, step.address, CheckStatus.OK if step.kind is None else bad, *step[3:])
        for steps in visits
        for step in steps
    ]


def of_cluster(visits: Sequence[Sequence[ProbeStep]]) -> list[ReportLine]:
    """Lines for addresses that the cluster hands out; a dead one is explained, being no setting."""
    found = []
    for step in (step for steps in visits for step in steps):
        status = CheckStatus.OK if step.kind is None else CheckStatus.FAIL
        unreached = step.kind is not None and step.name in ("dns", "tcp")
        mend = ADVERTISED if unreached else step.mend
        found.append(ReportLine(step.name, step.address, status, step.found, mend))
    return found
