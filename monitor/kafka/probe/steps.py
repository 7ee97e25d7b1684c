"""Why a broker cannot be used, found out step by step: DNS, TCP, TLS, Kafka, login.

aiokafka answers each of these with «Unable to bootstrap», or with nothing for a long time. A probe
is connections of its own, used once; it joins no group and changes nothing.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from aiokafka import errors

from monitor.kafka.connection import Connection
from monitor.kafka.probe import findings as words
from monitor.kafka.probe.findings import Diagnosis
from monitor.kafka.probe.login import Login, NoToken

#: ApiVersions v0 behind its size: every Kafka answers it, also before a login.
_HELLO = bytes.fromhex("00000015 0012 0000 00000001 000b") + b"rag-monitor"
#: Correlation id of the answer, behind its size.
_ANSWERED = bytes.fromhex("00000001")

Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_Attempt = Callable[[], Awaitable[str]]


class ProbeStep(NamedTuple):
    """What one step (dns, tcp, tls, kafka, sasl) found; ``kind`` is None when it is fine.

    ``kind`` is a value of ``ProblemKind``; ``found`` says what was found, ``mend`` what to do.
    """

    name: str
    address: str
    kind: str | None
    found: str
    mend: str


class _Failed(Exception):
    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.found)
        self.diagnosis = diagnosis


async def probe(connection: Connection, address: str, limit_s: float = 5.0) -> list[ProbeStep]:
    """The steps up to the first one that fails; each may take ``limit_s`` seconds.

    ``address`` is one ``host:port``. Raises ``ConfigurationError`` for certificate files that
    cannot be read.
    """
    visit = _Visit(connection, address, limit_s)
    steps: list[ProbeStep] = []
    for name, action in visit.plan():
        try:
            async with asyncio.timeout(limit_s):
                found = await action()
        except _Failed as failed:
            return [*steps, ProbeStep(name, address, *failed.diagnosis)]
        except TimeoutError:
            return [*steps, ProbeStep(name, address, *words.silence(name, limit_s))]
        steps.append(ProbeStep(name, address, None, found, ""))
    return steps


async def advertised(connection: Connection, address: str, limit_s: float = 5.0) -> list[str]:
    """The addresses of all brokers as this one tells them; empty when it does not."""
    login = new_login(connection, address, limit_s)
    try:
        async with asyncio.timeout(limit_s):
            await login.connect()
            return await login.ask()
    except (errors.KafkaError, OSError, TimeoutError, NoToken):
        return []
    finally:
        login.close()


def new_login(connection: Connection, address: str, limit_s: float) -> Login:
    """A connection to this one broker, still to be opened.

    Raises ``ConfigurationError`` for certificate files that cannot be read.
    """
    return Login(*_split(address), connection.options(), limit_s)


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.strip().rpartition(":")
    return host.strip("[]"), int(port)


class _Visit:
    """One probe of one address."""

    def __init__(self, connection: Connection, address: str, limit_s: float) -> None:
        self._host, self._port = _split(address)
        self._connection, self._limit_s = connection, limit_s
        self._options = connection.options()
        self._tls: ssl.SSLContext | None = self._options.get("ssl_context")

    def plan(self) -> list[tuple[str, _Attempt]]:
        """The steps in their order."""
        steps: list[tuple[str, _Attempt]] = [("dns", self.dns), ("tcp", self.tcp)]
        if self._tls is not None:
            steps.append(("tls", self.tls))
        steps.append(("kafka", self.kafka))
        if self._connection.security_protocol.startswith("SASL"):
            steps.append(("sasl", self.login))
        return steps

    async def dns(self) -> str:
        """Whether the name has addresses."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise _Failed(words.unresolved(self._host, error)) from error
        return ", ".join(sorted({str(entry[4][0]) for entry in found}))

    async def tcp(self) -> str:
        """Whether somebody listens."""
        try:
            _, writer = await self._open(None)
        except OSError as error:
            raise _Failed(words.unreached(error)) from error
        writer.transport.abort()
        return "connects"

    async def tls(self) -> str:
        """Whether both sides trust each other.

        Since TLS 1.3 the broker judges our certificate only after the handshake is over for us:
        its alert comes with the first read.
        """
        try:
            first, spoken = await self._greet(self._tls, 1)
        except ssl.SSLCertVerificationError as error:
            cafile = self._connection.ssl_cafile
            raise _Failed(words.untrusted(error, self._host, cafile)) from error
        except OSError as error:  # ssl.SSLError is one
            raise _Failed(await self._why_ended(error)) from error
        if not first:
            raise _Failed(await self._why_ended(None))
        named = f" and for {self._host}" if self._connection.ssl_check_hostname else ""
        return f"{spoken}, the certificate is trusted{named}"

    async def _why_ended(self, error: OSError | None) -> Diagnosis:
        certfile = self._connection.ssl_certfile
        if isinstance(error, ssl.SSLError) and (why := words.ended(error, certfile)):
            return why
        # What we wrote may have crossed an alert, which is lost then: once more, saying nothing.
        try:
            reader, writer = await self._open(self._tls)
        except ssl.SSLError as again:
            return words.ended(again, certfile) or await self._no_tls()
        except OSError:
            return await self._no_tls()
        try:
            await reader.read(1)
        except ssl.SSLError as again:
            return words.ended(again, certfile) or words.TLS_HANGS_UP
        except OSError:
            return words.TLS_HANGS_UP
        finally:
            writer.transport.abort()
        return words.TLS_HANGS_UP

    async def _no_tls(self) -> Diagnosis:
        """Somebody who hangs up may be a proxy: only an answer in plaintext is proof."""
        try:
            answer, _ = await self._greet(None, 8)
        except OSError:
            return words.HANGS_UP
        return words.NOT_TLS if answer else words.HANGS_UP

    async def kafka(self) -> str:
        """Whether it is Kafka, and without a login whether it answers without one."""
        try:
            answer, _ = await self._greet(self._tls, 8)
        except OSError:
            answer = b""
        if answer[4:8] != _ANSWERED:
            tls = self._tls is None and await self._speaks_tls()
            raise _Failed(words.NOT_PLAIN if tls else words.NOT_KAFKA if answer else words.HANGS_UP)
        if not self._connection.security_protocol.startswith("SASL"):
            await self._ask(words.LOGIN_WANTED)
        return "answers as Kafka"

    async def _speaks_tls(self) -> bool:
        anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        try:
            _, writer = await self._open(anybody)
        except ssl.SSLError as error:
            return "ALERT" in (error.reason or "")
        except OSError:
            return False
        writer.transport.abort()
        return True

    async def login(self) -> str:
        """Whether the broker lets us in."""
        bearer = self._connection.sasl_mechanism == "OAUTHBEARER"
        await self._ask(words.TOKEN_CUT if bearer else words.LOGIN_CUT)
        user = self._connection.sasl_username
        return f"logged in by {self._connection.sasl_mechanism}" + (f" as {user}" if user else "")

    async def _open(self, tls: ssl.SSLContext | None) -> Opened:
        name = self._host if tls else None
        return await asyncio.open_connection(self._host, self._port, ssl=tls, server_hostname=name)

    async def _greet(self, tls: ssl.SSLContext | None, count: int) -> tuple[bytes, str]:
        """The first bytes of the answer, fewer when it is shorter, and the version of TLS."""
        reader, writer = await self._open(tls)
        try:
            writer.write(_HELLO)
            answer = await reader.readexactly(count)
        except asyncio.IncompleteReadError as short:
            answer = short.partial
        finally:
            writer.transport.abort()
        spoken = writer.get_extra_info("ssl_object")
        return answer, str(spoken.version()) if spoken else ""

    async def _ask(self, cut: Diagnosis) -> None:
        """Log in if so configured, and ask something; ``cut`` when the broker hangs up instead."""
        login = Login(self._host, self._port, self._options, self._limit_s)
        mechanism, user = self._connection.sasl_mechanism, self._connection.sasl_username
        try:
            await login.connect()
            await login.ask()
        except NoToken as error:
            raise _Failed(words.no_token(str(error), refused=error.refused)) from error
        except (errors.SaslAuthenticationFailed, errors.AuthenticationFailedError) as error:
            raise _Failed(words.login_refused(mechanism, user, error)) from error
        except errors.UnsupportedSaslMechanismError as error:
            raise _Failed(words.other_mechanism(mechanism, login.mechanisms)) from error
        except errors.IllegalSaslStateError as error:
            raise _Failed(words.NO_LOGIN) from error
        except (errors.KafkaError, OSError) as error:
            raise _Failed(cut) from error
        finally:
            login.close()
