"""Logs: verbatim, once, and removed without being lost."""

from __future__ import annotations

import hashlib
import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from budget.store import Store, StoredLog, StoreProblem, logs, open_store
from budget.store.connection import transaction
from budget.store.schema import log_contents

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)
LATER = AT + timedelta(minutes=5)
DATA = bytes(range(256)) + b'\r\n{"a": 1}\r\n\n\x00\x00\xff\xfe'


@pytest.fixture
def project(store: Store) -> str:
    return store.create_project("one", "Ada", AT, "start").project


def contents(store: Store) -> int:
    with transaction(store._engine) as connection:
        return connection.scalar(select(func.count()).select_from(log_contents)) or 0


def names(found: list[StoredLog]) -> list[str]:
    return [log.name for log in found]


@pytest.mark.parametrize("data", [DATA, b"", b"\0", b"x" * 3_000_000], ids=len)
def test_a_log_comes_back_byte_for_byte(store: Store, project: str, url: str, data: bytes) -> None:
    log, added = store.add_log(project, "run 1.jsonl", data, "Ada", AT)
    digest = hashlib.sha256(data).hexdigest()
    assert added
    assert log == StoredLog(digest, "run 1.jsonl", len(data), AT, "Ada")
    with open_store(url) as again:
        assert again.logs(project) == [log]
        assert again.read_log(digest) == data


def test_the_same_bytes_under_any_name_add_nothing(store: Store, project: str) -> None:
    log, _ = store.add_log(project, "a.jsonl", DATA, "Ada", AT)
    assert store.add_log(project, "a.jsonl", DATA, "Ben", LATER) == (log, False)
    assert store.add_log(project, "copy.jsonl", DATA, "Ben", LATER) == (log, False)
    assert store.logs(project) == [log]
    assert store.version(project) == (1, 1)


def test_content_is_kept_once_for_all_projects(store: Store, project: str) -> None:
    other = store.create_project("two", "Ben", AT, "").project
    store.add_log(project, "a.jsonl", DATA, "Ada", AT)
    log, added = store.add_log(other, "b.jsonl", DATA, "Ben", LATER)
    assert added
    assert (log.name, log.added_by) == ("b.jsonl", "Ben")
    assert names(store.logs(project)) == ["a.jsonl"]
    assert contents(store) == 1


def test_logs_are_listed_in_order_of_adding(store: Store, project: str) -> None:
    for name in ("c", "a", "b"):
        store.add_log(project, name, name.encode(), "Ada", AT)
    assert names(store.logs(project)) == ["c", "a", "b"]


def test_a_removed_log_is_listed_apart_and_can_be_restored(store: Store, project: str) -> None:
    first, _ = store.add_log(project, "a", b"a", "Ada", AT)
    second, _ = store.add_log(project, "b", b"b", "Ada", AT)
    store.remove_log(project, first.hash, "Ben", LATER)
    assert store.logs(project) == [second]
    [removed] = store.removed_logs(project)
    assert (removed.name, removed.removed_at, removed.removed_by) == ("a", LATER, "Ben")
    assert store.read_log(first.hash) == b"a"
    store.restore_log(project, first.hash, "Ada", LATER)
    assert store.logs(project) == [first, second]
    assert store.removed_logs(project) == []


def test_a_removed_log_that_is_added_again_is_active_again(store: Store, project: str) -> None:
    first, _ = store.add_log(project, "a", b"a", "Ada", AT)
    store.add_log(project, "b", b"b", "Ada", AT)
    store.remove_log(project, first.hash, "Ben", LATER)
    back, added = store.add_log(project, "a again", b"a", "Cy", LATER)
    assert added
    assert back == StoredLog(first.hash, "a again", 1, LATER, "Cy")
    assert names(store.logs(project)) == ["b", "a again"]
    assert store.removed_logs(project) == []
    assert contents(store) == 2


def test_removing_or_restoring_twice_changes_nothing(store: Store, project: str) -> None:
    log, _ = store.add_log(project, "a", b"a", "Ada", AT)
    store.restore_log(project, log.hash, "Ben", LATER)
    assert store.version(project) == (1, 1)
    store.remove_log(project, log.hash, "Ben", LATER)
    store.remove_log(project, log.hash, "Cy", LATER)
    assert store.version(project) == (1, 2)
    assert store.removed_logs(project)[0].removed_by == "Ben"


def test_a_log_of_another_project_cannot_be_removed_here(store: Store, project: str) -> None:
    other = store.create_project("two", "Ben", AT, "").project
    log, _ = store.add_log(other, "a", b"a", "Ada", AT)
    with pytest.raises(StoreProblem, match="has no log"):
        store.remove_log(project, log.hash, "Ada", AT)
    assert store.logs(other) == [log]


def test_an_unknown_hash_is_a_problem(store: Store) -> None:
    with pytest.raises(StoreProblem, match="There is no log 000"):
        store.read_log("0" * 64)


def test_a_log_may_be_as_large_as_the_limit_and_no_larger(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert logs.MAX_LOG_BYTES == 64 * 1024 * 1024
    monkeypatch.setattr(logs, "MAX_LOG_BYTES", 10)
    store.add_log(project, "ten", b"x" * 10, "Ada", AT)
    with pytest.raises(StoreProblem, match="has 11 bytes; at most 10"):
        store.add_log(project, "eleven", b"x" * 11, "Ada", AT)
    assert names(store.logs(project)) == ["ten"]


def test_threads_that_add_the_same_file_at_once_add_it_once(store: Store, project: str) -> None:
    projects = [project, project, *(store.create_project("x", "Ada", AT, "").project for _ in "ab")]
    start = threading.Barrier(len(projects))
    added: list[str] = []

    def add(to: str, data: bytes) -> None:
        start.wait()
        if store.add_log(to, "a.jsonl", data, "Ada", AT)[1]:
            added.append(to)

    for turn in range(6):
        added.clear()
        threads = [threading.Thread(target=add, args=(p, b"%d" % turn)) for p in projects]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(added) == sorted(set(projects))
    assert contents(store) == 6
    assert store.version(project) == (1, 6)
