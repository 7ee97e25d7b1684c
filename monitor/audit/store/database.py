"""The database: how it is reached, and its tables brought to what this version needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from monitor.audit.store.tables import metadata
from monitor.errors import ConfigurationError, DependencyRefused

#: What may be written, and the driver that it means.
_DRIVERS: Final = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
#: Milliseconds that SQLite waits for another writer.
_BUSY_MS: Final = 10_000
#: Seconds for one attempt to reach PostgreSQL.
_CONNECT_S: Final = 10
#: Of any number, so long as it is the same in every process: who migrates holds this lock.
_MIGRATION_LOCK: Final = 7_246_001
#: Likewise: who writes alone holds this one.
_ALONE_LOCK: Final = 7_246_002
#: Classes of SQLSTATE: cardinality, data, integrity, a statement, a limit such as that of an index.
_OF_A_VALUE: Final = frozenset({"21", "22", "23", "42", "54"})
#: Of these what no value brings about: a right, a table or a column is missing.
_OF_ALL: Final = frozenset({"42501", "42P01", "42703"})


class DatabaseAway(Exception):
    """The database does not answer, or cannot take more: try again later. ``str`` is one line."""


class ValueRefused(DatabaseAway):
    """It answers, and does not take a value: in vain to try that again. ``str`` has no value."""


class Database:
    """One database. Raises ``DatabaseAway`` from every use while it does not answer."""

    def __init__(self, url: str, busy_ms: int = _BUSY_MS) -> None:
        """``url``: ``sqlite:///path`` or ``postgresql://user:password@host/name``.

        SQLite waits ``busy_ms`` for another process.

        Raises ``ConfigurationError`` for anything else.
        """
        self.url = _url(url)
        self._engine = _engine(self.url, busy_ms)

    @property
    def shown(self) -> str:
        """Where it is, without a password."""
        return self.url.render_as_string(hide_password=True)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.url.get_backend_name() == "sqlite"

    async def migrate(self, revision: str = "head") -> None:
        """Bring the tables to this revision, up or down.

        Raises ``DependencyRefused`` where they are of a newer version, and ``DatabaseAway``.
        """
        async with self.writing() as connection:
            if not self.is_sqlite:  # two processes may start at once
                await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
            try:
                await connection.run_sync(_migrated, revision)
            except CommandError as error:
                raise DependencyRefused(
                    f"audit.database {self.shown}: {error}; its tables are those of another "
                    "version of rag-monitor: use that one, or another database"
                ) from error

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction, committed at the end."""
        with _away_means(self.shown):
            async with self._engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def writing_alone(self) -> AsyncIterator[AsyncConnection]:
        """The same, one after the other: what it reads is as others have left it."""
        async with self.writing() as connection:
            # SQLite has one writer; else one begins only with its first change, after it has read.
            lock = f"SELECT pg_advisory_xact_lock({_ALONE_LOCK})"
            await connection.exec_driver_sql("BEGIN IMMEDIATE" if self.is_sqlite else lock)
            yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that writes nothing."""
        with _away_means(self.shown):
            async with self._engine.connect() as connection:
                yield connection

    async def scrub(self) -> bool:
        """Overwrite what was deleted, as far as the database does that; whether it was done.

        SQLite does: its log is folded in and emptied, which takes until all have ended that read
        what was there before. False where one has not in that time: the log still holds it.
        PostgreSQL makes the room free for others.
        """
        command = "PRAGMA wal_checkpoint(TRUNCATE)" if self.is_sqlite else "VACUUM evidence, label"
        with _away_means(self.shown):
            async with self._engine.connect() as connection:
                alone = await connection.execution_options(isolation_level="AUTOCOMMIT")
                found = await alone.exec_driver_sql(command)
                return not (self.is_sqlite and found.one()[0])  # the first column: is it busy?

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()


@contextmanager
def _away_means(shown: str) -> Iterator[None]:
    """Turns what drivers raise into ``DatabaseAway``, without the values of a statement."""
    try:
        yield
    except DBAPIError as error:
        if _is_about_a_value(error):
            # Not the driver's words: they may quote the value.
            kind = type(error.orig.__cause__ or error.orig).__name__ if error.orig else "error"
            raise ValueRefused(f"audit.database {shown} does not take a value: {kind}") from None
        # The driver's words; those of SQLAlchemy would quote texts of interactions.
        raise DatabaseAway(f"audit.database {shown}: {_in_words(error.orig)}") from None
    except (OverflowError, UnicodeError) as error:  # as drivers raise them
        raise ValueRefused(
            f"audit.database {shown} does not take a value: {type(error).__name__}"
        ) from None
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        raise DatabaseAway(f"audit.database {shown}: {_in_words(error)}") from None


def _is_about_a_value(error: DBAPIError) -> bool:
    """Whether the values of the statement are at fault, and not the database."""
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return isinstance(error, DataError | IntegrityError | ProgrammingError)
    return state[:2] in _OF_A_VALUE and state not in _OF_ALL


def _in_words(error: BaseException | None) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _url(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError:
        raise ConfigurationError(
            "audit.database: expected sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME"
        ) from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise ConfigurationError(
            f"audit.database: found {url.drivername}://…, expected sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/NAME"
        )
    if driver == _DRIVERS["sqlite"] and not Path(url.database or "").absolute().parent.is_dir():
        raise ConfigurationError(
            f"audit.database: there is no folder {Path(url.database or '').absolute().parent}"
        )
    return url.set(drivername=driver)


def _engine(url: URL, busy_ms: int) -> AsyncEngine:
    if url.get_backend_name() != "sqlite":
        return create_async_engine(
            url, pool_pre_ping=True, connect_args={"timeout": _CONNECT_S, "command_timeout": 60}
        )
    engine = create_async_engine(url)

    @event.listens_for(engine.sync_engine, "connect")
    def _prepare(connection: object, _record: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        # Readers do not wait for the writer, nor it for them; a commit survives a killed process.
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", f"busy_timeout={busy_ms}"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA secure_delete=ON")  # else forgotten texts stay in its free pages
        cursor.close()

    return engine


def _migrated(connection: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(files("monitor.audit.store") / "migrations"))
    script = ScriptDirectory.from_config(config)

    def steps(current: Any, _context: object) -> Any:
        # What ``alembic upgrade`` and ``downgrade`` ask for; there is no public name for it.
        go = script._downgrade_revs if revision == "base" else script._upgrade_revs
        return go(revision, current)

    with EnvironmentContext(config, script, fn=steps, destination_rev=revision) as context:
        context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
        with context.begin_transaction():
            context.run_migrations()
