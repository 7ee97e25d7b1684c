"""Limits that three replicas share through a real Redis, which goes away and comes back."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections import deque
from pathlib import Path
from random import Random

import pytest
import redis

from monitor.errors import ConfigurationError
from monitor.judge.limits.quota import PerMinute
from monitor.judge.limits.redis_limiter import RedisLimits
from monitor.judge.limits.shared_quota import LimiterFailed, SharedQuota
from tests.servers.redis_server import HOW_TO_GET_REDIS, RedisServer, missing_redis
from tests.stages.process import until
from tests.tools import requires_tool

#: Stands for a minute.
WINDOW_S = 4
MODEL = "openai/judge"


class Heard:
    """What is told of the store."""

    def __init__(self) -> None:
        self.states: list[bool] = []
        self.failures: list[str] = []

    def shared(self, model: str, yes: bool) -> None:
        self.states.append(yes)

    def failed(self, reason: str) -> None:
        self.failures.append(reason)


class Lateness:
    """How late this process has been at most, in seconds: on a busy machine it does not run."""

    def __init__(self) -> None:
        self.most_s = 0.0

    async def watch(self, step_s: float = 0.005) -> None:
        """Until it is cancelled."""
        while True:
            due = time.monotonic() + step_s
            await asyncio.sleep(step_s)
            self.most_s = max(self.most_s, time.monotonic() - due)


class Replicas:
    """Three that ask all the time; ``taken`` are (time, tokens) of all together."""

    def __init__(self, url: str, prefix: str, limits: PerMinute, *, timeout_s: float = 0.3) -> None:
        self._timeout_s = timeout_s
        self.heard = [Heard() for _ in range(3)]
        self.taken: list[tuple[float, int]] = []
        self._quotas = [self._quota(url, prefix, limits, heard) for heard in self.heard]
        self._tasks = [asyncio.create_task(self._ask(*pair)) for pair in enumerate(self._quotas)]
        self._late = Lateness()
        self._tasks.append(asyncio.create_task(self._late.watch()))

    def _quota(self, url: str, prefix: str, limits: PerMinute, heard: Heard) -> SharedQuota:
        made = RedisLimits(url, prefix=prefix, timeout_s=self._timeout_s, window_s=WINDOW_S)
        limiters = made.limiter("requests", limits.requests), made.limiter("tokens", limits.tokens)
        return SharedQuota(
            MODEL,
            limits,
            limiters,
            heard,
            time.monotonic,
            lambda: 1 / 3,
            WINDOW_S + 0.1,
            made.aclose,
        )

    async def _ask(self, number: int, quota: SharedQuota) -> None:
        rng = Random(number)
        while True:
            size = rng.randrange(500, 1_500)
            share = await quota.take("verify_claims", size)
            tokens = int(size * rng.uniform(0.2, 0.3))
            self.taken.append((time.monotonic(), tokens))
            quota.settle(share, tokens)

    def states(self) -> list[bool]:
        """The latest of each."""
        return [heard.states[-1] for heard in self.heard]

    def total(self, since: float) -> tuple[int, int]:
        found = [tokens for at, tokens in self.taken if at >= since]
        return len(found), sum(found)

    def busiest(self) -> tuple[int, int]:
        """The most requests and tokens of any window.

        What was let in just before a window, and noted late, is not of it; 0.1 s are 2.5 % here,
        and 0.2 % of a minute.
        """
        most, inside = (0, 0), deque[tuple[float, int]]()
        for entry in self.taken:
            inside.append(entry)
            while inside[0][0] <= entry[0] - WINDOW_S + self._late.most_s:
                inside.popleft()
            most = max(most[0], len(inside)), max(most[1], sum(tokens for _, tokens in inside))
        return most

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for quota in self._quotas:
            await quota.aclose()


def required() -> None:
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    lacking = None if importlib.util.find_spec("throttled") else "no throttled-py"
    requires_tool("throttled-py", lacking, "pip install rag-monitor[redis]")


@pytest.mark.parametrize(("requests", "tokens"), [(120, None), (None, 40_000)])
async def test_three_replicas_keep_to_one_limit(
    requests: int | None, tokens: int | None, redis_server: RedisServer
) -> None:
    """In any window at most 102 %, over two and a half of them; Redis is asked all the time."""
    required()
    prefix = f"three-{requests}-{tokens}"
    # A busy machine is no Redis that is away.
    replicas = Replicas(redis_server.url, prefix, PerMinute(requests, tokens), timeout_s=10)
    began = time.monotonic()
    wanted = 2.6 * (requests or 9e9), 2.6 * (tokens or 9e9)

    def enough() -> bool:
        found = replicas.total(began)
        return found[0] >= wanted[0] or found[1] >= wanted[1]

    await until(enough, "three windows' worth", patience_s=15 * WINDOW_S)
    await replicas.end()
    most = replicas.busiest()
    assert most[0] <= 1.02 * (requests or 9e9)
    assert most[1] <= 1.02 * (tokens or 9e9)
    assert [heard.failures for heard in replicas.heard] == [[], [], []]


async def test_redis_goes_and_comes_back(tmp_path: Path) -> None:
    """Each keeps to its third while it is away; in no window, old, new or between, above."""
    required()
    server, limit = RedisServer(tmp_path), 120
    with server:
        # One that is gone refuses at once; one that a busy machine keeps waiting is not gone.
        replicas = Replicas(server.url, "goes", PerMinute(limit, None), timeout_s=60)
        await until(lambda: len(replicas.taken) > 1.5 * limit, "sharing")
    away = time.monotonic()
    await until(lambda: replicas.states() == [False] * 3, "three that know")
    await until(lambda: time.monotonic() > away + 2 * WINDOW_S, "two windows without")
    alone = replicas.total(away)[0]
    with server:
        await until(lambda: replicas.states() == [True] * 3, "three that share again")
        back = time.monotonic()
        await until(lambda: time.monotonic() > back + 2 * WINDOW_S, "two windows with it")
        # On a busy machine a window may pass without anybody asking.
        await until(lambda: replicas.total(back)[0] >= limit, "as before", patience_s=15 * WINDOW_S)
        await replicas.end()
    assert replicas.busiest()[0] <= 1.02 * limit
    assert alone >= 0.7 * limit, "it goes on meanwhile"
    assert all(heard.states == [True, False, True] for heard in replicas.heard)


async def test_one_that_says_nothing_is_out_of_time() -> None:
    """The log names that, and not how the waiting was ended."""
    required()
    ended = asyncio.Event()

    async def says_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(says_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    limits = RedisLimits(f"redis://127.0.0.1:{port}", prefix="p", timeout_s=0.2)
    limiter = limits.limiter("requests", 5)
    assert limiter is not None
    with pytest.raises(LimiterFailed) as caught:
        await limiter.take(1)
    assert caught.value.reason == "TimeoutError"
    ended.set()
    await limits.aclose()
    server.close()


async def test_all_keys_begin_with_the_prefix(redis_server: RedisServer) -> None:
    """Rights to keys of a Redis (``~ours:*``) are given by it."""
    made = RedisLimits(redis_server.url, prefix="ours", timeout_s=5.0)
    limiters = [made.limiter(name, 100) for name in ("requests", "tokens")]
    assert [await limiter.take(1) for limiter in limiters if limiter] == [0.0, 0.0]
    client = redis.Redis.from_url(redis_server.url)
    keys = {bytes(key).decode() for key in client.scan_iter("ours:*")}
    assert [sum(key.endswith(name) for key in keys) for name in ("requests", "tokens")] == [1, 1]
    assert not list(client.scan_iter("throttled:*"))
    client.close()
    await made.aclose()


def key_of(client: redis.Redis, prefix: str) -> str:
    """The only one that begins like that."""
    (key,) = client.scan_iter(f"{prefix}:*")
    return bytes(key).decode()


#: The year 5195 as the library counts, and what is no time, or not even a text.
ABSURD = ["99999999999", "1e308", "inf", "-inf", "nan", "-nan", "0x7fffffffffff", "later", "", None]


@pytest.mark.parametrize("value", ABSURD)
async def test_what_cannot_be_true_is_replaced(
    value: str | None, redis_server: RedisServer
) -> None:
    """A clock that was set back, a neighbour's write: removed, and the limit is kept again."""
    required()
    prefix = f"absurd-{ABSURD.index(value)}"
    limits = RedisLimits(redis_server.url, prefix=prefix, timeout_s=10.0)
    limiter = limits.limiter("requests", 40)
    assert limiter is not None
    assert await limiter.take(1) == 0.0
    with redis.Redis.from_url(redis_server.url) as client:
        key = key_of(client, prefix)
        client.delete(key)
        if value is None:
            client.rpush(key, "a list")
        else:
            client.set(key, value)
        with pytest.raises(LimiterFailed) as caught:
            await limiter.take(1)
        assert caught.value.reason == "absurd"
        assert not client.exists(key)
    assert await limiter.take(1) == 0.0
    assert 0 < await limiter.take(1) <= 60 / 38 + 0.01
    await limits.aclose()


