"""Tokens from a token endpoint, from AWS and from a function; and what is said when none comes."""

from __future__ import annotations

import base64
import json
import ssl
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
import trustme

from monitor.errors import ConfigurationError
from monitor.kafka.auth.oauth import TokenRefused, TokenUnavailable
from monitor.kafka.auth.token_sources import OidcClient, imported, msk_iam
from tests.servers.oauth_server import OAuthServer
from tests.servers.ports import free_ports

SECRET = "s3cr&t:+/ =%"


def client(server: OAuthServer, **settings: Any) -> OidcClient:
    """A client with the right secret, unless told otherwise."""
    return OidcClient(server.token_url, "me", **{"client_secret": lambda: SECRET, **settings})


def claims(token: str) -> dict[str, Any]:
    """The middle part of a JWT."""
    part = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


@pytest.mark.parametrize("auth", ["basic", "post"])
async def test_client_credentials_give_a_token(auth: str) -> None:
    """In both ways to send them, with any characters; the scope and the life arrive."""
    with OAuthServer({"me": SECRET}, life_s=120) as server:
        token = await client(server, auth=auth, scope="kafka read")()
        (request,) = server.state.requests
    assert token.life_s == 120
    assert claims(token.value)["sub"] == "me"
    assert (request.client_id, request.method, request.status) == ("me", auth, 200)
    assert request.form["scope"] == "kafka read"


async def test_a_changed_secret_is_asked_for() -> None:
    """At each fetch, not once."""
    secrets = iter(["old", "new"])
    with OAuthServer({"me": "old"}) as server:
        ask = client(server, client_secret=lambda: next(secrets))
        await ask()
        server.state.clients["me"] = "new"
        await ask()
        assert [request.status for request in server.state.requests] == [200, 200]


async def test_an_own_ca_is_needed_and_enough(tmp_path: Path) -> None:
    """Without it the endpoint is not trusted, and no secret is sent."""
    ca, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with OAuthServer({"me": SECRET}, tls=context) as server:
        with pytest.raises(TokenUnavailable, match="certificate verify failed"):
            await client(server)()
        assert server.state.requests == []
        assert (await client(server, cafile=tmp_path / "ca.pem")()).value
        with pytest.raises(TokenUnavailable, match="cannot load sasl_oauth_cafile"):
            await client(server, cafile=tmp_path / "absent.pem")()


@pytest.mark.parametrize(
    ("status", "body", "said", "kind"),
    [
        (401, '{"error": "invalid_client"}', "answers 401 (invalid_client): check", TokenRefused),
        (400, '{"error": "invalid_scope"}', "answers 400 (invalid_scope): check", TokenRefused),
        (403, "<html>", "answers 403: check sasl_oauth_client_id", TokenRefused),
        (401, f'{{"error": "{SECRET}"}}', "answers 401: check", TokenRefused),
        (401, '{"error": ["x"]}', "answers 401: check", TokenRefused),
        (503, "", "answers 503", TokenUnavailable),
        (302, "", "answers 302", TokenUnavailable),
        (200, "[]", "answers 200, but without an access_token", TokenUnavailable),
        (200, "no json", "answers 200, but without an access_token", TokenUnavailable),
        (200, '{"access_token": 7}', "answers 200, but without an access", TokenUnavailable),
    ],
)
async def test_what_is_said_when_there_is_no_token(
    status: int, body: str, said: str, kind: type[Exception]
) -> None:
    """Endpoint, status and error code; never what was sent. A no is told from a not now."""
    with OAuthServer({"me": SECRET}) as server:
        server.state.faults.append((status, body))
        with pytest.raises(TokenUnavailable) as caught:
            await client(server)()
        assert f"token endpoint {server.token_url} {said}" in str(caught.value)
    assert type(caught.value) is kind
    assert SECRET not in str(caught.value)
    assert urllib.parse.quote_plus(SECRET) not in str(caught.value)


