"""What a log of the probe says: attempts, fragments, sessions, waits."""

from __future__ import annotations

import pytest

from budget.attempts import Change, Code, Gpu, Host, Intended, Note, Software
from budget.figures import Source
from tests.importers.written import (
    BOOT_NS,
    CHILD,
    GIB,
    MERGED_LINES,
    at,
    begin,
    finish,
    inside,
    line,
    opening,
    peak,
    read,
    stamp,
    whats,
)

MACHINE = Host(
    os="linux-x86_64",
    cpu="a CPU",
    cpu_count=16,
    ram_bytes=128 * GIB,
    python="3.12.1",
    driver="550.54.15",
    gpus=(
        Gpu(index=0, name="a GPU", uuid="GPU-1", memory_bytes=80 * GIB, compute_capability="9.0"),
    ),
)


def test_an_attempt_says_what_the_process_that_started_it_wrote():
    [attempt] = read(*MERGED_LINES).attempts
    assert (attempt.id, attempt.session, attempt.block, attempt.role) == (
        "a1", "s1", "reference", "trial")  # fmt: skip
    assert (attempt.outcome, attempt.started_at, attempt.duration_s) == ("ok", at(1), 20.0)
    assert (attempt.exit_code, attempt.signal, attempt.retry_of) == (0, None, None)
    assert attempt.argv == ("python", "main.py")
    assert attempt.code == Code(commit="7d78b34", dirty=False)
    assert attempt.intended == Intended(
        model="m", input_tokens=512, output_tokens=32, batch_size=1, parameters={"ratio": "0.3"}
    )
    assert attempt.host == MACHINE
    assert attempt.source == Source("log", "f.jsonl", 2)
    [memory] = attempt.memory
    assert (memory.device, memory.layer, memory.resident_peak_bytes) == ("host", "parent", 3 * GIB)
    assert attempt.phases == attempt.calls == attempt.results == ()


def test_what_the_measured_program_wrote_is_a_fragment_of_its_attempt():
    log = read(*MERGED_LINES)
    [fragment] = log.fragments
    assert fragment.attempt == "a1"
    assert fragment.software == Software(
        torch="2.9.0", cuda="12.8", arch_list=("sm_90",), libraries={"numpy": "2.0.0"}
    )
    load, run = fragment.phases
    assert (load.name, load.duration_s, load.started_at, load.ended) == ("load", 5.0, at(2), True)
    assert (load.layer, load.outcome) == ("api", "ok")
    assert load.key == f"{CHILD}-{BOOT_NS + 2 * 10**9}-phase.start"
    [memory] = load.memory
    assert (memory.device, memory.exact, memory.layer) == ("0", True, "api")
    assert (memory.tensor_peak_bytes, memory.allocator_peak_bytes) == (20 * GIB, 22 * GIB)
    assert memory.device_peak_bytes == 24 * GIB
    assert (run.name, run.duration_s, run.memory) == ("run", 12.0, ())
    assert [(c.duration_s, c.input_tokens) for c in fragment.calls] == [(4.0, 512), (6.0, 500)]
    [result] = fragment.results
    assert (result.name, result.value, result.unit, result.expected) == (
        "accuracy", 71.2, "percent", 71.0)  # fmt: skip


def test_what_the_starting_process_itself_writes_belongs_to_the_attempt():
    log = read(
        opening(0), begin(1), line("phase.start", 2, attempt="a1", phase="run"),
        line("phase.end", 5, attempt="a1", phase="run", duration_s=3.0, outcome="ok"),
        line("error", 6, attempt="a1", kind="OSError", signature="OSError: x", message="x y",
             phase="run"),
        finish(7, 6.0),
    )  # fmt: skip
    [attempt] = log.attempts
    assert [(p.name, p.duration_s, p.layer) for p in attempt.phases] == [("run", 3.0, "parent")]
    [failure] = attempt.failures
    assert (failure.kind, failure.signature, failure.text, failure.phase) == (
        "OSError", "OSError: x", "x y", "run")  # fmt: skip
    assert log.fragments == ()


def test_the_api_in_the_starting_process_still_writes_a_fragment():
    log = read(opening(0), begin(1), line("phase.start", 2, attempt="a1", phase="run", layer="api"))
    assert log.attempts[0].phases == ()
    assert [p.name for p in log.fragments[0].phases] == ["run"]


def test_each_process_inside_an_attempt_has_its_own_fragment():
    log = read(
        opening(0), begin(1),
        inside("environment", 2, 21, torch=None, cuda=None, libraries={}),
        inside("call", 3, 22, duration_s=1.0),
        finish(4, 3.0),
    )  # fmt: skip
    assert [(f.software is None, len(f.calls)) for f in log.fragments] == [(False, 0), (True, 1)]


