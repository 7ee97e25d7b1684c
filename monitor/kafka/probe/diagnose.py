"""Why a cluster does not answer: all its addresses probed, and the most telling answer taken."""

from __future__ import annotations

import asyncio

from monitor.errors import ConfigurationError
from monitor.kafka.connection import Connection
from monitor.kafka.probe.steps import ProbeStep, advertised, probe
from monitor.kafka.problems import PASSING, Problem, ProblemKind

STEP_LIMIT_S = 4.0
#: Of a large cluster as many brokers tell as much as all of them.
MOST_BROKERS = 3


async def diagnose(connection: Connection, limit_s: float = STEP_LIMIT_S) -> Problem | None:
    """What keeps us from the cluster; None when one of its brokers answers.

    Each step of a probe may take ``limit_s`` seconds. Raises ``ConfigurationError`` for certificate
    files that cannot be read.
    """
    given = [address.strip() for address in connection.bootstrap_servers.split(",")]
    found = await _probed(connection, given, limit_s)
    answering = [steps[-1].address for steps in found if steps[-1].kind is None]
    if not answering:
        return _most_telling(found)
    return await _behind(connection, given, answering[0], limit_s)


async def _behind(
    connection: Connection, given: list[str], answering: str, limit_s: float
) -> Problem | None:
    """Clients go on to the addresses that the brokers tell: these have to be reached, too."""
    told = await advertised(connection, answering, limit_s)
    if not told or set(told) & set(given):
        return None
    found = await _probed(connection, told[:MOST_BROKERS], limit_s)
    if any(steps[-1].kind is None for steps in found):
        return None
    finding = _most_telling(found)
    return finding._replace(
        found=f"{finding.found} (an address announced by {answering})",
        mend=f"{finding.mend}; the broker's advertised.listeners must be reachable from here",
    )


async def _probed(
    connection: Connection, addresses: list[str], limit_s: float
) -> list[list[ProbeStep]]:
    return list(await asyncio.gather(*(probe(connection, a, limit_s) for a in addresses)))


def _most_telling(found: list[list[ProbeStep]]) -> Problem:
    """A refusal says more than silence."""
    findings = [
        Problem(ProblemKind(last.kind), last.found, last.mend, last.address)
        for last in (steps[-1] for steps in found)
        if last.kind is not None
    ]
    return min(findings, key=lambda finding: finding.kind in PASSING)


def unreadable(error: ConfigurationError) -> Problem:
    """Certificate or secret files that cannot be read, perhaps because they are being changed."""
    mend = "put the files back; they are read again at every attempt"
    return Problem(ProblemKind.UNREADABLE_FILES, str(error), mend)
