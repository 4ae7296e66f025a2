"""The logs of a project: content once per hash, and every change kept in order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, Row, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from budget.store.records import StoredLog
from budget.store.schema import as_utc, log_changes, log_contents

MAX_LOG_BYTES = 64 * 1024 * 1024
"""A log that is larger is refused: it is read into memory whole."""

ADDED, REMOVED, RESTORED = "added", "removed", "restored"


def hash_of(data: bytes) -> str:
    """Return the SHA-256 of a log's content in hex."""
    return hashlib.sha256(data).hexdigest()


def insert_new(connection: Connection) -> Callable[[Any], Any]:
    """Return the database's ``insert``, which has ``on_conflict_do_nothing``."""
    return postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert


def all_logs(connection: Connection, project: str) -> dict[str, StoredLog]:
    """Return every log that the project ever had by hash, in order of adding."""
    rows = connection.execute(
        select(log_changes, log_contents.c.size_bytes)
        .join(log_contents, log_contents.c.hash == log_changes.c.hash)
        .where(log_changes.c.project == project)
        .order_by(log_changes.c.number)
    )
    logs: dict[str, StoredLog] = {}
    for row in rows:
        _apply(logs, row)
    return logs


def _apply(logs: dict[str, StoredLog], row: Row[Any]) -> None:
    if row.change == ADDED:
        # Added once more after a removal: it stands where and as it was added now.
        logs.pop(row.hash, None)
        logs[row.hash] = StoredLog(row.hash, row.name, row.size_bytes, row.at, row.author)
    elif row.change == REMOVED:
        logs[row.hash] = replace(logs[row.hash], removed_at=row.at, removed_by=row.author)
    else:
        logs[row.hash] = replace(logs[row.hash], removed_at=None, removed_by=None)


def keep_content(connection: Connection, data: bytes) -> None:
    """Store the content unless some project has brought it already."""
    content = {"hash": hash_of(data), "size_bytes": len(data), "data": data}
    known = select(log_contents.c.hash).where(log_contents.c.hash == content["hash"])
    if connection.scalar(known) is None:
        # Another project may add the same content at this moment.
        statement = insert_new(connection)(log_contents).values(content)
        connection.execute(statement.on_conflict_do_nothing())


def content(connection: Connection, hash: str) -> bytes | None:
    """Return the content with this hash."""
    data = connection.scalar(select(log_contents.c.data).where(log_contents.c.hash == hash))
    return None if data is None else bytes(data)


def last_change(connection: Connection, project: str) -> int:
    """Return how many changes the logs of the project have seen."""
    last = select(func.max(log_changes.c.number)).where(log_changes.c.project == project)
    return connection.scalar(last) or 0


def record_change(
    connection: Connection, project: str, change: str, log: StoredLog, author: str, at: datetime
) -> None:
    """Append a change; the caller holds the lock on the project."""
    connection.execute(
        insert(log_changes).values(
            project=project,
            number=last_change(connection, project) + 1,
            change=change,
            hash=log.hash,
            name=log.name,
            author=author,
            at=as_utc(at),
        )
    )
