"""A database that fails while a store is open: every method says so in a sentence."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.exc import InvalidRequestError

from budget.store import Store, StoreProblem, open_store
from budget.store.connection import transaction
from budget.store.logs import hash_of

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)
LOG = hash_of(b"measured")

WRITES: dict[str, Callable[[Store], object]] = {
    "create_project": lambda store: store.create_project("a", "Ada", AT, ""),
    "save": lambda store: store.save("a", "b", 1, "Ada", AT, ""),
    "add_log": lambda store: store.add_log("a", "b.log", b"other", "Ada", AT),
    "remove_log": lambda store: store.remove_log("a", LOG, "Ada", AT),
    "restore_log": lambda store: store.restore_log("a", LOG, "Ada", AT),
}
READS: dict[str, Callable[[Store], object]] = {
    "projects": lambda store: store.projects(),
    "newest": lambda store: store.newest("a"),
    "revision": lambda store: store.revision("a", 1),
    "history": lambda store: store.history("a"),
    "refused": lambda store: store.refused("a"),
    "logs": lambda store: store.logs("a"),
    "removed_logs": lambda store: store.removed_logs("a"),
    "read_log": lambda store: store.read_log(LOG),
    "version": lambda store: store.version("a"),
}
every_write = pytest.mark.parametrize("name", WRITES)
every_method = pytest.mark.parametrize("name", [*WRITES, *READS])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "budget.sqlite3"


@pytest.fixture
def store(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("budget.store.connection.BUSY_TIMEOUT_S", 0.05)
    with open_store(f"sqlite:///{file}") as store:
        store.create_project("a", "Ada", AT, "", "a")
        store.add_log("a", "a.log", b"measured", "Ada", AT)
        yield store


def refusal(store: Store, name: str) -> StoreProblem:
    """Return how the method called ``name`` refuses."""
    with pytest.raises(StoreProblem) as caught:
        (WRITES | READS)[name](store)
    return caught.value


def test_every_method_is_tried_here(store: Store) -> None:
    public = {name for name in vars(Store) if not name.startswith("_")}
    assert public - {"close"} == {*WRITES, *READS}
    for call in (WRITES | READS).values():
        call(store)


@every_method
def test_a_locked_database_is_busy_and_works_again_later(
    store: Store, file: Path, name: str
) -> None:
    # In this mode readers wait too; it is entered only while nobody else is connected.
    store._engine.dispose()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        problem = refusal(store, name)
    assert problem.what == "The database is busy (database is locked)"
    assert problem.where == f"SQLite file {file}"
    assert problem.do_next.startswith("Try again in a moment")
    (WRITES | READS)[name](store)


@every_write
def test_a_writer_who_holds_the_lock_makes_others_busy(store: Store, file: Path, name: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "is busy" in refusal(store, name).what
        assert store.version("a") == (1, 1)


@every_method
def test_a_file_that_is_corrupted_while_open_is_not_usable(
    store: Store, file: Path, name: str
) -> None:
    store._engine.dispose()
    with file.open("r+b") as content:
        content.write(b"\xff" * file.stat().st_size)
    problem = refusal(store, name)
    assert problem.what == "The file is not a usable SQLite database (file is not a database)"
    assert problem.where == f"SQLite file {file}"
    assert "restore a backup" in problem.do_next


@every_write
def test_a_file_that_may_only_be_read_cannot_be_written(store: Store, name: str) -> None:
    if name == "restore_log":
        # It writes only what was removed.
        store.remove_log("a", LOG, "Ada", AT)
    with store._engine.connect() as connection:
        # Rights do not count for root. The pool gives this one connection out again.
        connection.exec_driver_sql("PRAGMA query_only = ON")
    problem = refusal(store, name)
    assert problem.what.startswith("The database cannot be written (attempt to write a readonly")
    assert problem.do_next.startswith("Allow writing")


def test_an_error_of_sqlalchemy_itself_is_a_problem_too(store: Store) -> None:
    with pytest.raises(StoreProblem, match=r"cannot be used \(this is odd\)"):  # noqa: SIM117
        with transaction(store._engine):
            raise InvalidRequestError("this is odd")


def removed(file: Path) -> None:
    file.unlink()


def removed_with_its_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def replaced(file: Path) -> None:
    shutil.copy(file, file.with_name("copy"))
    os.replace(file.with_name("copy"), file)


@every_write
@pytest.mark.parametrize("happens", [removed, removed_with_its_folder, replaced])
def test_nothing_is_written_to_a_file_that_is_gone(
    store: Store, file: Path, name: str, happens: Callable[[Path], None]
) -> None:
    happens(file)
    there = file.exists()
    problem = refusal(store, name)
    assert problem.what == "The database file was removed or replaced"
    assert problem.where == f"SQLite file {file}"
    assert "restart" in problem.do_next
    # A connection made now would create an empty file.
    store._engine.dispose()
    assert refusal(store, name).what == problem.what
    assert file.exists() == there


def test_the_same_file_moved_back_is_written_again(store: Store, file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    refusal(store, "save")
    file.with_name("elsewhere").rename(file)
    store.save("a", "b", 1, "Ada", AT, "")
    with open_store(f"sqlite:///{file}") as again:
        assert again.version("a") == (2, 1)


def test_the_file_is_found_after_a_change_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///budget.sqlite3") as store:
        monkeypatch.chdir("/")
        store.create_project("a", "Ada", AT, "", "a")
        (tmp_path / "budget.sqlite3").unlink()
        assert "removed or replaced" in refusal(store, "save").what


def test_a_database_in_memory_has_no_file_to_check() -> None:
    with open_store("sqlite://") as store:
        store.create_project("a", "Ada", AT, "", "a")
        assert store.save("a", "b", 1, "Ada", AT, "").number == 2
