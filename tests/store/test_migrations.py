"""Migrations: once each, whole or not at all, never backwards."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, inspect, select, text

from budget.store import Store, StoreProblem, open_store
from budget.store.connection import read_url, transaction
from budget.store.migrations import MIGRATIONS, Migration
from budget.store.schema import METADATA, migrations

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)
FIRST = MIGRATIONS[:1]


def add_colour(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE budget_projects ADD COLUMN colour TEXT DEFAULT 'red'"))


def add_colour_and_fail(connection: Connection) -> None:
    add_colour(connection)
    connection.execute(text("SELECT * FROM budget_nothing"))


COLOUR = Migration("0002_colour", add_colour)


def recorded(store: Store) -> dict[str, datetime]:
    with transaction(store._engine) as connection:
        rows = connection.execute(select(migrations)).all()
    return {row.name: row.applied_at for row in rows}


def colours(store: Store) -> list[str]:
    with transaction(store._engine) as connection:
        return list(connection.scalars(text("SELECT colour FROM budget_projects")))


def tables(url: str) -> dict[str, Any]:
    engine = create_engine(read_url(url))
    found = inspect(engine)
    described = {
        name: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)],
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(
                (k["constrained_columns"], k["referred_table"])
                for k in found.get_foreign_keys(name)
            ),
            found.get_indexes(name),
        )
        for name in found.get_table_names()
    }
    engine.dispose()
    return described


def test_an_empty_database_gets_every_migration_recorded_with_its_time(url: str) -> None:
    with open_store(url) as store:
        found = recorded(store)
    assert list(found) == [migration.name for migration in MIGRATIONS]
    for time in found.values():
        assert time.tzinfo is UTC
        assert abs(datetime.now(UTC) - time) < timedelta(minutes=5)


def test_the_migrations_lead_to_the_tables_that_the_code_uses(
    new_url: Callable[[], str],
) -> None:
    migrated, created = new_url(), new_url()
    open_store(migrated).close()
    engine = create_engine(read_url(created))
    METADATA.create_all(engine)
    engine.dispose()
    found = tables(migrated)
    del found["budget_migrations"]
    assert found == tables(created)


def test_a_database_with_the_first_migration_only_gets_the_others(url: str) -> None:
    with open_store(url, migrations=FIRST) as store:
        store.create_project("a", "Ada", AT, "", "a")
        before = recorded(store)
    with open_store(url, migrations=[*FIRST, COLOUR]) as store:
        assert colours(store) == ["red"]
        after = recorded(store)
    assert sorted(after) == [FIRST[0].name, COLOUR.name]
    assert after[FIRST[0].name] == before[FIRST[0].name]


def test_an_empty_database_gets_several_migrations_in_order(url: str) -> None:
    with open_store(url, migrations=[*FIRST, COLOUR]) as store:
        store.create_project("a", "Ada", AT, "", "a")
        assert colours(store) == ["red"]


def test_a_migration_that_fails_leaves_nothing_behind(url: str) -> None:
    open_store(url, migrations=FIRST).close()
    before = tables(url)
    broken = Migration(COLOUR.name, add_colour_and_fail)
    with pytest.raises(StoreProblem, match="budget_nothing"):
        open_store(url, migrations=[*FIRST, broken])
    assert tables(url) == before
    with open_store(url, migrations=[*FIRST, COLOUR]) as store:
        assert colours(store) == []


def test_a_newer_database_is_refused_with_a_sentence(url: str) -> None:
    open_store(url, migrations=[*FIRST, COLOUR]).close()
    with pytest.raises(StoreProblem, match=r"newer than this program.*0002_colour.*Update"):
        open_store(url)


def test_threads_that_open_a_new_database_at_once_all_succeed(
    new_url: Callable[[], str],
) -> None:
    openers = 6
    for _ in range(4):
        url = new_url()
        start = threading.Barrier(openers)
        counted: list[int] = []

        def opening(url: str = url, start: threading.Barrier = start) -> None:
            start.wait()
            with open_store(url, migrations=[*FIRST, COLOUR]) as store:
                counted.append(len(recorded(store)))  # noqa: B023

        threads = [threading.Thread(target=opening) for _ in range(openers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counted == [2] * openers


def test_processes_that_open_a_new_database_at_once_all_succeed(
    url: str, worker: Callable[..., subprocess.Popen[str]]
) -> None:
    processes = [worker("open", url) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in processes] == ["projects 0\n"] * 3