async def test_an_endpoint_that_is_away_is_named() -> None:
    """Without the query, where people put keys."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}/token"
    with pytest.raises(TokenUnavailable) as caught:
        await OidcClient(f"{url}?key={SECRET}", "me", lambda: SECRET)()
    assert str(caught.value).startswith(f"token endpoint {url}: ClientConnectorError: ")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("expires_in", "life_s"),
    [
        ("", None),
        (', "expires_in": "60"', 60),
        (', "expires_in": 0', None),
        (', "expires_in": [1]', None),
        (', "expires_in": 1e999', None),
    ],
)
async def test_the_life_of_a_token_as_endpoints_write_it(
    expires_in: str, life_s: float | None
) -> None:
    """As a number, as text, or not at all."""
    with OAuthServer() as server:
        server.state.faults.append((200, f'{{"access_token": "t"{expires_in}}}'))
        assert await client(server)() == ("t", life_s)


@pytest.fixture
def _aws_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Made up, and no others within reach."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAMADEUP")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_aws_credentials")
async def test_msk_tokens_are_signed_here() -> None:
    """A presigned address of the region, good for about 15 minutes, without the secret key."""
    token = await msk_iam("eu-west-1", {})()
    url = base64.urlsafe_b64decode(token.value + "=" * (-len(token.value) % 4)).decode()
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    assert parts.hostname == "kafka.eu-west-1.amazonaws.com"
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Credential"].startswith("AKIAMADEUP/")
    assert SECRET not in url
    assert token.life_s is not None
    assert 600 < token.life_s <= 900


@pytest.mark.usefixtures("_aws_credentials")
@pytest.mark.parametrize("name", ["AWS_REGION", "AWS_DEFAULT_REGION"])
async def test_the_region_may_stand_in_the_environment(name: str) -> None:
    """As AWS's own tools have it; the setting goes before it."""
    for region, found in ((None, "us-east-2"), ("eu-west-1", "eu-west-1")):
        token = await msk_iam(region, {name: "us-east-2"})()
        assert f"kafka.{found}." in base64.urlsafe_b64decode(token.value + "==").decode()


@pytest.mark.usefixtures("_aws_credentials")
async def test_msk_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(TokenUnavailable, match=r"^aws_msk_iam in eu-west-1: no AWS credentials"):
        await msk_iam("eu-west-1", {})()


def test_msk_needs_its_extra_and_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are named before anything connects."""
    with pytest.raises(ConfigurationError, match="sasl_oauth_region is missing"):
        msk_iam(None, {})
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(ConfigurationError, match=r"pip install rag-monitor\[msk\]"):
        msk_iam("eu-west-1", {})


MODULE = """
import time

async def later(): return "async", time.time() + 60
def plain(): return "plain"
def timed(): return "timed", time.time() + 60
def expired(): return "expired", 7
def fails(): raise ValueError("{secret}")
def number(): return 7
def short(): return ("one",)
no_function = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Somebody's module with functions that give tokens, and others."""
    name = f"tokens_of_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE.format(secret=SECRET))
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize(
    ("function", "lives"), [("later", True), ("plain", False), ("timed", True)]
)
async def test_a_function_gives_tokens(module: str, function: str, lives: bool) -> None:
    """Coroutine function or not; with or without the time of expiry."""
    token = await imported(f"{module}:{function}")()
    assert token.value in ("async", "plain", "timed")
    assert (token.life_s is not None) is lives
    assert not lives or 50 < (token.life_s or 0) <= 60


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("fails", "failed with ValueError$"),
        ("number", r"gives a int, expected a token or \(token, epoch seconds\)$"),
        ("short", "gives a tuple, expected"),
    ],
)
async def test_a_function_that_gives_none_is_named(module: str, function: str, said: str) -> None:
    """Without its own message, which may hold a secret."""
    with pytest.raises(TokenUnavailable, match=f"^{module}:{function} {said}"):
        await imported(f"{module}:{function}")()


def test_a_function_that_is_not_there_is_a_wrong_setting(module: str) -> None:
    """The module, its import, or the name in it."""
    with pytest.raises(ConfigurationError, match=f"^sasl_oauth: {module} has no nothing$"):
        imported(f"{module}:nothing")
    with pytest.raises(ConfigurationError, match="no_function is no function"):
        imported(f"{module}:no_function")
    with pytest.raises(
        ConfigurationError, match=r"not_there cannot be imported .ModuleNotFoundError"
    ):
        imported("not_there:token")


async def test_a_token_that_has_expired_is_asked_for_again(module: str) -> None:
    """It has no life left, and not a negative one; the broker will say what it thinks of it."""
    assert await imported(f"{module}:expired")() == ("expired", 0)
