"""`probe verify` finds what a reader would count wrongly, and nothing in a whole log."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from budget.probe import contract, log
from budget.probe.verify import verify
from tests.probe.desk import ROOT, Desk
from tests.probe.written import BOOT, Writer, memory, merged

GIB = 2**30


def attempt(**end: Any) -> Writer:
    """The probe's file of an attempt of 10 s."""
    writer = Writer(1, attempt="a1").start()
    writer.add(0.1, "heartbeat").add(5, "heartbeat")
    return writer.end(10.0, **end)


def findings(*writers: Writer, folder: Path) -> list[str]:
    """What is found in the files of processes, without the file's name, and the last line."""
    for writer in writers:
        writer.save(folder)
    text, _ = verify([str(folder)])
    return [line.split(".jsonl:", 1)[1] for line in text.split("\n")[:-1]]


def only(found: list[str]) -> str:
    """The one finding."""
    assert len(found) == 1, found
    return found[0]


def test_a_whole_log_has_no_finding(tmp_path: Path) -> None:
    program = Writer(2, "api", attempt="a1").phase(1, 3, "load", "api").phase(3, 9, "run", "api")
    attempt().save(tmp_path)
    program.save(tmp_path)
    # 5 records of the probe and 5 of the program
    assert verify([str(tmp_path)]) == ("10 records in 2 files: whole and consistent.", True)


@pytest.mark.parametrize("name", ["20261201T033947Z-cafe35.jsonl", "20261201T044602Z-8a3cef.jsonl"])
def test_the_sample_logs_are_whole(name: str) -> None:
    text, whole = verify([str(ROOT / "sample_logs" / name)])
    assert whole, text
    assert text.endswith(": whole and consistent.")


def test_what_the_probe_really_writes_is_whole(desk: Desk) -> None:
    desk.probe("wait", "files")
    desk.run("true")
    desk.python("from budget.probe import phase\nwith phase('run'):\n    raise ValueError('x')")
    desk.probe("note", "x")
    raw, whole = verify([str(desk.logs)])
    assert whole, raw
    desk.probe("end")
    text, whole = verify([str(desk.logs)])
    assert whole, text
    assert "error" not in text


