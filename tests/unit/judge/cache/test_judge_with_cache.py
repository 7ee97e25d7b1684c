"""The LLM judge with a cache, against a server that counts: what is asked, and what is not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from prometheus_client import CollectorRegistry, generate_latest

from monitor.app.caches import Caches
from monitor.config import load
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.records import Interaction
from monitor.telemetry import CacheTelemetry
from tests.servers.judge_server import JudgeServer, Labels
from tests.servers.redis_server import HOW_TO_GET_REDIS, RedisServer, missing_redis
from tests.stages.judge_case import LABELS, RESPONSE, interaction
from tests.tools import requires_tool


class Stage:
    """A judge of one replica, its cache and its counters."""

    def __init__(self, server: JudgeServer, **cache: str) -> None:
        self.registry = CollectorRegistry()
        section = load({}, flags={f"judge.cache.{key}": v for key, v in cache.items()}).judge.cache
        self.caches = Caches(CacheTelemetry(self.registry))
        settings = LlmSettings(model="openai/judge", api_base=server.url, api_key="none")
        self.judge = LlmJudge(settings, cache=self.caches.claims(section))

    async def aclose(self) -> None:
        await self.judge.aclose()
        await self.caches.aclose()

    def total(self, name: str, **labels: str) -> float:
        """The value of a series; 0 without one."""
        return self.registry.get_sample_value(f"rag_monitor_judge_cache_{name}", labels) or 0.0


@asynccontextmanager
async def staged(server: JudgeServer, **cache: str) -> AsyncIterator[Stage]:
    stage = Stage(server, **cache)
    await stage.judge.prepare()
    try:
        yield stage
    finally:
        await stage.aclose()


def asked(server: JudgeServer) -> dict[str, int]:
    """Task → calls so far."""
    return dict(Counter(str(entry.task) for entry in server.log))


def named(number: int) -> Interaction:
    return interaction().model_copy(update={"interaction_id": f"i{number}"})


async def test_what_was_extracted_is_only_verified() -> None:
    """Cold three calls; warm one, and the same verdicts."""
    async with JudgeServer(LABELS) as server, staged(server) as stage:
        cold = await stage.judge.judge(named(1))
        assert asked(server) == {"extract_claims": 2, "verify_claims": 1}
        warm = await stage.judge.judge(named(2))
        assert asked(server) == {"extract_claims": 2, "verify_claims": 2}
        assert (cold.usage.calls, warm.usage.calls) == (3, 1)
        assert (warm.claims, warm.verdicts, warm.judge) == (cold.claims, cold.verdicts, cold.judge)
        assert stage.total("lookups_total", what="claims", result="miss") == 2
        assert stage.total("lookups_total", what="claims", result="hit") == 2
        assert stage.total("hit_ratio", what="claims") == 0.5


async def test_without_a_cache_every_text_is_extracted() -> None:
    """``none`` keeps nothing, and there is no ratio."""
    async with JudgeServer(LABELS) as server, staged(server, kind="none") as stage:
        for number in range(2):
            await stage.judge.judge(named(number))
        assert asked(server) == {"extract_claims": 4, "verify_claims": 2}
        assert b"hit_ratio{" not in generate_latest(stage.registry)


async def test_at_the_same_time_each_text_is_extracted_once() -> None:
    """Sixteen interactions with the same two texts: two extractions, sixteen verifications."""
    async with JudgeServer(LABELS) as server, staged(server) as stage:
        jobs = (stage.judge.judge(named(number)) for number in range(16))
        found = await asyncio.gather(*jobs)
        assert asked(server) == {"extract_claims": 2, "verify_claims": 16}
        assert len({judgement.verdicts for judgement in found}) == 1
        assert sum(judgement.usage.calls for judgement in found) == 18


async def test_a_cancelled_judgement_is_not_felt_by_others() -> None:
    """Whoever extracts is cancelled; all the others are judged."""
    async with JudgeServer(LABELS) as server, staged(server) as stage:
        jobs = [asyncio.create_task(stage.judge.judge(named(n))) for n in range(8)]
        await server.until_logged(1)
        jobs[0].cancel()
        found = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert not any(isinstance(each, BaseException) for each in found[1:])


async def test_replicas_share_what_stands_in_redis(redis_server: RedisServer) -> None:
    """The second one extracts nothing; no key holds a text."""
    prefix = uuid4().hex
    cache = {"kind": "redis", "url": redis_server.url, "prefix": prefix}
    async with JudgeServer(LABELS) as server:
        async with staged(server, **cache) as stage:
            first = await stage.judge.judge(named(1))
        before = asked(server)["extract_claims"]
        async with staged(server, **cache) as other:
            # Which model answers is not known before its first reply: this text is asked anew.
            await other.judge.judge(interaction(reference=None))
            second = await other.judge.judge(named(2))
            assert asked(server)["extract_claims"] == before + 1
            assert other.total("lookups_total", what="claims", result="hit") == 2
    assert (second.claims, second.verdicts) == (first.claims, first.verdicts)
    with redis.Redis.from_url(redis_server.url) as client:
        keys = [key.decode() for key in client.scan_iter(f"{prefix}:*")]
    assert len(keys) == 2
    assert all(len(key) == len(f"{prefix}:claims:") + 40 for key in keys)
    assert not any(RESPONSE[:10] in key for key in keys)


async def test_redis_may_go_and_come_back(tmp_path: Path) -> None:
    """Before, while and after it is away the same judgement; what failed is counted."""
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    server_of_cache = RedisServer(tmp_path)
    cache = {"kind": "redis", "url": server_of_cache.url, "timeout_s": "5"}
    async with JudgeServer(LABELS) as server, staged(server, **cache) as stage:
        away = await stage.judge.judge(named(0))
        assert stage.total("errors_total", reason="ConnectionError") >= 1
        assert stage.total("errors_total", reason="paused") >= 1
    with server_of_cache:
        async with JudgeServer(LABELS) as server, staged(server, **cache) as stage:
            there = await stage.judge.judge(named(1))
            await stage.judge.judge(named(2))
            server_of_cache.stop()
            gone = await stage.judge.judge(named(3))
            assert stage.total("errors_total", reason="ConnectionError") >= 1
    assert away.verdicts == there.verdicts == gone.verdicts


async def test_a_wrong_extraction_is_not_kept() -> None:
    """No claim stands in its own text: extracted once more past the cache, and not kept either."""
    claims = dict.fromkeys(LABELS.claims, ("Unrelated.",))
    wrong = LABELS | Labels(claims, frozenset({("Unrelated.", "another text")}))
    async with JudgeServer(wrong) as server, staged(server) as stage:
        for _ in range(2):
            await stage.judge.judge(interaction(reference=None))
        assert asked(server) == {"extract_claims": 4, "verify_claims": 4}
        assert stage.total("lookups_total", what="claims", result="hit") == 0


@pytest.mark.parametrize("kind", ["memory", "redis", "none"])
def test_equal_settings_are_one_cache(kind: str) -> None:
    """Judges that differ elsewhere share it; another section is another cache."""
    flags = {"judge.cache.kind": kind, "judge.cache.url": "redis://127.0.0.1:1"}
    caches = Caches(CacheTelemetry(CollectorRegistry()))
    first, second = (load({}, flags=flags).judge.cache for _ in range(2))
    assert caches.claims(first) is caches.claims(second)
    assert (caches.claims(first) is None) == (kind == "none")
    other = load({}, flags={**flags, "judge.cache.ttl": "1h"}).judge.cache
    assert (caches.claims(other) is caches.claims(first)) == (kind == "none")
