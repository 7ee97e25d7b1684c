"""TLS with certificates that may be renewed while we run."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from monitor.errors import ConfigurationError
from monitor.runtime.logs import logger


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The PEM files of one side of TLS, ours; without a ``cafile`` the system's CAs are trusted."""

    cafile: Path | None = None
    certfile: Path | None = None
    keyfile: Path | None = None
    key_password: Callable[[], str | None] = lambda: None
    check_hostname: bool = True

    def context(self) -> ssl.SSLContext:
        """What stands in the files now.

        Raises ``ConfigurationError`` when they cannot be read or do not fit together.
        """
        what = f"ssl_cafile {self.cafile}"
        try:
            context = ssl.create_default_context(cafile=self.cafile)
            context.check_hostname = self.check_hostname
            if self.certfile:
                what = f"ssl_certfile {self.certfile} and ssl_keyfile {self.keyfile}"
                # Always a password, if an empty one: without any, OpenSSL asks on the terminal.
                password = self.key_password() or ""
                context.load_cert_chain(self.certfile, self.keyfile, lambda: password)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise ConfigurationError(f"cannot load {what}: {_reason(error)}") from error
        return context

    def state(self) -> tuple[object, ...]:
        """Changes when one of the files does."""
        return tuple(_state(path) for path in (self.cafile, self.certfile, self.keyfile) if path)


class ReloadingContext(ssl.SSLContext):
    """Reads its files again, when they have changed, before every new connection.

    Files that are half-written, missing for a moment, or do not fit together yet leave the
    context as it was; the next connection looks again.
    """

    def __new__(cls, files: TlsFiles) -> ReloadingContext:
        """A context that by itself trusts nobody: only ``wrap_bio`` uses the files."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        # Noted before they are read: what changes in between is read once more, not missed.
        self._seen = files.state()
        self._current = files.context()

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """What asyncio calls, once for each connection."""
        return self._fresh().wrap_bio(incoming, outgoing, server_side, server_hostname, session)

    def _fresh(self) -> ssl.SSLContext:
        seen = self._files.state()
        if seen != self._seen:
            try:
                self._current = self._files.context()
            except ConfigurationError as error:
                logger().warning(
                    "kafka_certificates_kept",
                    error=str(error),
                    hint="the previous ones are used; the next connection reads the files again",
                )
            else:
                self._seen = seen
                logger().info("kafka_certificates_reloaded", cafile=str(self._files.cafile))
        return self._current


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _reason(error: OSError | ValueError) -> str:
    if not isinstance(error, ssl.SSLError):
        return str(error)
    if error.reason is None:  # what OpenSSL has no words for
        return "not PEM, or ssl_key_password is wrong"
    return error.reason.replace("_", " ").lower()