async def test_a_clock_that_was_set_back_by_less_than_the_window_is_waited_for(
    redis_server: RedisServer,
) -> None:
    """It may be true of a smaller limit, which another replica has still: a minute at most."""
    required()
    limits = RedisLimits(redis_server.url, prefix="back", timeout_s=10.0)
    limiter = limits.limiter("requests", 40)
    assert limiter is not None
    assert await limiter.take(1) == 0.0
    with redis.Redis.from_url(redis_server.url) as client:
        key = key_of(client, "back")
        held = client.get(key)
        assert isinstance(held, bytes)
        client.set(key, float(held) + 50)
        assert 45 < await limiter.take(1) <= 60
        assert client.exists(key)
    await limits.aclose()


async def test_when_a_value_is_absurd_no_window_sees_more_than_the_limit(tmp_path: Path) -> None:
    """Three replicas: nobody waits for years, nobody is let in beyond, and all share again."""
    required()
    limit = 120
    with RedisServer(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        replicas = Replicas(server.url, "later", PerMinute(limit, None), timeout_s=60)
        await until(lambda: len(replicas.taken) > limit / 2, "sharing")
        client.set(key_of(client, "later"), "99999999999")
        await until(lambda: any(heard.failures for heard in replicas.heard), "it is told")
        back = len(replicas.taken)
        await until(lambda: len(replicas.taken) > back + 1.5 * limit, "more than a window's worth")
        await replicas.end()
    assert replicas.busiest()[0] <= 1.02 * limit
    assert [why for heard in replicas.heard for why in heard.failures] == ["absurd"]
    assert [heard.states for heard in replicas.heard] == [[True]] * 3


@pytest.mark.parametrize("wait_s", [1e9, float("inf"), float("nan"), WINDOW_S + 57.0])
async def test_no_limiter_makes_anybody_wait_beyond_the_window(wait_s: float) -> None:
    """Whatever it says, again and again: the own part is used, and the failure has a name."""

    class Saying:
        step = 1

        async def take(self, cost: int) -> float:
            return wait_s

    heard, limits = Heard(), PerMinute(6_000, None)
    quota = SharedQuota(MODEL, limits, (Saying(), None), heard, time.monotonic, lambda: 1.0)
    async with asyncio.timeout(20):
        share = await quota.take("verify_claims", 1_000)
    assert share.reserved is None
    assert (heard.failures, heard.states) == (["absurd"] * 2, [True, False])


async def put_off(client: redis.Redis, key: str, every_s: float = 0.02) -> None:
    """Write a time that could be true, until it is cancelled: it never comes."""
    while True:
        seconds, microseconds = client.time()
        client.set(key, seconds - 1_735_660_800 + microseconds / 1e6 + WINDOW_S - 0.1)
        await asyncio.sleep(every_s)


async def test_a_time_that_is_put_off_again_and_again_is_not_waited_for(tmp_path: Path) -> None:
    """For one window; then each keeps to its part until that ends, and all share again."""
    required()
    limit = 120
    with RedisServer(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        replicas = Replicas(server.url, "hostile", PerMinute(limit, None), timeout_s=60)
        await until(lambda: len(replicas.taken) > limit / 2, "sharing")
        writing = asyncio.create_task(put_off(client, key_of(client, "hostile")))
        await until(lambda: replicas.states() == [False] * 3, "three that do not believe it")
        since = time.monotonic()
        await until(lambda: time.monotonic() > since + 3 * WINDOW_S, "three windows beside it")
        alone = replicas.total(since)[0]
        writing.cancel()
        await until(lambda: replicas.states() == [True] * 3, "three that share again")
        await replicas.end()
    assert alone >= 0.7 * 2 * limit, "each goes on by its part, a window after it begins with it"
    assert replicas.busiest()[0] <= 1.02 * limit
    assert {why for heard in replicas.heard for why in heard.failures} == {"put_off"}
    assert all(heard.states == [True, False, True] for heard in replicas.heard), "told once"


class PuttingOff:
    """A store that says how long to wait; ``asked`` for it so often."""

    step = 1

    def __init__(self, wait_s: float) -> None:
        self.wait_s, self.asked = wait_s, 0

    async def take(self, cost: int) -> float:
        self.asked += 1
        return self.wait_s


async def test_who_puts_off_once_is_not_believed_for_ten_windows() -> None:
    """Or each call would wait for a window; nor is the store then waited for at all."""
    clock, heard, limits, window_s = Leaping(), Heard(), PerMinute(60_000, None), 0.5
    store = PuttingOff(0.9 * window_s)
    quota = SharedQuota(MODEL, limits, (store, None), heard, clock, lambda: 0.5, window_s)
    asked = []
    for clock.ahead_s in (0.0, 5 * window_s, 9.5 * window_s, 30 * window_s):
        store.asked = 0
        assert (await quota.take("verify_claims", 1_000)).reserved is None
        asked.append(store.asked)
    assert asked == [2, 1, 1, 2]
    assert heard.failures == ["put_off"] * 4
    assert heard.states == [True, False]


class Leaping:
    """Seconds that also pass when they are told to."""

    ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


class Leaving:
    """A store that lets everything in, until it is gone."""

    step = 1

    def __init__(self) -> None:
        self.is_there = True

    async def take(self, cost: int) -> float:
        if not self.is_there:
            raise LimiterFailed("ConnectionError")
        return 0.0


async def test_who_took_nothing_takes_nothing_at_once_when_the_store_goes() -> None:
    """Others may have used all of the limit in the minute before, this one's part with it."""
    store, limits = Leaving(), PerMinute(60, None)
    quota = SharedQuota(MODEL, limits, (store, None), Heard(), lambda: 0.0, lambda: 0.5)
    await quota.take("verify_claims", 1_000)
    store.is_there = False
    next_one = asyncio.create_task(quota.take("verify_claims", 1_000))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(next_one), 0.05)
    # Of thirty that were used evenly one is forgotten every two seconds.
    assert 0 < quota.left_s() <= 4
    next_one.cancel()
    await asyncio.gather(next_one, return_exceptions=True)


async def test_a_wrong_password_is_not_a_redis_that_is_away(tmp_path: Path) -> None:
    """The reason says which: somebody has to mend the one, and to wait for the other."""
    required()
    server = RedisServer(tmp_path, "--requirepass", "right")
    with server:
        wrong = server.url.replace("://", "://:wrong@")
        assert await reason(wrong) == "AuthenticationError"
    assert await reason(wrong) == "ConnectionError"


async def reason(url: str) -> str:
    """Why a limit in this Redis cannot be taken."""
    limits = RedisLimits(url, prefix="p", timeout_s=10.0)
    limiter = limits.limiter("requests", 5)
    assert limiter is not None
    try:
        with pytest.raises(LimiterFailed) as caught:
            await limiter.take(1)
        return caught.value.reason
    finally:
        await limits.aclose()


def test_an_address_that_is_none_is_a_configuration_error() -> None:
    """It is not quoted: it may hold a password."""
    required()
    with pytest.raises(ConfigurationError, match=r"limits\.redis\.url") as caught:
        RedisLimits("hunter2", prefix="p", timeout_s=1.0).limiter("requests", 5)
    assert "hunter2" not in str(caught.value)
