"""Opening: addresses, files that cannot be used, and sentences without passwords."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from budget.store import Store, StoreProblem, default_url, open_store
from budget.store.connection import transaction

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)
NOBODY = 65534


def query(store: Store, sql: str) -> object:
    with transaction(store._engine) as connection:
        return connection.scalar(text(sql))


@pytest.fixture
def as_ordinary_user() -> Iterator[Path]:
    """Give a folder; rights count even where the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="rights-"))
    root = os.geteuid() == 0
    if root:
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_the_default_is_a_file_in_the_users_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("COMPUTE_BUDGET_DATABASE_URL", raising=False)
    folder = tmp_path / "new" / "compute budget #1?"
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(folder))
    assert default_url().endswith("budget.sqlite3")
    assert not folder.exists()
    with open_store() as store:
        store.create_project("a", "Ada", AT, "", "a")
    assert (folder / "budget.sqlite3").is_file()


def test_the_environment_names_another_database(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("COMPUTE_BUDGET_DATABASE_URL", url)
    assert default_url() == url
    with open_store() as store:
        store.create_project("a", "Ada", AT, "", "a")
    with open_store(url) as store:
        assert len(store.projects()) == 1


def test_a_store_that_is_opened_again_holds_the_same(url: str) -> None:
    with open_store(url) as store:
        first = store.create_project("a", "Ada", AT, "", "a")
    with open_store(url) as store:
        assert store.history("a") == [first]


def test_sqlite_waits_checks_keys_and_lets_readers_go_on(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/a.sqlite3") as store:
        assert query(store, "PRAGMA journal_mode") == "wal"
        assert query(store, "PRAGMA busy_timeout") == 10_000
        assert query(store, "PRAGMA foreign_keys") == 1


def test_a_store_in_memory_is_one_database_for_all_threads() -> None:
    with open_store("sqlite://") as store:
        store.create_project("a", "Ada", AT, "", "a")
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(len(store.projects()))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [1, 1, 1, 1]


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "budget.sqlite3"
    garbage = b"title: not a database\n" * 500
    file.write_bytes(garbage)
    with pytest.raises(StoreProblem, match=r"not a usable SQLite database.*budget\.sqlite3.*Move"):
        open_store(f"sqlite:///{file}")
    assert file.read_bytes() == garbage


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreProblem, match="cannot be written"):
        open_store(f"sqlite:///{tmp_path}")


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        StoreProblem, match=r"cannot be created or entered \(.*\): SQLite file .*a\.sqlite3"
    ):
        open_store(f"sqlite:///{tmp_path}/file/folder/a.sqlite3")


def test_an_unwritable_folder_is_named(as_ordinary_user: Path) -> None:
    as_ordinary_user.chmod(0o555)
    with pytest.raises(StoreProblem, match=f"cannot be written .*{as_ordinary_user}.* Allow"):
        open_store(f"sqlite:///{as_ordinary_user}/a.sqlite3")
    with pytest.raises(StoreProblem, match=r"cannot be created or entered .*Permission denied"):
        open_store(f"sqlite:///{as_ordinary_user}/folder/a.sqlite3")
    as_ordinary_user.chmod(0o000)
    with pytest.raises(StoreProblem, match=r"cannot be created or entered .*Permission denied"):
        open_store(f"sqlite:///{as_ordinary_user}/a.sqlite3")


def test_an_unwritable_file_is_named(as_ordinary_user: Path) -> None:
    file = as_ordinary_user / "a.sqlite3"
    open_store(f"sqlite:///{file}").close()
    file.chmod(0o444)
    with pytest.raises(StoreProblem, match="cannot be written"):
        open_store(f"sqlite:///{file}")
    file.chmod(0o644)
    open_store(f"sqlite:///{file}").close()


def test_a_busy_database_is_said_to_be_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("budget.store.connection.BUSY_TIMEOUT_S", 0.1)
    with open_store(f"sqlite:///{tmp_path}/a.sqlite3") as store:
        other = sqlite3.connect(tmp_path / "a.sqlite3", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreProblem, match=r"busy .*Try again"):
            store.create_project("a", "Ada", AT, "", "a")
        other.close()
        store.create_project("a", "Ada", AT, "", "a")


def test_a_missing_driver_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreProblem, match=r'pip install "psycopg\[binary\]"') as caught:
        open_store("postgresql://ada:hunter2@example.org/budget")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_usual_scheme_of_postgresql_is_understood(
    new_database: Callable[[], str], scheme: str
) -> None:
    url = new_database().replace("postgresql", scheme, 1)
    with open_store(url) as store:
        assert store.projects() == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hunter2",
        "mysql://ada:hunter2@example.org/budget",
        "postgresql+asyncpg://ada:hunter2@example.org/budget",
        "sqlite+aiosqlite:///hunter2",
        "postgresql://ada:pass@hunter2@example.org/budget",
        "postgresql://ada:x@example.org:hunter2/budget",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(StoreProblem, match="cannot be read") as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:hunter2@127.0.0.1:1/budget",
        "postgresql://ada:12/hunter2@127.0.0.1:1/budget",
        "postgresql://127.0.0.1:1/budget?user=ada&password=hunter2",
        "postgresql://ada@127.0.0.1:1/budget?hunter2=1&password=hunter2",
        "postgresql:///budget?host=/nowhere&password=hunter2",
    ],
)
def test_an_unreachable_server_is_named_without_the_password(url: str) -> None:
    with pytest.raises(StoreProblem, match="PostgreSQL database budget at") as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.args)
    assert "COMPUTE_BUDGET_DATABASE_URL" in caught.value.do_next


def test_a_database_that_the_server_lacks_is_named(new_database: Callable[[], str]) -> None:
    url = new_database().replace("postgres:@", "postgres:hunter2@").replace("/postgres?", "/none?")
    with pytest.raises(StoreProblem, match="does not exist") as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)


def test_a_server_that_goes_away_is_a_problem_and_its_return_is_noticed(
    new_database: Callable[[], str],
) -> None:
    with open_store(new_database()) as store:
        store.create_project("a", "Ada", AT, "", "a")
        with pytest.raises(StoreProblem, match="cannot be used"):
            query(store, "SELECT pg_terminate_backend(pg_backend_pid())")
        assert len(store.projects()) == 1
