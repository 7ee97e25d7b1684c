"""Certificates: checked by default, read again when they change, kept while they are half there."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from monitor.errors import ConfigurationError
from monitor.kafka.auth.tls import ReloadingContext, TlsFiles
from monitor.kafka.connection import Connection
from tests.servers.kafka_security import Authority
from tests.stages.captured_log import captured_log

PASSWORD = "key-and-secret"


@asynccontextmanager
async def served(authority: Authority, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """The port of a TLS server that wants a certificate of the same authority, and says ``hi``."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.cafile)
    context.load_cert_chain(authority.server("server", host))
    context.verify_mode = ssl.CERT_REQUIRED

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hi")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def greeted(context: ssl.SSLContext, port: int) -> bool:
    """Whether both sides trust each other."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        said = await reader.read()
        writer.close()
    except (ssl.SSLError, ConnectionError):
        return False
    return said == b"hi"


def installed(authority: Authority, directory: Path) -> TlsFiles:
    """The authority's client files, under names that stay the same."""
    certfile, keyfile = authority.client("user", password=PASSWORD)
    files = TlsFiles(
        directory / "ca", directory / "crt", directory / "key", key_password=lambda: PASSWORD
    )
    for source, target in zip(
        (authority.cafile, certfile, keyfile),
        (files.cafile, files.certfile, files.keyfile),
        strict=True,
    ):
        assert target is not None
        shutil.copy(source, target)
    return files


@pytest.fixture
def authorities(tmp_path: Path) -> tuple[Authority, Authority]:
    """Two that do not know each other."""
    return Authority(tmp_path / "old"), Authority(tmp_path / "new")


async def test_renewed_files_hold_for_the_next_connection(
    authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """The same context speaks to the new server once the files are there, and not before."""
    old, new = authorities
    context = ReloadingContext(installed(old, tmp_path))
    async with served(old) as before, served(new) as after:
        assert await greeted(context, before)
        assert not await greeted(context, after)
        installed(new, tmp_path)
        assert await greeted(context, after)
        assert not await greeted(context, before)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda files: files.cafile.unlink(),
        lambda files: files.cafile.write_bytes(b""),
        lambda files: files.cafile.write_bytes(files.cafile.read_bytes()[:200]),
        lambda files: files.keyfile.unlink(),
        lambda files: files.certfile.write_bytes(files.certfile.read_bytes()[:100]),
    ],
    ids=["no CA", "empty CA", "half a CA", "no key", "half a certificate"],
)
async def test_a_bad_moment_changes_nothing(
    spoil: Callable[[TlsFiles], object], authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """What was there is used, a line says so, and the whole files are taken up afterwards."""
    old, new = authorities
    files = installed(old, tmp_path)
    context = ReloadingContext(files)
    spoil(files)
    async with served(old) as before, served(new) as after:
        with captured_log("info", "json") as read:
            assert await greeted(context, before)
        assert json.loads(read().splitlines()[0])["event"] == "kafka_certificates_kept"
        installed(new, tmp_path)
        assert await greeted(context, after)


async def test_a_key_that_does_not_fit_yet_is_waited_for(
    authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """Certificate and key are replaced one after the other; between them the old pair holds."""
    old, new = authorities
    files = installed(old, tmp_path)
    context = ReloadingContext(files)
    assert files.certfile is not None
    shutil.copy(new.client("user")[0], files.certfile)
    async with served(old) as before:
        assert await greeted(context, before)


@pytest.mark.parametrize("check", [True, False])
async def test_the_host_is_checked_unless_switched_off(
    check: bool, authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """A certificate of the right CA for another host; one of another CA never passes."""
    old, new = authorities
    files = installed(old, tmp_path)
    assert files.check_hostname
    connection = Connection(
        "127.0.0.1:1",
        "SSL",
        ssl_cafile=files.cafile,
        ssl_certfile=files.certfile,
        ssl_keyfile=files.keyfile,
        ssl_key_password=files.key_password,
        ssl_check_hostname=check,
    )
    with captured_log("info", "json") as read:
        context = connection.options()["ssl_context"]
        assert connection.options()["ssl_context"] is context
    assert ("kafka_hostname_unchecked" in read()) is not check
    assert read().count("kafka_hostname_unchecked") <= 1
    async with served(old, "kafka.test") as misnamed, served(new) as strange:
        assert await greeted(context, misnamed) is not check
        assert not await greeted(context, strange)


@pytest.mark.parametrize("password", [None, "", "wrong"])
def test_a_key_without_its_password_is_named(
    password: str | None, authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """Files and setting, and nobody is asked on the terminal."""
    files = installed(authorities[0], tmp_path)
    connection = Connection(
        "127.0.0.1:1",
        "SSL",
        ssl_certfile=files.certfile,
        ssl_keyfile=files.keyfile,
        ssl_key_password=lambda: password,
        section="kafka_output",
    )
    with pytest.raises(ConfigurationError) as caught:
        connection.options()
    pair = f"ssl_certfile {files.certfile} and ssl_keyfile {files.keyfile}"
    assert str(caught.value).startswith(f"kafka_output: cannot load {pair}: ")
    assert "ssl_key_password" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """At the start there is nothing to keep."""
    absent = tmp_path / "absent.pem"
    with pytest.raises(ConfigurationError, match=f"ssl_cafile {absent}.*No such file"):
        Connection("127.0.0.1:1", "SSL", ssl_cafile=absent).options()
