"""Which database is used, and a store opened in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import platformdirs
from sqlalchemy import URL

from budget.store.connection import connect, read_url
from budget.store.migrations import MIGRATIONS, Migration, apply_pending
from budget.store.store import Store


def default_url() -> str:
    """Return ``COMPUTE_BUDGET_DATABASE_URL``, or a SQLite file in the user's data folder."""
    given = os.environ.get("COMPUTE_BUDGET_DATABASE_URL", "").strip()
    if given:
        return given
    folder = platformdirs.user_data_dir("compute-budget", appauthor=False)
    file = Path(folder, "budget.sqlite3")
    return URL.create("sqlite", database=str(file)).render_as_string(hide_password=False)


def open_store(url: str | None = None, *, migrations: Sequence[Migration] = MIGRATIONS) -> Store:
    """Return the store in the database at ``url`` (``default_url()``), brought up to date.

    Raises:
        StoreProblem: the database cannot be opened or written, is none, or is newer than this
            program; or its driver is missing.
    """
    engine = connect(read_url(default_url() if url is None else url))
    try:
        apply_pending(engine, migrations)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine)
