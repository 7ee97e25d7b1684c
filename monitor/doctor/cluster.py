"""One Kafka cluster: its brokers, the topics that the monitor needs there, and its group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from monitor.doctor import network, topics
from monitor.doctor.needs import Need
from monitor.doctor.report import ReportLine, fail, ok, warn
from monitor.kafka.cluster_state import GroupFound, TopicFound, Unanswered
from monitor.kafka.connection import Connection
from monitor.kafka.inspect import Inspector

#: Seconds for one answer.
ANSWER_LIMIT_S = 5.0


class Site(NamedTuple):
    """A cluster as the settings have it: section, connection, topics, and the group if any."""

    section: str
    connection: Connection
    needs: Sequence[Need]
    group_id: str | None = None


class Demands(NamedTuple):
    """What the settings ask of topics; seconds, bytes, and ``kafka.create_topics``.

    ``waits``: whether interactions wait for the next day's money. ``period_keep_s``: the same as
    ``keep_s`` for the period that goes by how many are judged.
    """

    keep_s: int
    max_record_bytes: int
    create: bool
    waits: bool = False
    period_keep_s: int = 0


@dataclass(slots=True)
class Cluster:
    """What has been found of a cluster so far; ``inspector`` is None when no broker answers."""

    site: Site
    inspector: Inspector | None = None
    found: Mapping[str, TopicFound] = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, str] | Unanswered] = field(default_factory=dict)
    group: GroupFound | None = None

    async def brokers(self) -> AsyncIterator[list[ReportLine]]:
        """Try every address of the settings, then those that the cluster advertises."""
        connection = self.site.connection
        given = [part.strip() for part in connection.bootstrap_servers.split(",")]
        visits = await network.examine(connection, given)
        yield network.of_settings(visits)
        fine = {at for at, steps in zip(given, visits, strict=True) if network.reachable(steps)}
        if not fine:
            return
        try:
            self.inspector = await Inspector.start(connection, ANSWER_LIMIT_S)
        except Unanswered as error:
            mend = "check that the brokers are neither frozen nor overloaded"
            yield [fail("cluster", self.site.section, f"does not describe itself: {error}", mend)]
            return
        yield await self._advertised(fine)

    async def _advertised(self, fine: set[str]) -> list[ReportLine]:
        assert self.inspector is not None
        brokers = self.inspector.brokers
        asked = [b for b in brokers if b not in fine][: network.MOST_BROKERS]
        visits = await network.examine(self.site.connection, asked)
        shown = ", ".join(brokers[:5]) + (", …" if len(brokers) > 5 else "")
        count = "1 broker" if len(brokers) == 1 else f"{len(brokers)} brokers"
        first = ok("cluster", self.site.section, f"{count}, advertised as {shown}")
        return [first, *network.of_cluster(visits)]

    async def look(self) -> list[ReportLine]:
        """Ask for topics, their settings and the group; the lines say what could not be asked."""
        if self.inspector is None:
            what = "not looked at: no broker answers"
            return [warn("topics", self.site.section, what, "mend the lines above first")]
        names = [need.topic for need in self.site.needs]
        try:
            self.found = await self.inspector.topics(names)
        except Unanswered as error:
            what = f"the cluster does not report them: {error}"
            return [fail("topics", self.site.section, what, "mend the lines above first")]
        there = [name for name in names if _is_there(self.found.get(name))]
        if there:
            try:
                self.configs = await self.inspector.settings(there)
            except Unanswered as error:
                self.configs = dict.fromkeys(there, error)
        return await self._look_at_group(self.inspector)

    async def _look_at_group(self, inspector: Inspector) -> list[ReportLine]:
        group = self.site.group_id
        if group is None:
            return []
        try:
            self.group = await inspector.group(group)
        except Unanswered as error:
            mend = "grant Read on the group, if it is not granted"
            return [warn("group", group, f"unknown: {error}", mend)]
        return []

    def existing(self) -> list[tuple[Need, TopicFound]]:
        """The topics that are there and may be described."""
        pairs = [(need, self.found.get(need.topic)) for need in self.site.needs]
        return [(need, found) for need, found in pairs if found and _is_there(found)]

    def readable(self) -> set[str]:
        """The names of those with a leader for each partition."""
        if self.inspector is None:
            return set()
        return {need.topic for need, found in self.existing() if not found.leaderless}

    def settings_of(self, topic: str) -> Mapping[str, str] | None:
        """The settings of a topic; None when they are not told."""
        found = self.configs.get(topic)
        return found if isinstance(found, Mapping) else None

    def lines(self, demands: Demands, input_bytes: int | None) -> list[ReportLine]:
        """All that there is to say of topics and group, topic by topic."""
        lines: list[ReportLine] = []
        for need in self.site.needs:
            found = self.found.get(need.topic)
            if found is None:
                continue
            lines.append(topics.existence(need, found, create=demands.create))
            if _is_there(found):
                lines += self._of_existing(need, found, demands, input_bytes)
        if self.group is not None and self.site.group_id is not None:
            lines.append(topics.group_rights(self.site.group_id, self.group))
        return lines

    def _of_existing(
        self, need: Need, found: TopicFound, demands: Demands, input_bytes: int | None
    ) -> list[ReportLine]:
        lines = []
        if need.setting == "interactions":
            lines.append(topics.partition_hint(need, found, self.group))
        lines.append(topics.rights(need, found))
        configs = self.configs.get(need.topic)
        if configs is None:
            return lines
        if isinstance(configs, Unanswered):
            return [*lines, topics.unknown_settings(need, configs)]
        lines += [topics.cleanup(need, configs)]
        if need.setting == "interactions" and demands.waits:
            lines.append(topics.waits(need, configs))
        if need.setting == "scores":
            lines.append(topics.kept(need, configs, demands.keep_s, demands.period_keep_s))
            lines.append(topics.scores_size(need, configs, demands.max_record_bytes))
        if need.setting == "dead_letters" and input_bytes is not None:
            lines.append(topics.dead_letters_size(need, configs, input_bytes))
        unwritable = topics.in_sync(need, found, configs)
        return [*lines, unwritable] if unwritable else lines

    async def stop(self) -> None:
        """Disconnect."""
        if self.inspector is not None:
            await self.inspector.stop()


def _is_there(found: TopicFound | None) -> bool:
    return found is not None and not found.missing and not found.hidden
