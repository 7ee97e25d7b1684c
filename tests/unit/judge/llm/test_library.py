"""The door to litellm, in processes of their own: what it reads, and whom it asks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from tests.stages.command import ROOT
from tests.stages.redirects import Asked, serving

INTERACTION = {
    "interaction_id": "one",
    "timestamp": "2026-11-20T12:00:00Z",
    "user_input": "How long?",
    "response": "Two years.",
    "retrieved_contexts": ["Two years."],
}
#: In one process, since each import of the library takes seconds. Judges by models that litellm
#: looks up on the network where it may, and by one for which a token is asked for first. Then asks
#: by the library itself, as others in the process may, and for some addresses, as any session of
#: requests does. Prints what came of it, who was asked, and what callbacks were told.
WHOLE = """
import asyncio, json, sys
asked, said = [], {}
def heard(event, arguments):
    if event == "socket.getaddrinfo":
        asked.append(str(arguments[0]))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        asked.append(str(arguments[1][0]))
sys.addaudithook(heard)
from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmClient, LlmSettings
async def judge(model, base, key):
    client = LlmClient(LlmSettings(model, api_base=base, api_key=key, retries=0))
    try:
        await client("extract_claims", "system", "TEXTS")
    except JudgeFailed as failed:
        return f"{failed.reason} {failed.fault.action} {failed}"
    finally:
        await client.aclose()
async def main(base, gateway):
    for model in ("anthropic/claude-3-5-haiku-latest", "openai/gpt-4o-mini", "some-model"):
        await judge(model, base, "k")
    said["token"] = await judge("databricks/some-model", gateway, "")
    import litellm
    told = [litellm.failure_callback, litellm._async_failure_callback]
    for one in told:
        one.append(lambda *_: said["told"].append("failed"))
    said["told"] = []
    for model in ("openai/gpt-4o-mini", "some-model"):
        await judge(model, base, "k")
    said["told of ours"], said["told"] = said["told"], []
    try:
        await litellm.acompletion("openai/m", [], api_base=base, api_key="k", max_retries=0)
    except litellm.NotFoundError:
        said["told of others"] = said.pop("told")
def session(method, address):
    import requests
    try:
        return str(requests.Session().request(method, address).status_code)
    except requests.HTTPError as error:
        return f"refused {error.response.status_code}"
base, gateway, *addresses = sys.argv[1:]
asyncio.run(main(base, gateway))
said["sessions"] = [[session(m, each) for m in ("GET", "POST")] for each in addresses]
from litellm.rust_bridge.configuration import rust_enabled
said["rust"] = rust_enabled()
print(json.dumps({**said, "asked": asked}))
"""
#: What each of those addresses answers, and whether it sends its clients elsewhere.
ANSWERS = ((302, True), (200, True), (204, False))


class Whole(NamedTuple):
    """What the process said, and who got what."""

    said: Any
    keys: list[str]
    gateway: Asked
    other: Asked


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[str, list[str]]]:
    """An address, and the keys that come to it."""
    keys: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        keys.append(request.headers.get("authorization", ""))
        return web.json_response({"error": {"message": "no"}}, status=404)

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", keys
    finally:
        await runner.cleanup()


async def ran(
    *arguments: str | Path, cwd: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """A python process, in an environment that holds nothing else."""
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("mode", [{}, {"LITELLM_MODE": "DEV"}])
async def test_no_env_file_is_read(tmp_path: Path, mode: Mapping[str, str]) -> None:
    """Neither above the library nor where the process runs: no key from there, no address."""
    library = find_spec("litellm")
    assert library is not None
    assert library.origin is not None
    packages, work = tmp_path / "venv" / "lib", tmp_path / "work"
    packages.mkdir(parents=True)
    work.mkdir()
    (packages / "litellm").symlink_to(Path(library.origin).parent)
    (work / "in.jsonl").write_text(json.dumps(INTERACTION) + "\n", "utf-8")
    async with listening() as (url, keys):
        hostile = f"OPENAI_API_KEY=sk-FROMDOTENV\nOPENAI_BASE_URL={url}\n"
        for folder in (tmp_path, packages, work):
            (folder / ".env").write_text(hostile, "utf-8")
        arguments = ("evaluate", work / "in.jsonl", "--judge", "llm", "--model", "openai/gpt-4o")
        path = {"PYTHONPATH": f"{packages}:{ROOT}", **mode}
        done = await ran("-m", "monitor", *arguments, cwd=work, environ=path)
    assert keys == []
    assert "no API key is set" in done.stderr or "auth" in done.stderr, done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Of a process whose environment asks for all that is off."""
    return asyncio.run(_whole(tmp_path_factory.mktemp("whole")))


async def _whole(directory: Path) -> Whole:
    environ = {"PYTHONPATH": str(ROOT), "LITELLM_RUST": "1"}
    environ |= {"DATABRICKS_CLIENT_ID": "id", "DATABRICKS_CLIENT_SECRET": "SECRET"}
    async with AsyncExitStack() as stack:
        url, keys = await stack.enter_async_context(listening())
        other, gateway, *asked = [await stack.enter_async_context(serving()) for _ in range(5)]
        gateway.status, gateway.location = 307, f"{other.url}/token?SECRET"
        for one, (status, is_elsewhere) in zip(asked, ANSWERS, strict=True):
            one.status, one.location = status, other.url if is_elsewhere else ""
        addresses = (url, gateway.url, *(one.url for one in asked))
        done = await ran("-c", WHOLE, *addresses, cwd=directory, environ=environ)
        assert done.returncode == 0, done.stderr
        return Whole(json.loads(done.stdout.splitlines()[-1]), keys, gateway, other)


def test_nobody_else_is_asked(whole: Whole) -> None:
    """No list from the network, no telemetry: only the addresses that were given."""
    assert len(whole.keys) == 6
    assert set(whole.said["asked"]) == {"127.0.0.1"}


def test_nobody_is_told_of_calls_that_fail(whole: Whole) -> None:
    """Callbacks of who uses the library in the same process are told of theirs."""
    assert whole.said["told of ours"] == []
    assert set(whole.said["told of others"]) == {"failed"}


def test_no_token_is_asked_for_at_another_place(whole: Whole) -> None:
    """Where a provider's client is of requests: the secret and the grant go where they are sent."""
    assert (len(whole.gateway.requests), whole.other.requests) == (1, [])
    host = whole.other.url.removeprefix("http://")
    assert whole.said["token"] == f"rejected stop status 307 redirects to {host}"


def test_no_session_is_redirected(whole: Whole) -> None:
    """As those of Google's library are; any other answer is one."""
    said = dict(zip((status for status, _ in ANSWERS), whole.said["sessions"], strict=True))
    assert said == {302: ["refused 302"] * 2, 200: ["200"] * 2, 204: ["204"] * 2}
    assert whole.other.requests == []


def test_the_native_client_is_off(whole: Whole) -> None:
    """It follows redirects; also where the environment asks for it."""
    assert whole.said["rust"] is False
