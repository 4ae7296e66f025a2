"""The store of projects: one object, used by many threads and processes at once."""

from __future__ import annotations

import re
import secrets
import string
from datetime import datetime
from typing import Self

from sqlalchemy import Connection, Engine, select

from budget.store import logs
from budget.store.connection import transaction, where_is
from budget.store.records import Conflict, ProjectEntry, Revision, StoredLog, StoreProblem
from budget.store.revisions import (
    all_revisions,
    keep_revision,
    last_number,
    newest_revision,
    numbered_revision,
    project_entries,
)
from budget.store.schema import as_utc, projects

_ID_LENGTH = 10
_ID_CHARACTERS = string.ascii_lowercase + string.digits
# PostgreSQL keeps neither NUL nor half a character, SQLite only the former: refused in both.
_UNKEEPABLE = re.compile("[\0\ud800-\udfff]")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Store:
    """Projects, their revisions and logs. Every method is one transaction.

    Whatever names a project that is not there raises ``StoreProblem`` when it writes, and finds
    nothing when it reads. Every method raises ``StoreProblem`` when the database fails. Times must
    have a zone (``ValueError`` otherwise) and come back in UTC.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    def create_project(
        self,
        document: str,
        author: str,
        at: datetime,
        message: str,
        project_id: str | None = None,
    ) -> Revision:
        """Create a project with a first revision; without ``project_id`` it gets a random one.

        Raises:
            StoreProblem: a project with this id exists, or the id cannot stand in an address.
        """
        if project_id is None:
            project_id = "".join(secrets.choice(_ID_CHARACTERS) for _ in range(_ID_LENGTH))
        elif not _ID.fullmatch(project_id):
            raise self._problem(
                f"{project_id!r} cannot be the id of a project",
                "Use at most 64 lower-case letters, digits, - and _.",
            )
        self._check_texts(document, author, message)
        first = Revision(project_id, 1, document, author, as_utc(at), message, None)
        with transaction(self._engine, write=True) as connection:
            row = logs.insert_new(connection)(projects).values(id=project_id, created_at=first.at)
            created = row.on_conflict_do_nothing().returning(projects.c.id)
            if connection.execute(created).first() is None:
                raise self._problem(
                    f"There is a project {project_id!r} already", "Open it, or use another id."
                )
            keep_revision(connection, first)
        return first

    def projects(self) -> list[ProjectEntry]:
        """Return all projects with their newest revision, the one saved last first."""
        with transaction(self._engine) as connection:
            return project_entries(connection)

    def newest(self, project_id: str) -> Revision | None:
        """Return the newest accepted revision."""
        with transaction(self._engine) as connection:
            return newest_revision(connection, project_id)

    def revision(self, project_id: str, number: int) -> Revision | None:
        """Return the accepted revision with this number."""
        with transaction(self._engine) as connection:
            return numbered_revision(connection, project_id, number)

    def history(self, project_id: str) -> list[Revision]:
        """Return the accepted revisions, newest first."""
        with transaction(self._engine) as connection:
            return all_revisions(connection, project_id, refused=False)

    def refused(self, project_id: str) -> list[Revision]:
        """Return the attempts that were refused because of a conflict, newest first."""
        with transaction(self._engine) as connection:
            return all_revisions(connection, project_id, refused=True)

    def save(
        self,
        project_id: str,
        document: str,
        based_on: int,
        author: str,
        at: datetime,
        message: str,
    ) -> Revision:
        """Add a revision, and return it; a document equal to the newest one adds none.

        Raises:
            Conflict: ``based_on`` is not the newest revision. The attempt is kept as refused.
            StoreProblem: there is no such project.
        """
        self._check_texts(document, author, message)
        with transaction(self._engine, write=True) as connection:
            newest = self._locked(connection, project_id)
            if newest.document == document:
                return newest
            refused = newest.number != based_on
            number = last_number(connection, project_id, refused=refused) + 1
            mine = Revision(
                project_id, number, document, author, as_utc(at), message, based_on, refused
            )
            keep_revision(connection, mine)
        if refused:
            # Raised only after the attempt has been committed.
            raise Conflict(mine, newest)
        return mine

    def add_log(
        self, project_id: str, name: str, data: bytes, author: str, at: datetime
    ) -> tuple[StoredLog, bool]:
        """Add a log exactly as it is; return it and whether it is new to the project.

        Content that the project has already, under whatever name, adds nothing. A removed log
        comes back under the name it is given now.

        Raises:
            StoreProblem: it is larger than ``MAX_LOG_BYTES``, or there is no such project.
        """
        self._check_texts(name, author)
        if len(data) > logs.MAX_LOG_BYTES:
            raise self._problem(
                f"The log {name} has {len(data)} bytes; at most {logs.MAX_LOG_BYTES} are kept",
                "Split it, or leave out what is no measurement.",
            )
        log = StoredLog(logs.hash_of(data), name, len(data), as_utc(at), author)
        with transaction(self._engine, write=True) as connection:
            self._locked(connection, project_id)
            present = logs.all_logs(connection, project_id).get(log.hash)
            if present is not None and present.removed_at is None:
                return present, False
            logs.keep_content(connection, data)
            logs.record_change(connection, project_id, logs.ADDED, log, author, at)
        return log, True

    def logs(self, project_id: str) -> list[StoredLog]:
        """Return the logs of a project in order of adding, without removed ones."""
        return [log for log in self._logs(project_id) if log.removed_at is None]

    def removed_logs(self, project_id: str) -> list[StoredLog]:
        """Return the logs that were removed and can be restored, in order of adding."""
        return [log for log in self._logs(project_id) if log.removed_at is not None]

    def read_log(self, hash: str) -> bytes:
        """Return the content of a log, removed or not.

        Raises:
            StoreProblem: no log has this hash.
        """
        with transaction(self._engine) as connection:
            data = logs.content(connection, hash)
        if data is None:
            raise self._problem(f"There is no log {hash}", "Add the file again.")
        return data

    def remove_log(self, project_id: str, hash: str, author: str, at: datetime) -> None:
        """Leave a log out from now on; its content stays. Removing it twice changes nothing.

        Raises:
            StoreProblem: the project never had this log.
        """
        self._change_log(project_id, hash, logs.REMOVED, author, at)

    def restore_log(self, project_id: str, hash: str, author: str, at: datetime) -> None:
        """Undo ``remove_log``. Restoring a log that is not removed changes nothing.

        Raises:
            StoreProblem: the project never had this log.
        """
        self._change_log(project_id, hash, logs.RESTORED, author, at)

    def version(self, project_id: str) -> tuple[int, int]:
        """Return the newest revision's number and how often the logs changed; 0, 0 if unknown."""
        with transaction(self._engine) as connection:
            revision = last_number(connection, project_id, refused=False)
            return revision, logs.last_change(connection, project_id)

    def _logs(self, project_id: str) -> list[StoredLog]:
        with transaction(self._engine) as connection:
            return list(logs.all_logs(connection, project_id).values())

    def _change_log(
        self, project_id: str, hash: str, change: str, author: str, at: datetime
    ) -> None:
        self._check_texts(author)
        with transaction(self._engine, write=True) as connection:
            self._locked(connection, project_id)
            log = logs.all_logs(connection, project_id).get(hash)
            if log is None:
                what = f"Project {project_id!r} has no log {hash}"
                raise self._problem(what, "Reload the list of logs.")
            if (log.removed_at is None) == (change == logs.REMOVED):
                logs.record_change(connection, project_id, change, log, author, at)

    def _locked(self, connection: Connection, project_id: str) -> Revision:
        """Return the newest revision; nobody else changes the project until the transaction ends.

        SQLite has one writer at a time, so that only PostgreSQL needs the lock on the row.
        """
        row = select(projects.c.id).where(projects.c.id == project_id).with_for_update()
        connection.execute(row)
        newest = newest_revision(connection, project_id)
        if newest is None:
            what = f"There is no project {project_id!r}"
            raise self._problem(what, "Open one from the list of projects.")
        return newest

    def _check_texts(self, *texts: str) -> None:
        for text in texts:
            if _UNKEEPABLE.search(text):
                raise self._problem(
                    "A text holds a NUL character or half a character, which cannot be kept",
                    "Write it again without unprintable characters.",
                )

    def _problem(self, what: str, do_next: str) -> StoreProblem:
        return StoreProblem(what, where_is(self._engine.url), do_next)