def test_of_several_environments_of_one_process_the_last_with_torch_counts():
    log = read(
        opening(0), begin(1),
        inside("environment", 2, torch="2.8.0"), inside("environment", 3, torch="2.9.0"),
        inside("environment", 4, torch=None),
    )  # fmt: skip
    software = log.fragments[0].software
    assert software is not None
    assert software.torch == "2.9.0"


def test_a_session_lasts_from_its_reservation_to_its_release():
    [session] = read(*MERGED_LINES).sessions
    assert (session.started_at, session.ended_at, session.closed) == (at(-600), at(2940), True)
    assert session.reserved_s == 3540.0  # 2940 + 600
    assert (session.id, session.boot, session.host) == ("s1", "b1", MACHINE)
    assert session.attempts == ("a1",)
    source = Source("log", "f.jsonl", session.changes[0].source.line)
    assert session.changes == (
        Change(kind="code", what="batch loop", before="1", after="2", reason="too slow",
               at=at(100), source=source),
    )  # fmt: skip
    [note] = session.notes
    assert note == Note(text="the fan is loud", at=at(110), source=note.source)
    [wait] = session.waits
    assert (wait.reason, wait.started_at, wait.duration_s) == ("decision", at(120), 300.0)


@pytest.mark.parametrize(
    ("lines", "start", "end", "closed"),
    [
        ((opening(0), line("note", 50, text="x")), 0, 50, False),
        ((opening(0, reserved_since=stamp(-9)), opening(5, 12, reserved_since=stamp(-60))),
         -60, 5, False),
        ((opening(0), line("session.end", 50, released_at=None)), 0, 50, True),
        ((opening(0), line("session.end", 50, released_at=stamp(80))), 0, 80, True),
        # Evidence outranks what was typed.
        ((opening(0, reserved_since=stamp(30)), line("note", 50, text="x")), 0, 50, False),
        ((opening(0), line("session.end", 50, released_at=stamp(-5))), 0, 50, True),
        ((line("note", 7, text="x"), opening(9)), 7, 9, False),
    ],
)  # fmt: skip
def test_the_span_of_a_session_rests_on_what_is_known(lines, start, end, closed):
    [session] = read(*lines).sessions
    assert (session.started_at, session.ended_at, session.closed) == (at(start), at(end), closed)


def test_a_typed_time_that_the_records_contradict_is_a_problem():
    log = read(opening(0, reserved_since=stamp(30)), line("note", 50, text="x"),
               line("session.end", 60, released_at=stamp(-5)))  # fmt: skip
    assert whats(log) == [
        "f.jsonl:1 the reservation begins after the first record",
        "f.jsonl:3 the release is before the first record",
    ]


def test_the_first_parent_presents_the_session_even_when_a_child_stands_first():
    log = read(opening(0, CHILD, "api", gpus=[], gpus_why="not asked", driver=None), opening(1))
    assert log.sessions[0].host == MACHINE


def test_an_attempt_without_an_end_lasts_to_its_last_sign_of_life():
    log = read(opening(0), begin(1), line("heartbeat", 6, attempt="a1"),
               inside("call", 8.5, duration_s=1.0), line("note", 90, text="not of it"))  # fmt: skip
    [attempt] = log.attempts
    assert (attempt.outcome, attempt.end_source) == (None, None)
    assert attempt.duration_s == 7.5  # 8.5 - 1


@pytest.mark.parametrize(
    ("boots", "seconds"),
    [
        (("b1", "b1"), 9.0),  # by the monotonic clocks: 10 - 1
        (("b1", "b2"), 59.0),  # by the time of day: 60 - 1
        (("b1", None), 9.0),  # the child does not say: that of its session
        ((None, None), 59.0),
    ],
)
def test_monotonic_clocks_are_compared_within_one_boot_only(boots, seconds):
    log = read(
        opening(0, boot=boots[0]), begin(1), opening(2, CHILD, "api", boot=boots[1]),
        inside("call", 60, mono_ns=BOOT_NS + 10 * 10**9, duration_s=1.0),
    )  # fmt: skip
    assert log.attempts[0].duration_s == seconds


def test_the_last_sign_of_life_of_one_process_ignores_a_clock_that_was_set():
    log = read(opening(0), begin(1),
               line("heartbeat", 6, attempt="a1", t=stamp(-7199)))  # fmt: skip
    assert log.attempts[0].duration_s == 5.0  # 6 - 1
    assert whats(log) == ["f.jsonl:3 the clock of the machine was set back during the session"]


