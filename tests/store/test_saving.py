"""Saving, alone and at the same time as others."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from budget.store import Conflict, Revision, Store, StoreProblem, open_store

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)
LATER = AT + timedelta(minutes=5)
Worker = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def project(store: Store) -> str:
    return store.create_project("one", "Ada", AT, "start").project


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_saves_are_numbered_and_listed_newest_first(store: Store, project: str) -> None:
    second = store.save(project, "two", 1, "Ben", LATER, "dates")
    assert second == Revision(project, 2, "two", "Ben", LATER, "dates", 1, False)
    third = store.save(project, "three", 2, "Ada", LATER, "")
    assert store.newest(project) == third
    assert [revision.number for revision in store.history(project)] == [3, 2, 1]
    assert store.revision(project, 2) == second
    assert store.revision(project, 4) is None


def test_a_document_equal_to_the_newest_one_adds_no_revision(store: Store, project: str) -> None:
    second = store.save(project, "two", 1, "Ben", LATER, "")
    assert store.save(project, "two", 2, "Cy", LATER, "again") == second
    assert store.save(project, "two", 1, "Cy", LATER, "from an old page") == second
    assert store.version(project) == (2, 0)
    assert store.refused(project) == []


def test_an_older_document_may_be_saved_again(store: Store, project: str) -> None:
    store.save(project, "two", 1, "Ben", LATER, "")
    assert store.save(project, "one", 2, "Ada", LATER, "back").number == 3


@pytest.mark.parametrize("base", [0, 1, 3, -1])
def test_a_save_from_another_base_is_refused_and_kept(
    store: Store, project: str, base: int
) -> None:
    second = store.save(project, "two", 1, "Ben", LATER, "")
    with pytest.raises(Conflict, match="revision 2 by Ben") as caught:
        store.save(project, "mine", base, "Cy", LATER, "my change")
    mine = Revision(project, 1, "mine", "Cy", LATER, "my change", base, True)
    assert caught.value.mine == mine
    assert caught.value.newest == second
    assert store.refused(project) == [mine]
    assert store.newest(project) == second
    assert [revision.number for revision in store.history(project)] == [2, 1]
    assert store.version(project) == (2, 0)


def test_refused_attempts_are_counted_by_themselves(store: Store, project: str) -> None:
    store.save(project, "two", 1, "Ben", LATER, "")
    for text in ("mine", "mine too"):
        with pytest.raises(Conflict):
            store.save(project, text, 1, "Cy", LATER, "")
    assert [(r.number, r.document) for r in store.refused(project)] == [
        (2, "mine too"),
        (1, "mine"),
    ]
    assert store.save(project, "three", 2, "Cy", LATER, "").number == 3


def test_of_threads_that_save_from_the_same_base_exactly_one_wins(
    store: Store, project: str
) -> None:
    authors = ("Ada", "Ben", "Cy", "Dee")
    start = threading.Barrier(len(authors))
    outcomes: list[str] = []

    def save(author: str, base: int) -> None:
        start.wait()
        try:
            store.save(project, f"{author} {base}", base, author, LATER, "")
            outcomes.append("won")
        except Conflict as conflict:
            outcomes.append(f"after {conflict.newest.number}")

    rounds = 8
    for base in range(1, rounds + 1):
        outcomes.clear()
        threads = [threading.Thread(target=save, args=(author, base)) for author in authors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [f"after {base + 1}"] * 3 + ["won"]
    history = store.history(project)
    assert [revision.number for revision in history] == list(range(rounds + 1, 0, -1))
    attempts = {r.document for r in history} | {r.document for r in store.refused(project)}
    assert attempts == {"one", *(f"{a} {b}" for a in authors for b in range(1, rounds + 1))}


def test_of_processes_that_save_from_the_same_base_exactly_one_wins(
    store: Store, project: str, url: str, worker: Worker
) -> None:
    rounds = 15
    processes = [worker("rounds", url, project, author, rounds) for author in ("Ada", "Ben")]
    for _ in range(rounds):
        assert [line(process) for process in processes] == ["ready", "ready"]
        for process in processes:
            go(process)
        assert sorted(line(process) for process in processes) == ["conflict", "won"]
    assert store.version(project) == (rounds + 1, 0)
    assert len(store.refused(project)) == rounds


def test_every_revision_is_complete_after_a_process_was_killed_while_saving(
    store: Store, project: str, url: str, worker: Worker
) -> None:
    process = worker("forever", url, project)
    assert line(process) == "ready"
    go(process)
    reported = [line(process) for _ in range(15)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    store.close()
    with open_store(url) as again:
        history = again.history(project)
        assert [revision.number for revision in history] == list(range(len(history), 0, -1))
        assert len(history) >= int(reported[-1].split()[1])
        for revision in history[:-1]:
            body, checksum = revision.document.rsplit("\n", 1)
            assert hashlib.sha256(body.encode()).hexdigest() == checksum
        number = again.save(project, "after", len(history), "Ada", LATER, "").number
        assert number == len(history) + 1


def test_readers_go_on_while_somebody_writes(store: Store, project: str) -> None:
    from budget.store.connection import transaction

    with transaction(store._engine, write=True):
        assert store.version(project) == (1, 0)
        assert len(store.projects()) == 1


def test_the_version_counts_revisions_and_changes_of_logs(store: Store, project: str) -> None:
    assert store.version(project) == (1, 0)
    log, _ = store.add_log(project, "a.jsonl", b"a", "Ada", AT)
    assert store.version(project) == (1, 1)
    store.save(project, "two", 1, "Ben", LATER, "")
    store.remove_log(project, log.hash, "Ada", AT)
    assert store.version(project) == (2, 2)
    store.restore_log(project, log.hash, "Ada", AT)
    assert store.version(project) == (2, 3)


def test_a_number_that_the_database_cannot_hold_is_a_problem_or_a_conflict(
    store: Store, project: str
) -> None:
    with pytest.raises((StoreProblem, Conflict)):
        store.save(project, "two", 2**40, "Ada", AT, "")
    assert store.version(project) == (1, 0)
