"""Named steps that bring a database to the present tables, each recorded once it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Engine,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    false,
    insert,
    select,
    text,
    update,
)

from budget.store.connection import transaction, where_is
from budget.store.records import StoreProblem
from budget.store.schema import migrations as applied_migrations

_LOCK_KEY = 0x62756467
"""Any constant will do, as long as every opener of the database takes the same one."""


class Migration(msgspec.Struct, frozen=True):
    """A step and the name under which it is recorded; neither changes once it was released."""

    name: str
    run: Callable[[Connection], None]


def _first_tables(connection: Connection) -> None:
    # Spelled out, not taken from schema.py: a later change there must not change this step.
    metadata = MetaData()
    time = DateTime(timezone=True)
    Table(
        "budget_projects",
        metadata,
        Column("id", String(64), primary_key=True),
        Column("created_at", time, nullable=False),
    )
    for name in ("budget_revisions", "budget_refused_attempts"):
        Table(
            name,
            metadata,
            Column("project", ForeignKey("budget_projects.id"), primary_key=True),
            Column("number", Integer, primary_key=True, autoincrement=False),
            Column("document", Text, nullable=False),
            Column("author", Text, nullable=False),
            Column("at", time, nullable=False),
            Column("message", Text, nullable=False),
            Column("based_on", Integer),
        )
    Table(
        "budget_log_contents",
        metadata,
        Column("hash", String(64), primary_key=True),
        Column("size_bytes", Integer, nullable=False),
        Column("data", LargeBinary, nullable=False),
    )
    Table(
        "budget_log_changes",
        metadata,
        Column("project", ForeignKey("budget_projects.id"), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("change", String(16), nullable=False),
        Column("hash", ForeignKey("budget_log_contents.hash"), nullable=False),
        Column("name", Text, nullable=False),
        Column("author", Text, nullable=False),
        Column("at", time, nullable=False),
    )
    metadata.create_all(connection, checkfirst=False)


MIGRATIONS: tuple[Migration, ...] = (Migration("0001_projects_revisions_logs", _first_tables),)
"""In the order in which they run. New ones go to the end."""


def apply_pending(engine: Engine, migrations: Sequence[Migration]) -> None:
    """Run the migrations that the database has not seen yet, each in a transaction of its own.

    Openers at the same time wait for each other, and each migration runs once.

    Raises:
        StoreProblem: the database was written by a newer version of the program, cannot be
            written, or is none. What a migration had begun is rolled back.
    """
    with transaction(engine, write=True) as connection:
        done = _applied(connection)
    unknown = sorted(done - {migration.name for migration in migrations})
    if unknown:
        raise StoreProblem(
            f"The database is newer than this program, which does not know {', '.join(unknown)}",
            where_is(engine.url),
            "Update compute-budget, or name another database in COMPUTE_BUDGET_DATABASE_URL.",
        )
    with transaction(engine, write=True) as connection:
        # SQLite begins a transaction for writing even in a file that it may only read.
        connection.execute(update(applied_migrations).where(false()).values(name=""))
    for migration in migrations:
        if migration.name in done:
            continue
        with transaction(engine, write=True) as connection:
            # Asked again inside the lock: another process may have run it meanwhile.
            if migration.name not in _applied(connection):
                migration.run(connection)
                connection.execute(insert(applied_migrations).values(name=migration.name))


def _applied(connection: Connection) -> set[str]:
    """Take the lock until the end of the transaction and return the recorded names."""
    if connection.dialect.name == "postgresql":
        # SQLite has one writer at a time anyway.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    applied_migrations.create(connection, checkfirst=True)
    return set(connection.scalars(select(applied_migrations.c.name)))
