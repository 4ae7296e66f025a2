"""Opening SQLite and PostgreSQL, and one transaction in either."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from budget.store.records import StoreProblem

BUSY_TIMEOUT_S = 10
"""How long a writer waits for another one, and a connection for its server."""

_SETTING = "COMPUTE_BUDGET_DATABASE_URL"
_EXAMPLES = "sqlite:////path/to/budget.sqlite3 or postgresql://user:password@host/database"
_SECRETS = ("password", "sslpassword", "oauth_client_secret")


def read_url(text: str) -> URL:
    """Return the parsed URL of a database, with the driver that is used for it.

    Raises:
        StoreProblem: it is no URL of a SQLite or PostgreSQL database. The URL is not repeated,
            since it may hold a password.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise _unreadable(f"Write it like {_EXAMPLES}.") from None
    kind, _, driver = url.drivername.partition("+")
    if kind == "sqlite" and driver in ("", "pysqlite"):
        return url
    if kind in ("postgresql", "postgres") and driver in ("", "psycopg"):
        # An "@" here is a piece of a password that was not percent-encoded.
        if "@" in f"{url.host}{url.database}":
            raise _unreadable(
                "Percent-encode the password: @ as %40, / as %2F, : as %3A and so on."
            )
        return url.set(drivername="postgresql+psycopg")
    raise _unreadable(f"Only SQLite and PostgreSQL are supported: write it like {_EXAMPLES}.")


def _unreadable(do_next: str) -> StoreProblem:
    return StoreProblem("The address of the database cannot be read", _SETTING, do_next)


def where_is(url: URL) -> str:
    """Return where the database is, for people; without user, password and options."""
    if url.get_backend_name() == "sqlite":
        return f"SQLite file {url.database}" if not _in_memory(url) else "SQLite in memory"
    host = url.host or url.query.get("host") or "this machine"
    port = f":{url.port}" if url.port else ""
    return f"PostgreSQL database {url.database or '(default)'} at {host}{port}"


def connect(url: URL) -> Engine:
    """Return an engine for the database; a missing SQLite file is created with its folders.

    Raises:
        StoreProblem: the file cannot be created, opened or written, or the driver is missing.
    """
    if url.get_backend_name() == "sqlite":
        return _connect_sqlite(url)
    options: dict[str, Any] = {}
    if "connect_timeout" not in url.query:
        options["connect_timeout"] = BUSY_TIMEOUT_S
    try:
        return create_engine(
            url,
            connect_args=options,
            # A save reads what was committed while it waited for the lock on its project.
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            hide_parameters=True,
        )
    except ImportError:
        raise StoreProblem(
            "The driver for PostgreSQL is not installed",
            where_is(url),
            'Install it: pip install "psycopg[binary]"',
        ) from None


def _in_memory(url: URL) -> bool:
    return url.database in (None, "", ":memory:")