def test_a_run_that_was_killed_with_its_probe_is_cut_off_and_no_error(desk: Desk) -> None:
    process = desk.start(
        *("run", "--block", "b", "--", "sleep", "30"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        desk.await_record("heartbeat")
        process.send_signal(signal.SIGKILL)
        process.wait(20)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    text, whole = verify([str(desk.logs)])
    assert whole, text
    assert "has no end: it was cut off with its probe, and lasted at least" in text


def test_the_torn_last_line_of_a_killed_process_is_a_warning(tmp_path: Path) -> None:
    path = Path(attempt().save(tmp_path))
    path.write_text(path.read_text() + '{"event":"heartb')
    text, whole = verify([str(path)])
    assert whole
    # session.start, attempt.start, two heartbeats and attempt.end are the lines before
    assert f"{path.name}:6: warning: the line was cut off; nothing to do" in text
    assert text.endswith("5 records in 1 file: 0 errors, 1 warning.")


def test_a_last_line_that_is_whole_without_its_end_is_no_finding(tmp_path: Path) -> None:
    path = Path(attempt().save(tmp_path))
    path.write_text(path.read_text().rstrip("\n"))
    assert verify([str(path)])[0] == "5 records in 1 file: whole and consistent."


def test_a_line_in_between_that_is_no_record_is_an_error(tmp_path: Path) -> None:
    path = Path(attempt().save(tmp_path))
    lines = path.read_text().split("\n")
    path.write_text("\n".join([lines[0], '{"event":"hea', *lines[1:]]))
    text, whole = verify([str(path)])
    assert not whole
    assert ":2: error: the line is no record" in text


@pytest.mark.parametrize("content", ["", "hello\n", '{"a":1}\n'])
def test_a_file_that_is_no_log_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    text, whole = verify([str(path)])
    assert not whole
    assert "x.jsonl: error: is " in text


def test_no_log_at_all_is_not_whole(tmp_path: Path) -> None:
    assert verify([])[1] is False
    assert verify([str(tmp_path)])[1] is False
    assert verify([str(tmp_path / "missing")])[1] is False


def spoil(event: str, **changes: Any) -> Writer:
    """The file of an attempt in which the records of one event are changed."""
    writer = Writer(1, attempt="a1").start().add(5, "heartbeat").phase(6, 7, "run", "api").end(10.0)
    for record in writer.records:
        if record["event"] == event:
            for key, value in changes.items():
                if value is KeyError:
                    del record[key]
                else:
                    record[key] = value
    return writer


@pytest.mark.parametrize(
    ("event", "changes", "said"),
    [
        ("heartbeat", {"t": KeyError}, "heartbeat states no `t`"),
        ("heartbeat", {"pid": "7"}, "`pid` is text, and is to be integer"),
        ("heartbeat", {"rank": True}, "`rank` is true or false, and is to be integer"),
        ("heartbeat", {"t": "2026-12-01 00:00:00"}, "`t` is no moment in UTC"),
        ("heartbeat", {"mono_ns": 1.5}, "`mono_ns` is a number, and is to be integer"),
        ("attempt.end", {"duration_s": KeyError}, "attempt.end states no `duration_s`"),
        ("attempt.end", {"duration_s": -2.0}, "`duration_s` is below 0"),
        ("attempt.end", {"outcome": "great"}, "`outcome` is great, and is to be one of ok, failed"),
        ("attempt.end", {"timed_out": None}, "`timed_out` is null, and is to be true or false"),
        ("attempt.start", {"argv": [1]}, "`argv` is a list, and is to be list of text"),
        ("attempt.start", {"condition": {"batch_size": "2"}},
         "`condition.batch_size` is text, and is to be integer or null"),
        ("session.start", {"schema": "compute-budget-log/9"},
         "the schema is compute-budget-log/9, and this probe reads compute-budget-log/1"),
        ("session.start", {"gpus": [{"index": "0"}]},
         "`gpus.index` is text, and is to be integer"),
        ("session.start", {"host": {"ram_bytes": -1}}, "`host.ram_bytes` is below 0"),
        ("phase.end", {"phase": "warm"}, "`phase` is warm, and is to be one of prepare, load, run"),
        ("attempt.end", {"memory": [{"device": 1.5}]},
         "`memory.device` is a number, and is to be text or integer"),
    ],
)  # fmt: skip
def test_a_value_that_a_reader_cannot_take_is_an_error(
    tmp_path: Path, event: str, changes: dict[str, Any], said: str
) -> None:
    found = findings(spoil(event, **changes), folder=tmp_path)
    assert any(f"error: {said}" in line for line in found), found
    assert verify([str(tmp_path)])[1] is False


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        ("attempt.end", {"duration_s": "nan"}),  # as the log writes what JSON cannot express
        ("attempt.end", {"a_new_key": -3}),
        ("attempt.start", {"variables": {"OMP_NUM_THREADS": "-1"}}),
        ("attempt.end", {"exit_code": -9}),
        ("attempt.end", {"memory": [memory("0:1", "parent")]}),
    ],
)
def test_what_the_format_allows_is_no_finding(
    tmp_path: Path, event: str, changes: dict[str, Any]
) -> None:
    assert findings(spoil(event, **changes), folder=tmp_path) == []


def test_an_event_of_a_newer_probe_is_a_warning(tmp_path: Path) -> None:
    writer = attempt().add(11, "dream")
    assert "warning: the event dream is not known" in only(findings(writer, folder=tmp_path))


def test_a_file_that_does_not_begin_with_its_start_is_an_error(tmp_path: Path) -> None:
    writer = attempt()
    del writer.records[0]
    found = findings(writer, folder=tmp_path)
    assert found[0].startswith("1: error: the file does not begin with session.start")
    assert found[1].startswith("1: error: process 1 wrote no session.start")


def test_an_attempt_that_ends_without_a_beginning_is_an_error(tmp_path: Path) -> None:
    writer = attempt()
    del writer.records[1]
    assert "error: attempt a1 has no start" in only(findings(writer, folder=tmp_path))


def test_a_second_end_is_an_error_but_not_one_of_another_rank(tmp_path: Path) -> None:
    assert "error: attempt a1 has a second attempt.end" in only(
        findings(attempt().end(11.0), folder=tmp_path)
    )
    for rank in (0, 1):
        Writer(rank + 1, attempt="a1", rank=rank).start().end(10.0).save(tmp_path)
    assert verify([str(tmp_path)])[1] is True


