"""The doctor on the judge's cache: what it finds, and that it shows no address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.config import Settings, load
from monitor.doctor.cache import examine, in_use
from monitor.doctor.report import CheckStatus
from tests.servers.redis_server import HOW_TO_GET_REDIS, RedisServer, missing_redis
from tests.tools import requires_tool

JUDGE = {"kind": "llm", "model": "openai/judge"}
LLM = {"judge.kind": "llm", "judge.model": "openai/judge"}


def settings(url: str, **flags: Any) -> Settings:
    """An LLM judge with its cache in this Redis."""
    return load({}, flags={**LLM, "judge.cache.kind": "redis", "judge.cache.url": url, **flags})


async def test_a_redis_that_answers(redis_server: RedisServer) -> None:
    """One line, and no key of ours stands in it afterwards."""
    (section,) = in_use(settings(redis_server.url))
    line = await examine(section)
    assert (line.check, line.target, line.status) == ("cache", "rag-monitor", CheckStatus.OK)


@pytest.mark.parametrize(
    ("password", "mend"),
    [("wrong-word", "check user and password in the address"), (None, "check judge.cache.url")],
)
async def test_a_redis_that_does_not(tmp_path: Path, password: str | None, mend: str) -> None:
    """A WARN with what to do, by what is wrong: a password, or nobody listens."""
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    server = RedisServer(tmp_path, "--requirepass", "sesame")
    if password:
        server.start()
    try:
        url = server.url.replace("redis://", f"redis://:{password}@")
        line = await examine(in_use(settings(url))[0])
    finally:
        server.stop()
    assert line.status is CheckStatus.WARN
    assert mend in line.mend
    assert not password or password not in json.dumps(line)


async def test_an_address_that_cannot_be_read_fails() -> None:
    """The monitor would not start with it."""
    line = await examine(in_use(settings("redis://:sesame@host:port/0"))[0])
    assert line.status is CheckStatus.FAIL
    assert "sesame" not in json.dumps(line)
    assert line.mend == "mend judge.cache.url"


def test_only_what_is_used_is_looked_at() -> None:
    """Not for the offline judge, nor what stays in memory; equal ones once."""
    assert in_use(load({})) == []
    asks = {"application": "a", "judge": {**JUDGE, "cache": {"kind": "none"}}}
    offline = {"judge.kind": "offline", "judge.model": None}
    assert in_use(settings("redis://h", **offline, applications=[asks])) == []
    entry = {"application": "a", "judge": {"name": "other"}}
    other = {"application": "b", "judge": {"cache": {"kind": "none"}}}
    both = settings("redis://h", applications=[entry, other])
    assert len(in_use(both)) == 1
