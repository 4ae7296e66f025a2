"""Projects and what is read of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from budget.store import Store, StoreProblem, open_store

NINE = datetime(2027, 1, 11, 9, 0, 0, 123456, tzinfo=UTC)
TEN = NINE + timedelta(hours=1)
TEXT = "title: „Größe“ 測試 🙂\r\n\n\ttab  \n"


def test_a_created_project_is_its_own_first_revision(store: Store) -> None:
    first = store.create_project(TEXT, "Ada", NINE, "start")
    assert re.fullmatch(r"[a-z0-9]{10}", first.project)
    assert (first.number, first.document, first.author) == (1, TEXT, "Ada")
    assert (first.message, first.based_on, first.refused) == ("start", None, False)
    assert store.newest(first.project) == first
    assert store.revision(first.project, 1) == first
    assert store.history(first.project) == [first]


def test_two_projects_get_different_ids(store: Store) -> None:
    ids = {store.create_project("a", "Ada", NINE, "").project for _ in range(5)}
    assert len(ids) == 5


def test_a_given_id_is_taken_and_not_taken_twice(store: Store) -> None:
    assert store.create_project("a", "Ada", NINE, "", "sample-1").project == "sample-1"
    with pytest.raises(StoreProblem, match="project 'sample-1' already"):
        store.create_project("b", "Ben", TEN, "", "sample-1")
    assert [entry.document for entry in store.projects()] == ["a"]


@pytest.mark.parametrize("bad", ["", "Sample", "a b", "a/b", "ä", "-a", "a" * 65])
def test_an_id_that_cannot_stand_in_an_address_is_refused(store: Store, bad: str) -> None:
    with pytest.raises(StoreProblem, match="cannot be the id"):
        store.create_project("a", "Ada", NINE, "", bad)


def test_an_unknown_project_has_nothing_to_read(store: Store) -> None:
    assert store.newest("nobody") is None
    assert store.revision("nobody", 1) is None
    assert store.history("nobody") == []
    assert store.refused("nobody") == []
    assert store.logs("nobody") == []
    assert store.removed_logs("nobody") == []
    assert store.version("nobody") == (0, 0)


def test_an_unknown_project_cannot_be_changed(store: Store) -> None:
    for change in (
        lambda: store.save("nobody", "a", 1, "Ada", NINE, ""),
        lambda: store.add_log("nobody", "a.jsonl", b"a", "Ada", NINE),
        lambda: store.remove_log("nobody", "0" * 64, "Ada", NINE),
        lambda: store.restore_log("nobody", "0" * 64, "Ada", NINE),
    ):
        with pytest.raises(StoreProblem, match="There is no project 'nobody'"):
            change()


def test_the_project_that_was_saved_last_is_listed_first(store: Store) -> None:
    store.create_project("a1", "Ada", NINE, "", "a")
    store.create_project("b1", "Ben", TEN, "", "b")
    assert [entry.id for entry in store.projects()] == ["b", "a"]
    store.save("a", "a2", 1, "Cy", TEN + timedelta(hours=1), "")
    first, second = store.projects()
    assert (first.id, first.number, first.author, first.document) == ("a", 2, "Cy", "a2")
    assert (first.created_at, first.at) == (NINE, TEN + timedelta(hours=1))
    assert (second.id, second.number, second.created_at) == ("b", 1, TEN)


def test_times_come_back_as_the_same_instant_in_utc(store: Store, url: str) -> None:
    tokyo = NINE.astimezone(timezone(timedelta(hours=9)))
    first = store.create_project("a", "Ada", tokyo, "")
    log, _ = store.add_log(first.project, "a", b"a", "Ada", tokyo)
    store.remove_log(first.project, log.hash, "Ada", tokyo)
    with open_store(url) as again:
        read = again.newest(first.project)
        [removed] = again.removed_logs(first.project)
    assert read == first
    for time in (first.at, removed.added_at, removed.removed_at):
        assert time == NINE
        assert time is not None
        assert time.tzinfo is UTC


def test_a_time_without_a_zone_is_a_programmers_error(store: Store) -> None:
    with pytest.raises(ValueError, match="without a zone"):
        store.create_project("a", "Ada", NINE.replace(tzinfo=None), "")
    assert store.projects() == []


@pytest.mark.parametrize("bad", ["a\0b", "a\udc80b"])
def test_text_that_one_of_the_databases_cannot_keep_is_refused_by_both(
    store: Store, bad: str
) -> None:
    store.create_project("a", "Ada", NINE, "", "p")
    with pytest.raises(StoreProblem, match="cannot be kept"):
        store.save("p", bad, 1, "Ada", NINE, "")
    with pytest.raises(StoreProblem, match="cannot be kept"):
        store.add_log("p", bad, b"a", "Ada", NINE)
    assert store.version("p") == (1, 0)