def test_of_a_cut_off_attempt_the_lower_bound_is_named(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start(1.0).add(3.0, "heartbeat")
    program = Writer(2, "hook", attempt="a1").add(4.25, "note", text="x")
    said = only(findings(probe, program, folder=tmp_path))
    # the last record of any process: 4.25 - 1 = 3.25
    assert "warning: attempt a1 has no end" in said
    assert "lasted at least 3.250 s" in said
    assert verify([str(tmp_path)])[1] is True


def test_phases_are_balanced(tmp_path: Path) -> None:
    writer = attempt()
    writer.add(1, "phase.end", phase="load", layer="api", duration_s=1.0)
    assert "error: the phase load ends and never began" in " ".join(
        findings(writer, folder=tmp_path)
    )


def test_a_phase_without_an_end_is_a_warning(tmp_path: Path) -> None:
    program = Writer(2, "hook", attempt="a1").add(1, "phase.start", phase="run", layer="hook")
    said = only(findings(attempt(), program, folder=tmp_path))
    assert "warning: the phase run has no end" in said


def test_phases_that_cross_are_a_warning(tmp_path: Path) -> None:
    program = Writer(2, "api", attempt="a1")
    for at_s, event, name in ((1, "start", "load"), (2, "start", "run")):
        program.add(at_s, f"phase.{event}", phase=name, layer="api")
    program.add(3, "phase.end", phase="load", layer="api", duration_s=2.0)
    program.add(4, "phase.end", phase="run", layer="api", duration_s=2.0)
    said = only(findings(attempt(), program, folder=tmp_path))
    assert "warning: the phase load ends while one inside it goes on" in said


def test_a_phase_of_another_length_than_it_states_is_an_error(tmp_path: Path) -> None:
    program = Writer(2, "api", attempt="a1").phase(1, 3, "run", "api", duration_s=2000.0)
    found = findings(attempt(), program, folder=tmp_path)
    # milliseconds for seconds: longer than it lay, and longer than its attempt
    assert any("states 2000 s and lies 2 s from its start" in line for line in found)
    assert any("the phases of attempt a1 last 2000 s, the attempt 10 s" in line for line in found)
    assert all("error" in line for line in found)


def test_nested_phases_are_not_added_up(tmp_path: Path) -> None:
    program = Writer(2, "api", attempt="a1").add(0, "phase.start", phase="run", layer="api")
    program.phase(1, 9, "load", "api")
    program.add(10, "phase.end", phase="run", layer="api", duration_s=10.0)
    # 10 + 8 = 18 s would be longer than the attempt
    assert findings(attempt(), program, folder=tmp_path) == []


def test_a_monotonic_clock_that_goes_back_is_an_error(tmp_path: Path) -> None:
    writer = attempt()
    writer.records[2]["mono_ns"] = 9_900_000_000
    found = findings(writer, folder=tmp_path)
    assert any("error: the monotonic clock went back" in line for line in found)


def test_what_the_hook_learns_late_may_speak_of_an_earlier_moment(tmp_path: Path) -> None:
    program = Writer(2, "hook", attempt="a1").add(8, "heartbeat")
    program.phase(1, 2, "load", "hook")
    assert findings(attempt(), program, folder=tmp_path) == []


@pytest.mark.parametrize("step_s", [3600.0, -7199.0])
def test_a_clock_that_was_set_is_a_warning_once(tmp_path: Path, step_s: float) -> None:
    writer = Writer(1)
    writer.records[0].update(mono_ns=9_000_000_000_000, t="2026-12-01T02:30:00.000000Z")
    writer.add(9005.0, "note", text="x")
    writer.add(9010.0, "note", step_s, text="x").add(9015.0, "note", step_s, text="x")
    said = only(findings(writer, folder=tmp_path))
    assert f"warning: the clock of day went {step_s:+.1f} s against the monotonic one" in said


def test_merged_files_are_checked_like_raw_ones_and_together_count_once(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start().add(2.0, "heartbeat")
    program = Writer(2, "hook", attempt="a1").phase(1, 2, "load", "hook")
    whole = merged(tmp_path, probe, program)
    alone, _ = verify([whole])
    probe.save(tmp_path)
    program.save(tmp_path)
    both, ok = verify([whole, str(tmp_path)])
    assert ok
    assert alone.count("warning") == both.count("warning") == 2  # one finding, and the last line
    assert both.endswith("6 records in 3 files: 0 errors, 1 warning.")


@pytest.mark.parametrize(
    ("peaks", "said"),
    [
        ({"tensor": 6 * GIB, "allocator": 5 * GIB},
         "on device 0 `tensor_peak_bytes` is above `allocator_peak_bytes`"),
        ({"allocator": 6 * GIB, "device": 5 * GIB},
         "on device 0 `allocator_peak_bytes` is above `device_peak_bytes`"),
    ],
)  # fmt: skip
def test_a_part_that_is_larger_than_the_whole_is_an_error(
    tmp_path: Path, peaks: dict[str, int], said: str
) -> None:
    found = findings(attempt(memory=[memory(0, "hook", **peaks)]), folder=tmp_path)
    assert f"error: {said}" in only(found)


def test_samples_below_what_pytorch_held_are_a_warning(tmp_path: Path) -> None:
    program = Writer(2, "hook", attempt="a1")
    program.phase(1, 2, "run", "hook", memory=[memory(0, "hook", allocator=6 * GIB)])
    probe = attempt(memory=[memory(0, "parent", device=5 * GIB)])
    said = only(findings(probe, program, folder=tmp_path))
    assert "warning: on device 0 PyTorch held more than was sampled" in said


def test_a_peak_above_the_cards_memory_is_an_error(tmp_path: Path) -> None:
    def probe(size: int) -> Writer:
        writer = attempt(memory=[memory(0, "parent", device=size)])
        writer.records[0]["gpus"] = [{"index": 0, "memory_bytes": 80 * GIB}]
        return writer

    assert findings(probe(80 * GIB), folder=tmp_path) == []
    said = only(findings(probe(80 * GIB * 1024), folder=tmp_path))
    assert "error: the peak of device 0 is above its memory" in said


def test_a_rank_that_wrote_nothing_is_missed(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start(variables={"WORLD_SIZE": "4"}).end(10.0)
    ranks = [
        Writer(rank + 10, "hook", attempt="a1", rank=rank).phase(1, 2, "run", "hook")
        for rank in (0, 2)
    ]
    said = only(findings(probe, *ranks, folder=tmp_path))
    assert "warning: attempt a1 has 4 ranks, and nothing of rank 1, 3" in said


def test_a_hole_in_the_ranks_is_missed_without_a_stated_size(tmp_path: Path) -> None:
    one = Writer(10, "hook", attempt="a1", rank=2).phase(1, 2, "run", "hook")
    said = only(findings(attempt(), one, folder=tmp_path))
    assert "has 3 ranks, and nothing of rank 0, 1" in said


def test_a_program_without_ranks_misses_none(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start(variables={"WORLD_SIZE": "1"}).end(10.0)
    assert findings(probe, folder=tmp_path) == []


def test_a_silence_of_the_probe_is_a_warning(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1").start().add(5, "heartbeat")
    writer.add(45, "heartbeat").end(50.0)
    said = only(findings(writer, folder=tmp_path))
    assert "warning: the probe of attempt a1 wrote nothing for 40 s" in said


def test_a_host_that_started_again_is_a_warning(tmp_path: Path) -> None:
    second = Writer(2)
    second.records[0]["boot"] = BOOT[::-1]
    said = only(findings(attempt(), second, folder=tmp_path))
    assert "warning: session 20261201T000000Z-abcdef holds more than one start of a host" in said


def test_a_wait_that_never_began_is_an_error(tmp_path: Path) -> None:
    good = Writer(2).add(11, "wait.start", reason="fix")
    assert findings(good, Writer(3).add(12, "wait.end", reason="fix"), folder=tmp_path) == []
    bad = Writer(4).add(13, "wait.end", reason="fix")
    assert "error: a wait ends and never began" in only(findings(bad, folder=tmp_path))


def test_a_retry_of_an_attempt_elsewhere_is_a_warning(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1").start(retry_of="a0").end(10.0)
    assert "warning: the attempt tries a0 again" in only(findings(writer, folder=tmp_path))


def test_each_finding_is_one_line_with_place_severity_and_advice(tmp_path: Path) -> None:
    path = spoil("attempt.end", outcome="a\nb", duration_s=-1.0).save(tmp_path)
    text, _ = verify([path])
    for line in text.split("\n")[:-1]:
        assert re.search(r"-1-1\.jsonl:\d+: (error|warning): .+; .+", line), line


def test_the_types_of_the_documentation_are_read_for_every_event() -> None:
    tables = contract.documented()
    assert set(tables) == set(log.EVENTS)
    assert tables["heartbeat"] == {
        "event": ("text",),
        "t": ("text",),
        "mono_ns": ("integer",),
        "session": ("text",),
        "pid": ("integer",),
        "rank": ("integer",),
        "node": ("integer",),
        "attempt": ("text",),
    }
    assert tables["environment"]["arch_list"] == ("list of text", "null")
    assert tables["phase.end"]["memory.device"] == ("text", "integer")
    assert tables["result"]["value"] == ("number", "text", "true", "false")


def test_every_type_in_the_documentation_is_one_that_is_checked() -> None:
    known = {"text", "integer", "number", "true", "false", "null", "list", "list of text", "object"}
    for event, keys in contract.documented().items():
        for key, types in keys.items():
            assert set(types) <= known, (event, key)
