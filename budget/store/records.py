"""What the store hands out, and the two ways in which it says no."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Revision(msgspec.Struct, frozen=True):
    """One document as somebody saved it.

    Accepted revisions of a project are numbered 1, 2, 3 … without gaps. Refused attempts have a
    numbering of their own, also from 1, and ``refused`` set.
    """

    project: str
    number: int
    document: str
    author: str
    at: datetime
    message: str
    based_on: int | None
    refused: bool = False


class ProjectEntry(msgspec.Struct, frozen=True):
    """A project in the list of projects; all but ``id`` and ``created_at`` is its newest revision.

    ``number``, ``author``, ``at`` and ``document`` are those of that revision.
    """

    id: str
    created_at: datetime
    number: int
    author: str
    at: datetime
    document: str


class StoredLog(msgspec.Struct, frozen=True):
    """A log of a project, without its content; ``hash`` is the SHA-256 of the content in hex."""

    hash: str
    name: str
    size_bytes: int
    added_at: datetime
    added_by: str
    removed_at: datetime | None = None
    removed_by: str | None = None


class StoreProblem(Exception):
    """The store cannot do what was asked.

    ``what`` is wrong, ``where`` (a file or a server, never with a password), ``do_next``; the text
    of the exception is one readable line made of the three.
    """

    def __init__(self, what: str, where: str, do_next: str) -> None:
        super().__init__(f"{what}: {where}. {do_next}")
        self.what = what
        self.where = where
        self.do_next = do_next


class Conflict(Exception):
    """Somebody saved first: ``mine`` was kept as a refused attempt, ``newest`` is what stands."""

    def __init__(self, mine: Revision, newest: Revision) -> None:
        super().__init__(
            f"revision {newest.number} by {newest.author} was saved after revision "
            f"{mine.based_on}, on which this change was based"
        )
        self.mine = mine
        self.newest = newest
