"""Connection settings → options of aiokafka clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from monitor.errors import ConfigurationError
from monitor.kafka.auth.oauth import Tokens
from monitor.kafka.auth.rotation import ask_for_password
from monitor.kafka.auth.tls import ReloadingContext, TlsFiles
from monitor.kafka.bounds import MAX_READ_BYTES, MAX_RECORD_BYTES
from monitor.kafka.clock import BrokerClock
from monitor.kafka.losses import Losses
from monitor.kafka.problems import ClusterName, Problems
from monitor.runtime.logs import logger

ClientT = TypeVar("ClientT")


@dataclass(frozen=True)
class Connection:
    """How to reach and authenticate to one cluster; secrets stay out of ``repr``.

    Secrets are functions, asked at every connection to a broker. ``section`` is the settings'
    name for this cluster. Certificates and tokens are shared by all clients of a connection.
    """

    bootstrap_servers: str
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: Callable[[], str | None] = lambda: None
    tokens: Tokens | None = None
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
    ssl_key_password: Callable[[], str | None] = lambda: None
    ssl_check_hostname: bool = True
    section: str = "kafka"
    #: What consumers are given of transactions: only what was committed, or also the rest.
    isolation_level: str = "read_committed"
    #: What its consumers may hold unpacked.
    max_read_bytes: int = MAX_READ_BYTES
    #: What one record may be that they give; a larger one is an ``Unreadable``.
    max_record_bytes: int = MAX_RECORD_BYTES
    problems: Problems = field(default_factory=Problems, repr=False, compare=False)
    #: Own time and theirs.
    clock: BrokerClock = field(default_factory=BrokerClock, repr=False, compare=False)
    losses: Losses = field(default_factory=Losses, repr=False, compare=False)

    def options(self) -> dict[str, Any]:
        """Keyword arguments that every aiokafka client takes.

        Raises ``ConfigurationError`` for certificate files that cannot be read.
        """
        options: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers,
            "security_protocol": self.security_protocol,
            "client_id": "rag-monitor",
        }
        if self.security_protocol.endswith("SSL"):
            options["ssl_context"] = self._tls
        if self.sasl_mechanism and self.security_protocol.startswith("SASL"):
            options["sasl_mechanism"] = self.sasl_mechanism
            if self.sasl_mechanism == "OAUTHBEARER":
                options["sasl_oauth_token_provider"] = self.tokens
            else:
                options["sasl_plain_username"] = self.sasl_username
                options["sasl_plain_password"] = self.sasl_password()
        return options

    def renewing(self, client: ClientT) -> ClientT:
        """The client, built with ``options``, made to ask for the password at every connection.

        Certificates and tokens are asked for again in any case.
        """
        if self.sasl_mechanism != "OAUTHBEARER" and self.security_protocol.startswith("SASL"):
            ask_for_password(client, self.sasl_password)
        return client

    @cached_property
    def name(self) -> ClusterName:
        """What the log calls this cluster."""
        return ClusterName(
            self.bootstrap_servers,
            self.section,
            self.security_protocol,
            principal(self),
            mechanism(self),
        )

    @cached_property
    def _tls(self) -> ReloadingContext:
        files = TlsFiles(
            self.ssl_cafile,
            self.ssl_certfile,
            self.ssl_keyfile,
            self.ssl_key_password,
            self.ssl_check_hostname,
        )
        if not self.ssl_check_hostname:
            logger().warning(
                "kafka_hostname_unchecked",
                broker=self.bootstrap_servers,
                hint=f"{self.section}.ssl_check_hostname is false: any host with a certificate of "
                "the CA is taken for the broker; set it to true",
            )
        try:
            return ReloadingContext(files)
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.section}: {error}") from error


def principal(connection: Connection) -> str:
    """Whom the broker takes us for, as far as we know; empty for nobody in particular."""
    if connection.security_protocol.startswith("SASL"):
        return connection.sasl_username or "the owner of the token"
    if connection.security_protocol == "SSL" and connection.ssl_certfile:
        return f"the owner of {connection.ssl_certfile}"
    return ""


def mechanism(connection: Connection) -> str:
    """The SASL mechanism; empty without a login."""
    sasl = connection.security_protocol.startswith("SASL")
    return (connection.sasl_mechanism or "") if sasl else ""
