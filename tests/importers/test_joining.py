"""Several files together: each record once, whichever files it stands in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from budget import importers
from budget.attempts import Measurements, Session, Wait, unattributed_s
from budget.figures import Source
from budget.joining import combine
from budget.sessions import allocations, gaps_s
from tests.importers.written import (
    CHILD,
    CHILD_LINES,
    MERGED_LINES,
    PARENT_LINES,
    at,
    begin,
    file,
    finish,
    inside,
    line,
    opening,
    told,
)

NOWHERE = Source("log", "")


def read(name: str, *lines: str) -> importers.ImportedLog:
    return importers.read(name, file(*lines))


def without_sources(value: Any) -> Any:
    """Return ``value`` with every source replaced by one and the same."""
    if isinstance(value, Source):
        return NOWHERE
    if isinstance(value, tuple):
        return tuple(without_sources(item) for item in value)
    if isinstance(value, msgspec.Struct):
        return type(value)(**{
            name: without_sources(getattr(value, name)) for name in value.__struct_fields__
        })  # fmt: skip
    return value


def content(measured: Measurements) -> Any:
    return without_sources((measured.sessions, measured.attempts))


PARENT_FILE = read("s1-10.jsonl", *PARENT_LINES)
CHILD_FILE = read("s1-11.jsonl", *CHILD_LINES)
MERGED_FILE = read("s1.jsonl", *MERGED_LINES)


def test_the_merged_file_joins_each_fragment_to_its_attempt():
    measured = combine([MERGED_FILE])
    [attempt] = measured.attempts
    assert [phase.name for phase in attempt.phases] == ["load", "run"]
    assert attempt.phase_s("run") == 12.0
    assert [call.duration_s for call in attempt.calls] == [4.0, 6.0]
    assert attempt.software is not None
    assert attempt.software.torch == "2.9.0"
    assert attempt.host.gpus[0].name == "a GPU"
    assert measured.problems == ()


@pytest.mark.parametrize("files", [(PARENT_FILE, CHILD_FILE), (CHILD_FILE, PARENT_FILE)])
def test_the_files_of_the_folder_say_the_same_as_the_merged_file(files):
    measured = combine(files)
    assert content(measured) == content(combine([MERGED_FILE]))
    assert measured.problems == ()


def test_the_merged_file_beside_its_parts_counts_everything_once():
    measured = combine([MERGED_FILE, CHILD_FILE, PARENT_FILE])
    assert content(measured) == content(combine([MERGED_FILE]))
    assert [told(problem) for problem in measured.problems] == [
        "s1-10.jsonl:2 attempt a1 was already read from s1.jsonl"
    ]


@pytest.mark.parametrize("name", ["s1.jsonl", "copy of s1.jsonl"])
def test_the_same_log_twice_counts_once(name):
    measured = combine([MERGED_FILE, read(name, *MERGED_LINES)])
    assert content(measured) == content(combine([MERGED_FILE]))
    [session] = measured.sessions
    assert (len(session.waits), len(session.changes), len(session.notes)) == (1, 1, 1)
    assert len(measured.problems) == 1


def test_the_same_name_with_other_content_is_another_log():
    other = read("s1.jsonl", opening(0, session="s2"), begin(1, "b1", session="s2"))
    measured = combine([MERGED_FILE, other])
    assert {attempt.id for attempt in measured.attempts} == {"a1", "b1"}
    assert measured.problems == ()


@pytest.mark.parametrize("early_first", [True, False])
def test_a_log_taken_while_the_attempt_ran_gives_way_to_the_complete_one(early_first):
    early = read("early.jsonl", PARENT_LINES[0], *PARENT_LINES[1:3], *CHILD_LINES[:2])
    assert early.attempts[0].outcome is None
    files = [early, MERGED_FILE] if early_first else [MERGED_FILE, early]
    measured = combine(files)
    assert content(measured) == content(combine([MERGED_FILE]))
    assert [told(problem) for problem in measured.problems] == [
        "early.jsonl:2 attempt a1 was already read from s1.jsonl"
    ]


KILLED_PARENT = (opening(0), begin(1), line("heartbeat", 6, attempt="a1"))
# 90 s after the attempt began by the monotonic clock; the time of day is a little later.
WENT_ON = (
    opening(3, CHILD, "api", attempt="a1"),
    inside("phase.start", 4, phase="run", layer="api"),
    inside("call", 91, duration_s=80.0, t=at(91.5).isoformat()),
)


@pytest.mark.parametrize("inner", [WENT_ON, WENT_ON[:1]])
def test_a_child_that_outlived_the_probe_bounds_the_attempt_from_any_file(inner):
    if len(inner) == 1:
        inner = (opening(91, CHILD, "api", attempt="a1", t=at(91.5).isoformat()),)
    parent, child = read("1", *KILLED_PARENT), read("2", *inner)
    merged = combine([read("m", *KILLED_PARENT, *inner)])
    [attempt] = merged.attempts
    assert (attempt.outcome, attempt.duration_s) == (None, 90.0)
    for files in ([parent, child], [child, parent]):
        assert content(combine(files)) == content(merged)


def test_of_two_logs_without_the_end_the_longer_bound_counts():
    early, late = read("1", *KILLED_PARENT[:2]), read("2", *KILLED_PARENT)
    for files in ([early, late], [late, early]):
        assert combine(files).attempts[0].duration_s == 5.0


def test_an_attempt_that_ended_is_not_longer_than_its_end_says():
    files = [read("1", opening(0), begin(1), finish(6, 5.0)), read("2", *WENT_ON)]
    assert combine(files).attempts[0].duration_s == 5.0


def phased(*phases: tuple[str, float, float, int]) -> Any:
    """Return an attempt of 3970 s with phases (name, start, seconds, pid)."""
    lines = [
        (at_s, inside(event, at_s, pid, phase=name, layer="api", **more))
        for name, start, seconds, pid in phases
        for event, at_s, more in (
            ("phase.start", start, {}),
            ("phase.end", start + seconds, {"duration_s": seconds, "outcome": "ok"}),
        )
    ]
    # The outer of two phases that begin or end together stands first in ``phases``.
    log = read("f", opening(0), begin(1), *(text for _, text in sorted(lines, key=lambda x: x[0])),
               finish(3971, 3970.0))  # fmt: skip
    return combine([log]).attempts[0]


@pytest.mark.parametrize(
    ("phases", "load", "run", "rest"),
    [
        # 3600 - 600; 3970 - 3600
        ([("run", 10, 3600, 11), ("load", 20, 600, 11)], 600.0, 3000.0, 370.0),
        ([("load", 10, 600, 11), ("run", 610, 3000, 11)], 600.0, 3000.0, 370.0),
        # the load holds a run of 100 s: 3600 - 600 + 100, 600 - 100
        ([("run", 10, 3600, 11), ("load", 20, 600, 11), ("run", 50, 100, 11)],
         500.0, 3100.0, 370.0),
        # two loads inside: 3600 - 600 - 200
        ([("run", 10, 3600, 11), ("load", 20, 600, 11), ("load", 700, 200, 11)],
         800.0, 2800.0, 370.0),
        # a run inside a run counts once
        ([("run", 10, 3600, 11), ("run", 20, 600, 11)], None, 3600.0, 370.0),
        # ends 0.5 ms after the phase that holds it: 3600 - (600 - 0.0005)
        ([("run", 10, 3600, 11), ("load", 3010.0005, 600, 11)], 600.0, 3000.0005, 369.9995),
        # ends 5 ms after: not inside
        ([("run", 10, 3600, 11), ("load", 3010.005, 600, 11)], 600.0, 3600.0, 0.0),
        # another process: of one moment the process speaks that began its phases first
        ([("run", 10, 3600, 11), ("load", 20, 600, 12)], 0.0, 3600.0, 370.0),
        # two workers at the same time, 10..3610 and 110..3710: 3700 s
        ([("run", 10, 3600, 11), ("run", 110, 3600, 12)], None, 3700.0, 270.0),
    ],
)  # fmt: skip
def test_each_moment_belongs_to_the_innermost_phase(phases, load, run, rest):
    attempt = phased(*phases)
    assert attempt.phase_s("load") == (None if load is None else pytest.approx(load, abs=1e-6))
    assert attempt.phase_s("run") == pytest.approx(run, abs=1e-6)
    assert unattributed_s(attempt) == pytest.approx(rest, abs=1e-6)


def test_a_file_of_many_known_attempts_is_one_problem():
    lines = [opening(0), *(begin(1 + i, f"a{i}") for i in range(30))]
    measured = combine([read("1", *lines), read("2", *lines)])
    assert [told(problem) for problem in measured.problems] == [
        "2 30 attempts were already read from 1; they count once"
    ]


def test_a_session_in_which_nothing_was_measured_says_which_command_does():
    notes = read("n", opening(0, 20), line("note", 1, 20, text="x"))
    [problem] = combine([notes]).problems
    assert told(problem) == "n the file holds no attempt: no command was measured in it"
    assert "probe.pyz run" in problem.do_next.text
    assert combine([notes, PARENT_FILE]).problems == ()


@pytest.mark.parametrize("turned", [True, False])
def test_a_host_known_to_have_no_gpu_outranks_one_that_was_not_asked(turned):
    asked = read("1", opening(0, gpus=[], gpus_why="nvidia-smi was not found"), begin(1))
    unasked = read("2", opening(2, CHILD, "api", gpus=[], gpus_why="not asked"))
    [session] = combine([unasked, asked] if turned else [asked, unasked]).sessions
    assert session.host.gpu_count == 0


def test_a_fragment_without_its_attempt_is_a_problem_that_says_what_to_upload():
    measured = combine([CHILD_FILE])
    assert measured.attempts == ()
    [problem] = measured.problems
    assert told(problem) == "s1-11.jsonl:3 the start of attempt a1 is in no file"


def test_a_launcher_without_torch_does_not_hide_the_process_that_has_it():
    log = read(
        "f", opening(0), begin(1), inside("environment", 2, 20, torch=None, libraries={}),
        inside("environment", 3, CHILD, torch="2.9.0"), finish(9, 8.0),
    )  # fmt: skip
    [attempt] = combine([log]).attempts
    assert attempt.software is not None
    assert attempt.software.torch == "2.9.0"


def test_waits_notes_and_changes_of_several_files_of_a_session_are_all_kept():
    first = read("1", opening(0), line("wait.start", 10, reason="fix"), line("note", 11, text="x"))
    second = read("2", opening(20, 30), line("wait.start", 25, 30, reason="files"),
                  line("wait.end", 26, 30, reason="files"), line("note", 27, 30, text="y"),
                  line("session.end", 40, 30))  # fmt: skip
    [session] = combine([first, second]).sessions
    assert [(w.reason, w.duration_s) for w in session.waits] == [("fix", None), ("files", 1.0)]
    assert [note.text for note in session.notes] == ["x", "y"]
    assert (session.started_at, session.ended_at, session.closed) == (at(0), at(40), True)


def test_a_wait_whose_end_only_one_file_saw_is_taken_from_that_file():
    half = read("half", opening(0), line("wait.start", 10, reason="fix"))
    whole = read("whole", opening(0), line("wait.start", 10, reason="fix"),
                 line("wait.end", 15, reason="fix"))  # fmt: skip
    for files in ([half, whole], [whole, half]):
        [session] = combine(files).sessions
        assert [wait.duration_s for wait in session.waits] == [5.0]


def sessions_apart(minutes: float, boots: tuple[str | None, str | None]) -> tuple[Session, ...]:
    """Return two sessions of ten minutes, read from logs, with a gap between them."""
    second = 600 + minutes * 60
    log = read(
        "f", opening(0, boot=boots[0]), line("session.end", 600),
        opening(second, 20, session="s2", boot=boots[1]),
        line("session.end", second + 600, 20, session="s2"),
    )  # fmt: skip
    return combine([log]).sessions


@pytest.mark.parametrize(
    ("minutes", "boots", "together"),
    [
        (59, ("b1", "b1"), True),
        (60, ("b1", "b1"), True),
        (61, ("b1", "b1"), False),
        (59, ("b1", "b2"), False),
        (59, (None, None), False),
    ],
)
def test_sessions_of_one_boot_within_an_hour_are_one_allocation(minutes, boots, together):
    counted = allocations(sessions_apart(minutes, boots), merge_h=1.0)
    assert counted == {"s1": "s1", "s2": "s1" if together else "s2"}


def test_a_chain_of_close_sessions_is_one_allocation():
    lines = [
        text
        for number in range(4)
        for text in (
            opening(number * 3600, 10 + number, session=f"s{number}"),
            line("session.end", number * 3600 + 600, 10 + number, session=f"s{number}"),
        )
    ]
    counted = allocations(combine([read("f", *lines)]).sessions, merge_h=1.0)
    assert set(counted.values()) == {"s0"}  # gaps of 50 minutes each


@pytest.mark.parametrize(
    ("spans", "waits", "seconds"),
    [
        ([], [], 100.0),
        ([(10, 20)], [], 80.0),  # 100 - 20
        ([(10, 20), (20, 20)], [], 70.0),  # 10..40 is covered: 100 - 30
        ([(10, 50), (20, 10)], [], 50.0),  # the second lies within the first
        ([(10, 20)], [(25, 15)], 70.0),  # 10..40
        ([(10, 20)], [(50, 30)], 50.0),  # 100 - 20 - 30
        ([(-50, 60)], [(90, 500)], 80.0),  # only 0..10 and 90..100 lie inside
        ([(0, 100)], [], 0.0),
        ([(10, None)], [(20, None)], 100.0),  # of unknown length: explains nothing
    ],
)
def test_unexplained_time_is_what_neither_attempt_nor_wait_covers(spans, waits, seconds):
    [session] = combine([read("f", opening(0), line("session.end", 100))]).sessions
    session = msgspec.structs.replace(session, waits=tuple(
        Wait(reason="fix", started_at=at(start), duration_s=length, source=NOWHERE)
        for start, length in waits
    ))  # fmt: skip
    [model] = read("f", opening(0), begin(1)).attempts
    attempts = [
        msgspec.structs.replace(model, id=str(i), started_at=at(start), duration_s=length)
        for i, (start, length) in enumerate(spans)
    ]
    assert gaps_s(session, attempts) == seconds
    other = [msgspec.structs.replace(item, session="s2") for item in attempts]
    assert gaps_s(session, other) == gaps_s(session, [])


def test_reserved_time_is_attempts_waits_and_gaps_together():
    measured = combine([MERGED_FILE])
    [session] = measured.sessions
    # Reserved 600 + 2940 s, of which the attempt takes 20 and the wait 300.
    assert session.reserved_s == 3540.0
    assert gaps_s(session, measured.attempts) == 3540.0 - 20.0 - 300.0


def test_a_session_never_closed_has_a_length_that_is_a_lower_bound():
    [session] = combine([read("f", opening(0), line("note", 90, text="x"))]).sessions
    assert (session.closed, session.reserved_s) == (False, 90.0)
    assert session.ended_at == at(0) + timedelta(seconds=90)
