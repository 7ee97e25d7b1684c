"""Connection settings → options of aiokafka clients."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach and authenticate to one cluster; secrets stay out of ``repr``."""

    bootstrap_servers: str
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: Callable[[], str | None] = lambda: None
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None

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
            options["ssl_context"] = self._tls()
        if self.sasl_mechanism and self.security_protocol.startswith("SASL"):
            options["sasl_mechanism"] = self.sasl_mechanism
            options["sasl_plain_username"] = self.sasl_username
            options["sasl_plain_password"] = self.sasl_password()
        return options

    def _tls(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ssl_cafile)
            if self.ssl_certfile:
                context.load_cert_chain(self.ssl_certfile, self.ssl_keyfile)
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(
                f"kafka: cannot load the certificates (ssl_cafile {self.ssl_cafile}, "
                f"ssl_certfile {self.ssl_certfile}, ssl_keyfile {self.ssl_keyfile}): {error}"
            ) from error
        return context
