"""Whether a cluster answers: a small question every few seconds, so that readiness knows.

An idle client does not notice that its broker is frozen, and a busy one only after its requests
have timed out, which takes 40 s. The check has a connection of its own and a short limit. It only
tells; the clients themselves go on trying, and come back alone. Nor do clients say anything of a
topic that is deleted while they use it: they wait for it to come back, and so the check asks for
the topics, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager

from aiokafka import errors

from monitor.errors import ConfigurationError
from monitor.kafka.connection import Connection
from monitor.kafka.probe.diagnose import diagnose, unreadable
from monitor.kafka.probe.login import Login, NoToken
from monitor.kafka.probe.steps import new_login
from monitor.kafka.problems import PASSING, Problem, ProblemKind
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.runtime.supervision import meanwhile

EVERY_S, LIMIT_S = 2.0, 4.0
#: Seconds to the next look at a broker that is away; every look of every process is a connection
#: that it will find waiting. A refused login is repeated even less often: it may lock the account.
AWAY_WAIT_S, REFUSED_WAIT_S = 5.0, 30.0


class AvailabilityCheck:
    """Asks one cluster; ``part`` is what it is called in ``Health``.

    Of ``topics``, those that were there once and are missing at two beats in a row are told; what
    was never there is for those who wait for it at their start.
    """

    def __init__(
        self,
        connection: Connection,
        health: Health,
        part: str,
        limit_s: float = LIMIT_S,
        topics: Collection[str] = (),
    ) -> None:
        self._connection, self._health, self._part = connection, health, part
        self._limit_s, self._topics = limit_s, frozenset(topics)
        self._seen: set[str] = set()
        self._missing: set[str] = set()
        self._login: Login | None = None
        self._wait_s = EVERY_S

    async def run(self) -> None:
        """Ask for ever."""
        try:
            while True:
                await self.beat()
                await asyncio.sleep(self._wait_s)
        finally:
            self._hang_up()

    async def beat(self) -> None:
        """Ask once, and tell what came of it."""
        try:
            self._tell(await self._found())
        except Exception:  # noqa: BLE001 - a bug in here must not end a process that works
            logger().exception("kafka_pulse_bug", what=self._part)

    async def _found(self) -> Problem | None:
        """What is wrong, if anything."""
        try:
            return None if await self._answers() else await self._look()
        except ConfigurationError as error:
            return unreadable(error)

    def _tell(self, problem: Problem | None) -> None:
        """Say it, and when the next look is due."""
        if problem is None:
            self._connection.problems.let_in = True
            self._connection.problems.over(self._connection.name, self._part)
            self._health.ready(self._part)
            self._wait_s = EVERY_S
        else:
            self._complain(problem)
            longest = AWAY_WAIT_S if problem.kind in PASSING else REFUSED_WAIT_S
            self._wait_s = min(2 * self._wait_s, longest)

    async def _answers(self) -> bool:
        """Whether the broker at the other end of our connection answers, if we have one."""
        if self._login is None:
            return False
        try:
            async with asyncio.timeout(self._limit_s):
                missing = await self._login.missing(self._topics)
        except TimeoutError:
            # Readiness first: to find out why takes longer.
            what = f"no answer within {self._limit_s:g} s"
            self._health.waits(self._part, f"Kafka {self._connection.bootstrap_servers}: {what}")
        except (errors.KafkaError, OSError):
            pass  # closed: the broker has gone or been restarted, or our token has ended
        else:
            self._look_at_topics(missing)
            return True
        self._hang_up()
        return False

    def _look_at_topics(self, missing: set[str]) -> None:
        gone = missing & self._missing & self._seen
        if found := self._topics - missing - self._seen:
            logger().debug("kafka_topics_seen", what=self._part, topics=sorted(found))
        self._seen |= found
        self._missing = missing
        part, problems = f"{self._part}_topics", self._connection.problems
        if not gone:
            problems.over(self._connection.name, part)
            self._health.ready(part)
            return
        names = ", ".join(sorted(gone))
        message, mend = f"there is no topic {names} any more", "create it again; it is waited for"
        self._health.waits(part, f"{message}: {mend}")
        problem = Problem(ProblemKind.MISSING_TOPIC, message, mend, topic=names)
        problems.meet(self._connection.name, part, problem)

    async def _look(self) -> Problem | None:
        """What keeps us from the cluster; when it is nothing, there is a connection again."""
        problem = await diagnose(self._connection, self._limit_s)
        if problem is None:
            await self._connect()
        return problem

    async def _connect(self) -> None:
        """To the first broker that lets us in; if none does, the next beat looks again."""
        for address in self._connection.bootstrap_servers.split(","):
            login = new_login(self._connection, address, self._limit_s)
            try:
                async with asyncio.timeout(self._limit_s):
                    await login.connect()
            except (errors.KafkaError, OSError, TimeoutError, NoToken):
                login.close()
            else:
                self._login = login
                return

    def _complain(self, problem: Problem) -> None:
        self._connection.problems.meet(self._connection.name, self._part, problem)
        where = problem.broker or self._connection.bootstrap_servers
        self._health.waits(self._part, f"Kafka {where}: {problem.found}; {problem.mend}")

    def _hang_up(self) -> None:
        if self._login is not None:
            self._login.close()
            self._login = None


@asynccontextmanager
async def watched(
    clusters: Mapping[str, tuple[Connection, Collection[str]]], health: Health
) -> AsyncIterator[None]:
    """Every cluster, and those of its topics, is asked meanwhile."""
    checks = [
        AvailabilityCheck(connection, health, name, topics=topics)
        for name, (connection, topics) in clusters.items()
    ]
    named = zip(clusters, checks, strict=True)
    async with meanwhile(*((f"the availability of {name}", check.run()) for name, check in named)):
        yield