def _connect_sqlite(url: URL) -> Engine:
    pool: dict[str, Any] = {"poolclass": QueuePool}
    if _in_memory(url):
        # Every further connection would see an empty database of its own.
        pool |= {"pool_size": 1, "max_overflow": 0}
    else:
        _prepare_file(Path(str(url.database)), url)
    engine = create_engine(
        url,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        hide_parameters=True,
        **pool,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver would begin late and only for changes; "begin" below does it for all.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first and then writes fails when another writer came between.
        write = connection.get_execution_options().get("store_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    if not _in_memory(url):
        _switch_to_wal(engine)
        _remember_file(engine)
    return engine


def _is_uri(file: Path) -> bool:
    return str(file).startswith("file:")


def _prepare_file(file: Path, url: URL) -> None:
    if _is_uri(file):
        return
    # SQLite would leave companion files beside it that stay read-only once this was put right.
    effective = os.access in os.supports_effective_ids
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and not os.access(file, os.W_OK, effective_ids=effective):
            raise _unwritable("the file may only be read", url)
    except OSError as error:
        raise StoreProblem(
            f"The folder of the database cannot be created or entered ({error.strerror})",
            where_is(url),
            f"Allow writing there, or name another file in {_SETTING}.",
        ) from None


def _switch_to_wal(engine: Engine) -> None:
    # SQLite does not wait by itself when two connections switch the same new file.
    deadline_s = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            with closing(engine.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA journal_mode = WAL")
            return
        except (sqlite3.Error, DBAPIError) as error:
            if "locked" not in str(error) or time.monotonic() > deadline_s:
                engine.dispose()
                raise _explain(error, engine.url) from None
            time.sleep(0.02)


def _remember_file(engine: Engine) -> None:
    """Keep which file was opened, for ``_check_file``."""
    file = Path(str(engine.url.database))
    if _is_uri(file):
        return
    # Where new connections look for it, too, should the working directory change.
    file = file.absolute()
    try:
        opened = _identity(file, engine.url)
    except StoreProblem:
        engine.dispose()
        raise
    engine.update_execution_options(store_file=(file, opened))


def _identity(file: Path, url: URL) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        raise _exchanged(url) from None
    except OSError as error:
        raise _unwritable(str(error.strerror), url) from None
    return found.st_dev, found.st_ino


def _check_file(engine: Engine) -> None:
    # An open connection would go on writing, with success, to the file that is gone.
    remembered = engine.get_execution_options().get("store_file")
    if remembered is not None:
        file, opened = remembered
        if _identity(file, engine.url) != opened:
            raise _exchanged(engine.url)


def _exchanged(url: URL) -> StoreProblem:
    return StoreProblem(
        "The database file was removed or replaced",
        where_is(url),
        "Move the same file back, or restore a backup there and restart the program.",
    )


@contextmanager
def transaction(engine: Engine, *, write: bool = False) -> Iterator[Connection]:
    """Run the block in one transaction: all of it is kept, or nothing when it raises.

    Raises:
        StoreProblem: the database cannot be reached, read or written, or its file is another one.
    """
    try:
        if write:
            # Before connecting: a new connection would create a missing file, empty.
            _check_file(engine)
        connection = engine.connect().execution_options(store_write=write)
        with connection, connection.begin():
            yield connection
    except SQLAlchemyError as error:
        # "from None": the text of a driver's error may repeat parts of the URL.
        raise _explain(error, engine.url) from None


def _unwritable(detail: str, url: URL) -> StoreProblem:
    return StoreProblem(
        f"The database cannot be written ({detail})",
        where_is(url),
        f"Allow writing to it and to its folder, or name another one in {_SETTING}.",
    )


def _explain(error: Exception, url: URL) -> StoreProblem:
    cause = error.orig if isinstance(error, StatementError) and error.orig else error
    detail = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
    for secret in (url.password, *(url.query.get(name) for name in _SECRETS)):
        if secret:
            detail = detail.replace(str(secret), "***")
    where = where_is(url)
    if "not a database" in detail or "malformed" in detail:
        return StoreProblem(
            f"The file is not a usable SQLite database ({detail})",
            where,
            f"Move it away or restore a backup, or name another file in {_SETTING}.",
        )
    if "readonly" in detail or "unable to open" in detail or "read-only" in detail:
        return _unwritable(detail, url)
    if "locked" in detail or isinstance(error, PoolTimeout):
        return StoreProblem(
            f"The database is busy ({detail})",
            where,
            "Try again in a moment; close other programs that hold it open.",
        )
    if url.get_backend_name() == "postgresql":
        return StoreProblem(
            f"The database cannot be used ({detail})",
            where,
            f"Check that the server runs and that host, database, user, password and rights "
            f"in {_SETTING} are right.",
        )
    return StoreProblem(
        f"The database cannot be used ({detail})",
        where,
        f"Check the disk and the file, or name another file in {_SETTING}.",
    )
