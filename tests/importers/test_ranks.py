"""Attempts of several ranks: from one file, from many, and the hook's view inside each."""

from __future__ import annotations

import pytest

from budget import importers
from budget.attempts import unattributed_s
from budget.joining import combine
from tests.importers.written import (
    GIB,
    at,
    begin,
    file,
    finish,
    inside,
    line,
    opening,
    peak,
    read,
    told,
    whats,
)


def task(rank: int, duration_s: float, node: int = 0, **end: object) -> tuple[str, ...]:
    """Return what the probe of one task of a step wrote; its process id is 100 + rank."""
    own = {"rank": rank, "node": node}
    return (
        opening(rank * 0.1, 100 + rank, **own),
        begin(1 + rank * 0.1, pid=100 + rank, **own),
        finish(1 + rank * 0.1 + duration_s, duration_s, pid=100 + rank, **own, **end),
    )


def phases(rank: int, *marks: tuple[str, float, float]) -> tuple[str, ...]:
    """Return what the hook of one task wrote; its process id is 200 + rank."""
    own = {"rank": rank, "node": 0, "layer": "hook"}
    return (
        opening(1.5, 200 + rank, attempt="a1", **own),
        *(
            text
            for name, start, seconds in marks
            for text in (
                inside("phase.start", start, 200 + rank, phase=name, **own),
                inside("phase.end", start + seconds, 200 + rank, phase=name, duration_s=seconds,
                       outcome="ok", **own),
            )
        ),
    )  # fmt: skip


def card(index: int, used: int) -> dict[str, object]:
    return peak("parent", index, device_peak_bytes=used * GIB, baseline_bytes=GIB)


TASKS = (
    *task(0, 100.0, memory=[peak("parent", "host", resident_peak_bytes=3 * GIB), card(0, 20)]),
    *task(1, 140.0, memory=[peak("parent", "host", resident_peak_bytes=5 * GIB), card(0, 30)]),
)


def test_the_tasks_of_a_step_are_one_attempt():
    log = read(*TASKS)
    assert log.problems == ()
    [attempt] = log.attempts
    assert (attempt.outcome, attempt.duration_s, attempt.started_at) == ("ok", 140.0, at(1))
    assert attempt.ranks == (0, 1)
    assert [(part.rank, part.duration_s) for part in attempt.parts] == [(0, 100.0), (1, 140.0)]


def test_peaks_stand_side_by_side_with_their_rank():
    [attempt] = read(*TASKS).attempts
    assert [(m.rank, m.device, m.resident_peak_bytes or m.device_peak_bytes)
            for m in attempt.memory] == [
        (0, "host", 3 * GIB), (0, "0", 20 * GIB), (1, "host", 5 * GIB), (1, "0", 30 * GIB),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        (("ok", "failed"), "failed"),
        (("interrupted", "failed"), "failed"),
        (("ok", "interrupted"), "interrupted"),
        (("ok", None), None),
        ((None, "failed"), "failed"),
        ((None, "interrupted"), "interrupted"),
    ],
)
def test_the_worst_rank_gives_the_outcome(outcomes, worst):
    lines = []
    for rank, outcome in enumerate(outcomes):
        given = task(rank, 100.0, outcome=outcome)
        lines += given if outcome is not None else given[:2]
    [attempt] = read(*lines).attempts
    assert attempt.outcome == worst


def test_a_rank_without_an_end_lasts_to_the_last_sign_of_life_of_that_rank():
    lines = (*task(0, 100.0), *task(1, 0.0)[:2],
             line("heartbeat", 151.1, pid=101, rank=1, node=0, attempt="a1"))  # fmt: skip
    [attempt] = read(*lines).attempts
    assert [(p.rank, p.duration_s) for p in attempt.parts] == [(0, 100.0), (1, 150.0)]
    assert (attempt.outcome, attempt.duration_s) == (None, 150.0)


@pytest.mark.parametrize("turned", [False, True])
def test_files_of_single_ranks_say_the_same_as_the_merged_file(turned):
    one, two = (importers.read(name, file(*lines)) for name, lines in
                (("r0", TASKS[:3]), ("r1", TASKS[3:])))  # fmt: skip
    measured = combine([two, one] if turned else [one, two])
    assert measured.problems == ()
    [whole] = combine([read(*TASKS)]).attempts
    [attempt] = measured.attempts
    for name in ("outcome", "duration_s", "started_at", "ranks"):
        assert getattr(attempt, name) == getattr(whole, name)
    assert [m.device_peak_bytes for m in attempt.memory] == [
        m.device_peak_bytes for m in whole.memory]  # fmt: skip
    assert attempt.source.name == "r0"


def test_a_rank_read_twice_counts_once_and_it_is_said():
    one, again = (importers.read(name, file(*TASKS)) for name in ("a", "b"))
    measured = combine([one, again])
    assert len(measured.attempts[0].parts) == 2
    assert [told(problem) for problem in measured.problems] == [
        "b:2 attempt a1 was already read from a"
    ]


def test_a_rank_that_begins_twice_counts_once_and_it_is_said():
    log = read(*TASKS, begin(50, pid=300, rank=1, node=0))
    assert whats(log) == ["f.jsonl:7 attempt a1 begins a second time"]
    assert len(log.attempts[0].parts) == 2


def test_one_process_id_on_two_nodes_is_two_processes():
    lines = []
    for node in (0, 1):
        own = {"rank": node, "node": node}
        lines += [opening(0, 100, **own, boot=f"b{node}"), begin(1, pid=100, **own),
                  finish(11 + node, 10.0 + node, pid=100, **own)]  # fmt: skip
    log = read(*lines)
    assert log.problems == ()
    assert log.attempts[0].duration_s == 11.0
    assert log.sessions[0].nodes == (0, 1)


def test_workers_of_a_launcher_give_the_phases_of_the_slowest():
    log = read(
        opening(0), begin(1),
        *phases(0, ("load", 10, 40), ("run", 50, 100)),
        *phases(1, ("load", 10, 60), ("run", 70, 90)),
        finish(171, 170.0),
    )  # fmt: skip
    [attempt] = combine([log]).attempts
    # Loaded at 50 and 70, done at 150 and 160.
    assert attempt.phase_s("load") == pytest.approx(60)
    assert attempt.phase_s("run") == pytest.approx(90)
    assert unattributed_s(attempt) == pytest.approx(20)  # 170 - 60 - 90
    assert attempt.layers_of("run") == ("hook",)
    assert attempt.ranks == (0, 1)
