"""The tables as they are after the last migration."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    func,
)


def as_utc(at: datetime) -> datetime:
    """Return the same instant in UTC.

    Raises:
        ValueError: ``at`` has no time zone, so that its instant is unknown.
    """
    if at.utcoffset() is None:
        raise ValueError(f"a time without a zone cannot be stored: {at.isoformat()}")
    return at.astimezone(UTC)


class UtcTime(TypeDecorator[datetime]):
    """An aware time. SQLite keeps no zone, so what is written there is always UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = as_utc(value)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData()

# Its own MetaData: it exists before the first migration runs.
migrations = Table(
    "budget_migrations",
    MetaData(),
    Column("name", String(100), primary_key=True),
    Column("applied_at", UtcTime, nullable=False, server_default=func.current_timestamp()),
)

projects = Table(
    "budget_projects",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("created_at", UtcTime, nullable=False),
)


def _revision_table(name: str) -> Table:
    return Table(
        name,
        METADATA,
        Column("project", ForeignKey("budget_projects.id"), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("document", Text, nullable=False),
        Column("author", Text, nullable=False),
        Column("at", UtcTime, nullable=False),
        Column("message", Text, nullable=False),
        Column("based_on", Integer),
    )


revisions = _revision_table("budget_revisions")
refused_attempts = _revision_table("budget_refused_attempts")

log_contents = Table(
    "budget_log_contents",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("size_bytes", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

# Nothing is updated or deleted: the logs of a project are what its changes add up to.
log_changes = Table(
    "budget_log_changes",
    METADATA,
    Column("project", ForeignKey("budget_projects.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("change", String(16), nullable=False),
    Column("hash", ForeignKey("budget_log_contents.hash"), nullable=False),
    Column("name", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
)
