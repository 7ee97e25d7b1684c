"""The door to litellm, in processes of their own: what it reads, and whom it asks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from aiohttp import web

from tests.stages.command import ROOT
from tests.stages.redirects import serving

NO_MORE = {"PYTHONPATH": str(ROOT)}
INTERACTION = {
    "interaction_id": "one",
    "timestamp": "2026-11-20T12:00:00Z",
    "user_input": "How long?",
    "response": "Two years.",
    "retrieved_contexts": ["Two years."],
}
#: Judges once, by a model that litellm looks up on the network where it may; prints whom it asked.
WHOM = """
import asyncio, json, sys
asked = []
def heard(event, arguments):
    if event == "socket.getaddrinfo":
        asked.append(str(arguments[0]))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        asked.append(str(arguments[1][0]))
sys.addaudithook(heard)
from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmClient, LlmSettings
async def main():
    for model in ("anthropic/claude-3-5-haiku-latest", "openai/gpt-4o-mini", "some-model"):
        made = LlmSettings(model, api_base=sys.argv[1], api_key="k", retries=0)
        client = LlmClient(made)
        try:
            await client("extract_claims", "system", "user")
        except JudgeFailed:
            pass
        await client.aclose()
asyncio.run(main())
print(json.dumps(asked))
"""
#: Judges once, by a model for which a token is asked for first.
TOKEN = """
import asyncio, sys
from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmClient, LlmSettings
async def main():
    client = LlmClient(LlmSettings("databricks/some-model", api_base=sys.argv[1], retries=0))
    try:
        await client("extract_claims", "system", "TEXTS")
    except JudgeFailed as failed:
        print(failed.reason, failed.fault.action, failed)
    await client.aclose()
asyncio.run(main())
"""
#: What any session of requests makes of an answer, after the library was imported.
SESSION = """
import sys
from monitor.judge.llm.library import litellm
litellm()
import requests
for method in ("GET", "POST"):
    try:
        print(requests.Session().request(method, sys.argv[1]).status_code)
    except requests.HTTPError as error:
        print("refused", error.response.status_code)
"""


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


async def test_nobody_else_is_asked(tmp_path: Path) -> None:
    """No list from the network, no telemetry: only the address that is judged by."""
    async with listening() as (url, keys):
        done = await ran("-c", WHOM, url, cwd=tmp_path, environ=NO_MORE)
    assert done.returncode == 0, done.stderr
    assert len(keys) == 3
    assert set(json.loads(done.stdout.splitlines()[-1])) == {"127.0.0.1"}


async def test_no_token_is_asked_for_at_another_place(tmp_path: Path) -> None:
    """Where a provider's client is of requests: the secret and the grant go where they are sent."""
    secret = {"DATABRICKS_CLIENT_ID": "id", "DATABRICKS_CLIENT_SECRET": "SECRET"}
    environ = {**NO_MORE, **secret}
    async with serving() as gateway, serving() as other:
        gateway.status, gateway.location = 307, f"{other.url}/token?SECRET"
        done = await ran("-c", TOKEN, gateway.url, cwd=tmp_path, environ=environ)
    assert (len(gateway.requests), other.requests) == (1, []), done.stderr
    host = other.url.removeprefix("http://")
    assert done.stdout == f"rejected stop status 307 redirects to {host}\n", done.stderr


async def test_no_session_is_redirected(tmp_path: Path) -> None:
    """As those of Google's library are; any other answer is one."""
    said = {}
    async with serving() as gateway, serving() as other:
        for gateway.status, gateway.location in ((302, other.url), (200, other.url), (204, "")):
            done = await ran("-c", SESSION, gateway.url, cwd=tmp_path, environ=NO_MORE)
            said[gateway.status] = done.stdout.splitlines()
    assert said == {302: ["refused 302"] * 2, 200: ["200"] * 2, 204: ["204"] * 2}
    assert other.requests == []


async def test_the_native_client_is_off(tmp_path: Path) -> None:
    """It follows redirects; also where the environment asks for it."""
    says = "from monitor.judge.llm.library import litellm; litellm(); "
    says += "from litellm.rust_bridge.configuration import rust_enabled; print(rust_enabled())"
    done = await ran("-c", says, cwd=tmp_path, environ={**NO_MORE, "LITELLM_RUST": "1"})
    assert done.stdout == "False\n", done.stderr
