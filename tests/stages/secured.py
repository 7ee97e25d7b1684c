"""Monitors that log in to a secured broker in one way or another, and what shows that they work."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from monitor.records import read_score_record
from tests.servers.kafka_security import PASSWORD, USER, SecuredBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.plain import encoded, interaction
from tests.stages.process import PATIENCE_S, until

KEY_PASSWORD = "key-and-secret"
#: Way → listener.
WAYS = {
    "TLS": "TLS",
    "MTLS": "MTLS",
    "PLAIN": "SASL_TLS",
    "SCRAM-SHA-256": "SASL_TLS",
    "SCRAM-SHA-512": "SASL_TLS",
    "OAUTHBEARER": "SASL_TLS",
}


def own_topics() -> dict[str, str]:
    """Names of topics, to be created, and of a group, that nobody else has."""
    run = uuid.uuid4().hex[:8]
    keys = ("interactions", "scores", "dead_letters", "control", "alarms")
    names = {f"kafka__topics__{key}": f"{key}-{run}" for key in keys}
    return {**names, "kafka__group_id": f"group-{run}", "kafka__create_topics": "true"}


def login(
    broker: SecuredBroker, way: str, directory: Path, section: str = "kafka"
) -> dict[str, Any]:
    """The settings of one of ``WAYS``; secrets stand in files."""
    found: dict[str, Any] = {"ssl_cafile": broker.authority.cafile, "security_protocol": "SSL"}
    if way == "MTLS":
        certfile, keyfile = broker.authority.client(USER, password=KEY_PASSWORD)
        found |= {"ssl_certfile": certfile, "ssl_keyfile": keyfile}
        found["ssl_key_password_file"] = secret(directory / "key-password", KEY_PASSWORD)
    elif way == "OAUTHBEARER":
        found |= {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": way,
            "sasl_oauth": "oidc",
            "sasl_oauth_token_url": broker.oauth.token_url,
            "sasl_oauth_client_id": USER,
            "sasl_oauth_client_secret_file": secret(directory / "client-secret", PASSWORD),
        }
    elif way != "TLS":
        found |= {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": way,
            "sasl_username": USER,
            "sasl_password_file": secret(directory / f"password-{way}", PASSWORD),
        }
    return {f"{section}__{key}": value for key, value in found.items()}


def secret(path: Path, text: str) -> Path:
    """Write a secret file, as an editor would: with a newline at the end."""
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


async def scores(
    topics: dict[str, str],
    name: str,
    inputs: str,
    outputs: str = "",
    patience_s: float = PATIENCE_S,
) -> None:
    """Return when an interaction sent now has its score record (addresses without a login)."""
    sent = Record(encoded(interaction(name)))
    await produce(inputs, topics["kafka__topics__interactions"], [sent])

    async def recorded() -> bool:
        found = await read_all(outputs or inputs, topics["kafka__topics__scores"])
        return name in {read_score_record(each.value or b"").interaction_id for each in found}

    await until(recorded, f"a score record of {name}", patience_s)
