"""Settings → connections: which cluster, and where passwords, certificates and tokens come from."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import SecretStr

from monitor.config import Access, Settings, read_secret
from monitor.errors import ConfigurationError
from monitor.kafka.auth.oauth import Tokens
from monitor.kafka.auth.rotation import KeptSecret
from monitor.kafka.auth.token_sources import OidcClient, imported, msk_iam
from monitor.kafka.connection import Connection
from monitor.runtime.logs import logger

Secret = Callable[[], str | None]


def connection(settings: Settings) -> Connection:
    """How to reach the cluster of the interactions.

    Raises ``ConfigurationError`` when tokens are to come from something that is not installed.
    """
    return _connection(settings, settings.kafka, "kafka")


def output_connection(settings: Settings, inputs: Connection) -> Connection:
    """How to reach the cluster of all other topics: ``inputs`` unless there is another one."""
    if not settings.kafka_output.bootstrap_servers:
        return inputs
    return _connection(settings, settings.kafka_output, "kafka_output")


def _connection(settings: Settings, access: Access, section: str) -> Connection:
    return Connection(
        bootstrap_servers=access.bootstrap_servers,
        security_protocol=access.security_protocol,
        sasl_mechanism=access.sasl_mechanism,
        sasl_username=access.sasl_username,
        sasl_password=_secret(settings, access.sasl_password, f"{section}.sasl_password"),
        tokens=_tokens(settings, access, section),
        ssl_cafile=access.ssl_cafile,
        ssl_certfile=access.ssl_certfile,
        ssl_keyfile=access.ssl_keyfile,
        ssl_key_password=_secret(settings, access.ssl_key_password, f"{section}.ssl_key_password"),
        ssl_check_hostname=access.ssl_check_hostname,
        section=section,
        isolation_level=settings.kafka.isolation_level,
        max_read_bytes=settings.kafka.max_read_bytes,
        # What is read includes what the monitor has written itself.
        max_record_bytes=max(settings.ingest.max_record_bytes, settings.kafka.max_record_bytes),
    )


def _secret(settings: Settings, value: SecretStr | None, path: str) -> Secret:
    """From a file, the secret is what the file holds whenever it is asked for."""
    first = value.get_secret_value() if value else None
    file = settings.secret_file(path)
    if file is None or first is None:
        return lambda: first
    return KeptSecret(partial(read_secret, file), first, path)


def _tokens(settings: Settings, access: Access, section: str) -> Tokens | None:
    source, extensions = access.sasl_oauth, access.sasl_oauth_extensions
    if source is None:
        return None
    if source == "oidc":
        client = _oidc(settings, access, section)
        return Tokens(client, client.name, extensions)
    try:
        if source == "aws_msk_iam":
            fetch = msk_iam(access.sasl_oauth_region, os.environ)
        else:
            fetch = imported(source)
    except ConfigurationError as error:
        raise ConfigurationError(f"{section}.{error}") from error
    return Tokens(fetch, source, extensions)


def _oidc(settings: Settings, access: Access, section: str) -> OidcClient:
    url, path = access.sasl_oauth_token_url or "", f"{section}.sasl_oauth_client_secret"
    if urlsplit(url).scheme == "http" and not _is_here(urlsplit(url).hostname or ""):
        logger().warning(
            "kafka_oauth_in_the_clear",
            what=f"{section}.sasl_oauth_token_url",
            hint="the client secret and the tokens are sent unencrypted; use https",
        )
    return OidcClient(
        url,
        access.sasl_oauth_client_id or "",
        _secret(settings, access.sasl_oauth_client_secret, path),
        access.sasl_oauth_scope,
        access.sasl_oauth_client_auth,
        access.sasl_oauth_cafile,
    )


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # another name
        return False
