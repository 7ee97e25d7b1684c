"""The secured broker tells good tokens from bad ones; otherwise it would prove nothing."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path

from monitor.kafka.auth.oauth import Token, Tokens
from monitor.kafka.connection import Connection
from monitor.kafka.probe.steps import probe
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, missing_kafka
from tests.servers.kafka_security import USER, SecuredBroker
from tests.servers.oauth_server import OAuthServer
from tests.tools import requires_tool


def _tampered(token: str) -> str:
    """The same signature under another name."""
    head, claims, signature = token.split(".")
    changed = json.loads(base64.urlsafe_b64decode(claims + "==")) | {"sub": "somebody"}
    encoded = base64.urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode()
    return f"{head}.{encoded}.{signature}"


def _signed_by_another(broker: SecuredBroker) -> str:
    """Every claim is right, and the name of the key; only the key is not."""
    with OAuthServer() as forger:
        forger.url = broker.oauth.url
        return forger.token(USER)


def _by_another_issuer(_: SecuredBroker) -> str:
    with OAuthServer() as forger:
        return forger.token(USER)


BAD: dict[str, Callable[[SecuredBroker], str]] = {
    "expired": lambda broker: broker.oauth.token(USER, life_s=-5),
    "for somebody else": lambda broker: broker.oauth.token(USER, audience="another"),
    "tampered with": lambda broker: _tampered(broker.oauth.token(USER)),
    "signed by another": _signed_by_another,
    "by another issuer": _by_another_issuer,
    "no token": lambda _: "nonsense",
}


async def _refusal(broker: SecuredBroker, token: str) -> str | None:
    async def fetch() -> Token:
        return Token(token, None)

    connection = Connection(
        broker.address("SASL_TLS"),
        "SASL_SSL",
        "OAUTHBEARER",
        tokens=Tokens(fetch, "a test"),
        ssl_cafile=broker.authority.cafile,
    )
    last = (await probe(connection, connection.bootstrap_servers))[-1]
    assert last.name == "sasl"
    return last.found if last.kind else None


async def test_the_broker_takes_no_token_that_is_not_good(tmp_path: Path) -> None:
    """Signature, issuer, audience and expiry are looked at, each for itself."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    broker = SecuredBroker(tmp_path)
    await asyncio.to_thread(broker.start)
    try:
        assert await _refusal(broker, broker.oauth.token(USER)) is None
        said = {name: await _refusal(broker, bad(broker)) for name, bad in BAD.items()}
    finally:
        await asyncio.to_thread(broker.stop)
    taken = [name for name, found in said.items() if "refuses the OAuth token" not in str(found)]
    assert taken == []