def test_an_attempt_with_nothing_after_its_start_lasts_no_known_time():
    [attempt] = read(opening(0), begin(1)).attempts
    assert (attempt.duration_s, attempt.outcome) == (0.0, None)


def test_a_phase_without_an_end_did_not_end():
    log = read(opening(0), begin(1), inside("phase.start", 2, phase="load", layer="api"))
    [phase] = log.fragments[0].phases
    assert (phase.name, phase.ended, phase.duration_s, phase.outcome) == ("load", False, None, None)


def test_a_phase_whose_start_is_lost_keeps_its_duration():
    end = inside("phase.end", 5, phase="run", duration_s=3.0)
    [phase] = read(opening(0), begin(1), end).fragments[0].phases
    assert (phase.name, phase.ended, phase.duration_s, phase.started_at) == ("run", True, 3.0, None)


def test_nested_and_repeated_phases_are_paired_from_the_inside():
    log = read(
        opening(0), begin(1),
        inside("phase.start", 2, phase="run"), inside("phase.start", 3, phase="load"),
        inside("phase.end", 4, phase="load", duration_s=1.0),
        inside("phase.end", 6, phase="run", duration_s=4.0),
        inside("phase.start", 7, phase="run"), inside("phase.end", 9, phase="run", duration_s=2.0),
        finish(9, 8.0),
    )  # fmt: skip
    phases = [(p.name, p.duration_s, p.started_at) for p in log.fragments[0].phases]
    assert phases == [("run", 4.0, at(2)), ("load", 1.0, at(3)), ("run", 2.0, at(7))]
    assert log.problems == ()  # 4 + 2 of 8 s; the nested second counts once


def test_lines_ordered_by_a_clock_that_was_set_back_are_still_paired():
    start = inside("phase.start", 2, phase="run", t=stamp(3600))
    end = inside("phase.end", 5, phase="run", duration_s=3.0)
    [phase] = read(opening(0), begin(1), end, start).fragments[0].phases
    assert (phase.ended, phase.duration_s) == (True, 3.0)


@pytest.mark.parametrize(("duration", "problems"), [(10.19, 0), (10.21, 1), (10_000, 1)])
def test_phases_longer_than_their_attempt_are_kept_and_named(duration, problems):
    log = read(opening(0), begin(1), inside("phase.start", 1, phase="run"),
               inside("phase.end", 11, phase="run", duration_s=duration),
               finish(11, 10.0))  # fmt: skip
    assert log.fragments[0].phases[0].duration_s == duration
    texts = whats(log)
    assert len(texts) == problems  # the limit is 1.02 * 10 s
    assert all(text.startswith("f.jsonl:2 the phases of attempt a1 last") for text in texts)


def test_phases_of_several_processes_are_not_added_up():
    ranks = [text for pid in (21, 22, 23) for text in (
        inside("phase.start", 2, pid, phase="run", rank=pid - 21),
        inside("phase.end", 10, pid, phase="run", rank=pid - 21, duration_s=8.0),
    )]  # fmt: skip
    log = read(opening(0), begin(1), *ranks, finish(11, 10.0))
    assert log.problems == ()
    assert len(log.fragments) == 3


@pytest.mark.parametrize(
    ("marks", "waits"),
    [
        ((line("wait.start", 10, 31, reason="fix"), line("wait.end", 40, 32, reason="fix")),
         [("fix", 10, 30.0)]),
        ((line("wait.start", 10, 31, reason="fix"),), [("fix", 10, 90.0)]),  # 100 - 10
        ((line("wait.start", 10, 31, reason="fix"), line("wait.start", 30, 32, reason="files"),
          line("wait.end", 50, 33, reason="files")), [("fix", 10, 20.0), ("files", 30, 20.0)]),
        ((line("wait.start", 10, 31, reason="fix"), begin(60, pid=32), finish(70, 10.0, pid=32)),
         [("fix", 10, 50.0)]),
        ((line("wait.start", 10, 31), line("wait.end", 12, 32)), [("other", 10, 2.0)]),
    ],
    ids=["ended", "session end", "another wait", "an attempt", "no reason"],
)  # fmt: skip
def test_a_wait_ends_with_its_end_or_with_what_ends_it(marks, waits):
    [session] = read(opening(0), *marks, line("session.end", 100)).sessions
    assert [(w.reason, w.started_at, w.duration_s) for w in session.waits] == [
        (reason, at(second), length) for reason, second, length in waits
    ]


def test_a_wait_still_open_at_the_end_of_an_open_session_has_no_length():
    [session] = read(opening(0), line("wait.start", 10, reason="fix")).sessions
    assert [wait.duration_s for wait in session.waits] == [None]


