"""Accepted revisions and refused attempts, read and written inside a transaction."""

from __future__ import annotations

from sqlalchemy import Connection, Table, func, insert, select

from budget.store.records import ProjectEntry, Revision
from budget.store.schema import projects, refused_attempts, revisions


def newest_revision(connection: Connection, project: str) -> Revision | None:
    """Return the newest accepted revision."""
    of_project = select(revisions).where(revisions.c.project == project)
    row = connection.execute(of_project.order_by(revisions.c.number.desc()).limit(1)).first()
    return None if row is None else Revision(**row._mapping)


def numbered_revision(connection: Connection, project: str, number: int) -> Revision | None:
    """Return the accepted revision with this number."""
    c = revisions.c
    row = connection.execute(
        select(revisions).where(c.project == project, c.number == number)
    ).first()
    return None if row is None else Revision(**row._mapping)


def all_revisions(connection: Connection, project: str, *, refused: bool) -> list[Revision]:
    """Return the accepted revisions or the refused attempts, newest first."""
    table = _table(refused)
    rows = connection.execute(
        select(table).where(table.c.project == project).order_by(table.c.number.desc())
    )
    return [Revision(**row._mapping, refused=refused) for row in rows]


def last_number(connection: Connection, project: str, *, refused: bool) -> int:
    """Return the highest number so far, 0 if there is none."""
    c = _table(refused).c
    last = connection.scalar(select(func.max(c.number)).where(c.project == project))
    return last or 0


def keep_revision(connection: Connection, revision: Revision) -> None:
    """Write a revision, or an attempt where ``refused`` is set."""
    connection.execute(
        insert(_table(revision.refused)).values(
            project=revision.project,
            number=revision.number,
            document=revision.document,
            author=revision.author,
            at=revision.at,
            message=revision.message,
            based_on=revision.based_on,
        )
    )


def project_entries(connection: Connection) -> list[ProjectEntry]:
    """Return every project with its newest revision, the one saved last first."""
    r = revisions.c
    newest = select(r.project, func.max(r.number).label("number")).group_by(r.project).subquery()
    rows = connection.execute(
        select(projects.c.id, projects.c.created_at, r.number, r.author, r.at, r.document)
        .join(revisions, r.project == projects.c.id)
        .join(newest, (newest.c.project == r.project) & (newest.c.number == r.number))
        .order_by(r.at.desc(), projects.c.id)
    )
    return [ProjectEntry(**row._mapping) for row in rows]


def _table(refused: bool) -> Table:
    return refused_attempts if refused else revisions