def test_an_end_of_a_wait_without_its_start_is_a_problem():
    log = read(opening(0), line("wait.end", 10, reason="fix"))
    assert whats(log) == ["f.jsonl:2 a wait ends here that does not begin in this file"]
    assert log.sessions[0].waits == ()


def test_an_end_of_an_attempt_without_its_start_is_a_problem():
    log = read(opening(0), finish(9, 8.0))
    assert log.attempts == ()
    assert whats(log) == [
        "f.jsonl:2 attempt a1 ends here, but its beginning is not in this file"
    ]  # fmt: skip


def test_a_session_whose_start_is_lost_keeps_its_attempts_and_says_so():
    log = read(begin(1), finish(5, 4.0))
    assert [(a.session, a.duration_s, a.host) for a in log.attempts] == [("s1", 4.0, Host())]
    assert whats(log) == [
        "f.jsonl:1 the beginning of session s1 is not in this file: its machine is unknown"
    ]


def test_unknown_events_and_keys_are_ignored_silently():
    log = read(opening(0, colour="red"), line("weather", 1, sun=True), begin(2, mood=None))
    assert (len(log.attempts), log.problems) == (1, ())


def test_what_a_newer_probe_wrote_is_not_read_and_what_others_wrote_is():
    log = read(
        opening(0), begin(1), finish(5, 4.0),
        opening(6, 99, schema="compute-budget-log/2"), begin(7, "a2", 99), finish(9, 2.0, "a2", 99),
    )  # fmt: skip
    assert [attempt.id for attempt in log.attempts] == ["a1"]
    assert whats(log) == [
        "f.jsonl:4 this part was written by a newer probe (compute-budget-log/2) and is not read"
    ]


def test_a_copy_of_a_line_counts_once_and_records_at_one_tick_of_the_clock_all_count():
    call = inside("call", 3, duration_s=1.0)
    twin = inside("call", 3, duration_s=2.0)
    log = read(opening(0), begin(1), begin(1), call, call, twin, finish(5, 4.0))
    [fragment] = log.fragments
    assert [c.duration_s for c in fragment.calls] == [1.0, 2.0]
    assert len({c.key for c in fragment.calls}) == 2
    assert (len(log.attempts), log.problems) == (1, ())


def test_an_attempt_that_begins_twice_counts_once_and_it_is_said():
    log = read(opening(0), begin(1), begin(2, block="other"), finish(5, 4.0))
    assert [(a.block, a.duration_s) for a in log.attempts] == [("reference", 4.0)]
    assert whats(log) == ["f.jsonl:3 attempt a1 begins a second time"]


def test_records_that_name_no_attempt_are_not_counted_and_it_is_said():
    log = read(opening(0), line("call", 1, duration_s=1.0), line("environment", 2, torch="2.9.0"),
               line("attempt.start", 3, block="b"))  # fmt: skip
    assert (log.attempts, log.fragments) == ((), ())
    assert whats(log) == [
        "f.jsonl:2 the record (call) names no attempt and is not counted",
        "f.jsonl:4 an attempt has no id and is not counted",
    ]


def test_two_sessions_in_one_file_stay_two():
    log = read(opening(0), begin(1), finish(5, 4.0),
               opening(100, 50, session="s2"), begin(101, "a2", 50, session="s2"))  # fmt: skip
    assert [(s.id, s.attempts) for s in log.sessions] == [("s1", ("a1",)), ("s2", ("a2",))]


def test_signals_and_negative_exit_codes_are_read():
    log = read(opening(0), begin(1), finish(5, 4.0, outcome="interrupted", exit_code=-9,
                                            signal="SIGKILL"))  # fmt: skip
    [attempt] = log.attempts
    assert (attempt.outcome, attempt.exit_code, attempt.signal) == ("interrupted", -9, "SIGKILL")


def test_gpus_stand_in_the_order_of_their_index():
    log = read(opening(0, gpus=[{"index": 1, "name": "B"}, {"index": 0, "name": "A"}]))
    assert [gpu.name for gpu in log.sessions[0].host.gpus] == ["A", "B"]


def test_a_peak_is_held_against_the_card_it_names():
    log = read(
        opening(0, gpus=[{"index": 1, "memory_bytes": 24 * GIB}, {"index": 0,
                                                                   "memory_bytes": 80 * GIB}]),
        begin(1),
        finish(5, 4.0, memory=[peak(device=0, tensor_peak_bytes=40 * GIB),
                               peak(device=1, tensor_peak_bytes=40 * GIB)]),
    )  # fmt: skip
    assert [m.tensor_peak_bytes for m in log.attempts[0].memory] == [40 * GIB, None]
    assert len(log.problems) == 1
