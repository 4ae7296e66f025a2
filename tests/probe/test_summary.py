"""`probe summary` shows what a log says, adds up nothing unlike and invents nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from budget.probe.summary import summarise
from tests.probe.desk import ROOT, Desk
from tests.probe.written import SESSION, Writer, memory, merged

GIB = 2**30


def row(text: str, title: str, first: str = "a1") -> list[str]:
    """The words of the row of an attempt in the table with this title."""
    table = text.split(f"\n{title}")[1].split("\n\n")[0].split("\n")
    (found,) = [line for line in table if line.startswith(first)]
    return found.split()


def times(text: str, attempt: str = "a1") -> list[str]:
    """Outcome, total, prepare, load, run and rest of an attempt."""
    words = row(text, "Attempt", attempt)
    return [" ".join(words[2:-5]), *words[-5:]]


def test_the_time_of_each_phase_is_that_of_the_innermost(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start().end(100.0)
    program = Writer(2, "api", attempt="a1")
    program.add(10, "phase.start", phase="run", layer="api")
    program.phase(20, 50, "load", "api")
    program.add(90, "phase.end", phase="run", layer="api", duration_s=80.0, outcome="ok", memory=[])
    probe.save(tmp_path)
    program.save(tmp_path)
    # run 90 - 10 = 80, of which load 30: run 50; rest 100 - 80 = 20
    assert times(summarise([str(tmp_path)])) == ["ok", "100", "-", "30.00", "50.00", "20.00"]


def test_of_two_layers_the_one_that_saw_more_counts(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start()
    probe.phase(0, 10, "run", "parent").end(10.0)
    program = Writer(2, "hook", attempt="a1").phase(1, 3, "load", "hook").phase(3, 7, "run", "hook")
    merged(tmp_path, probe, program)
    # 1 to 3 is the load; the rest of the parent's whole phase, 10 - 2 = 8, is run
    assert times(summarise([str(tmp_path)])) == ["ok", "10.00", "-", "2.00", "8.00", "0.00"]


def test_the_slowest_rank_gives_the_time_and_the_worst_the_outcome(tmp_path: Path) -> None:
    for rank, end_s, outcome in ((0, 40.0, "ok"), (1, 50.0, "failed")):
        probe = Writer(rank + 1, attempt="a1", rank=rank).start()
        probe.end(end_s, outcome=outcome).save(tmp_path)
        program = Writer(rank + 11, "hook", attempt="a1", rank=rank)
        # rank 1 loads until 30, and rank 0 waits for it in its run
        program.phase(10, 20 + 10 * rank, "load", "hook")
        program.phase(20 + 10 * rank, 40, "run", "hook").save(tmp_path)
    text = summarise([str(tmp_path)])
    assert times(text) == ["failed", "50.00", "-", "20.00", "10.00", "20.00"]
    assert "a1 ran in 2 ranks" in text


def test_an_attempt_without_an_end_lasted_at_least_to_its_last_sign_of_life(tmp_path: Path) -> None:
    Writer(1, attempt="a1").start(2.0).add(7.0, "heartbeat").save(tmp_path)
    program = Writer(2, "hook", attempt="a1").phase(3, 5, "load", "hook")
    program.add(5, "phase.start", phase="run", layer="hook")
    program.add(9.5, "call", phase="run", duration_s=1.0, read_by="hook:transformers")
    program.save(tmp_path)
    # 9.5 - 2 = 7.5 in all; run from 5 to 9.5; rest 7.5 - 2 - 4.5 = 1
    text = summarise([str(tmp_path)])
    assert times(text) == ["cut off", "≥7.50", "-", "2.00", "≥4.50", "≥1.00"]
    assert "≥  at least" in text


def test_a_clock_that_was_set_changes_no_duration(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start(3600.0)
    probe.add(3605.0, "heartbeat", step_s=-3000.0)
    probe.save(tmp_path)
    assert times(summarise([str(tmp_path)]))[1] == "≥5.00"


def test_an_attempt_in_raw_files_and_in_a_merged_one_counts_once(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start().end(10.0)
    program = Writer(2, "api", attempt="a1")
    program.add(
        1, "call", duration_s=1.0, input_tokens=10, output_tokens=5, batch_size=2, read_by="api"
    )
    raw = [probe.save(tmp_path), program.save(tmp_path)]
    whole = merged(tmp_path, probe, program)
    alone = summarise([whole])
    # 2 sequences of 10 and 5 tokens
    assert row(alone, "Calls") == ["a1", "1", "-", "20", "10", "api"]
    assert summarise([*raw, whole]) == alone
    assert summarise([str(tmp_path), whole, whole]) == alone


def test_calls_of_the_program_itself_outrank_those_the_hook_saw(tmp_path: Path) -> None:
    program = Writer(2, "hook", attempt="a1").start().end(9.0)
    for read_by, tokens in (("api", 7), ("api", 8), ("hook:transformers", 100)):
        program.add(1, "call", duration_s=1.0, output_tokens=tokens, batch_size=1, read_by=read_by)
    program.phase(1, 2, "run", "hook", forward_calls=12)
    program.save(tmp_path)
    # 7 + 8 = 15; no call states its input
    assert row(summarise([str(tmp_path)]), "Calls") == ["a1", "2", "12", "-", "15", "api"]


def test_calls_that_every_rank_records_are_not_added_up(tmp_path: Path) -> None:
    for rank in (0, 1):
        program = Writer(rank + 1, "hook", attempt="a1", rank=rank).start().end(9.0)
        program.add(1, "call", duration_s=1.0 + rank, input_tokens=64, read_by="hook:vllm")
        program.save(tmp_path)
    assert row(summarise([str(tmp_path)]), "Calls")[1] == "1"


def test_tokens_that_some_calls_do_not_state_make_a_lower_bound(tmp_path: Path) -> None:
    program = Writer(1, attempt="a1").start().end(9.0)
    program.add(1, "call", duration_s=1.0, input_tokens=64, batch_size=3, read_by="api")
    program.add(2, "call", duration_s=1.0, input_tokens=None, batch_size=3, read_by="api")
    program.add(3, "call", duration_s=1.0, input_tokens=64, batch_size=None, read_by="api")
    program.save(tmp_path)
    # of one call: 3 x 64 = 192; of the others the input or the number of sequences is not stated
    assert row(summarise([str(tmp_path)]), "Calls")[3] == "≥192"


def test_peaks_stay_apart_by_device_and_layer_and_a_bound_is_marked(tmp_path: Path) -> None:
    probe = Writer(1, attempt="a1").start()
    probe.end(
        9.0,
        memory=[
            memory("host", "parent", resident=3 * GIB),
            memory(0, "parent", device=10 * GIB),
            memory(1, "parent", device=None),
        ],
    )
    program = Writer(2, "hook", attempt="a1")
    low = memory(0, "hook", exact=True, tensor=4 * GIB, allocator=5 * GIB)
    high = memory(0, "hook", exact=True, tensor=6 * GIB, allocator=8 * GIB)
    program.phase(1, 2, "load", "hook", memory=[low])
    program.phase(2, 3, "run", "hook", memory=[high])
    merged(tmp_path, probe, program)
    table = summarise([str(tmp_path)]).split("\nPeak memory")[1].split("\n\n")[0]
    rows = [line.split()[1:] for line in table.split("\n")[1:]]
    assert rows == [
        ["0", "hook", "6.000", "8.000", "-", "-"],
        ["0", "parent", "-", "-", "≥10.000", "-"],
        ["1", "parent", "-", "-", "-", "-"],
        ["host", "parent", "-", "-", "-", "≥3.000"],
    ]


def test_cards_of_two_nodes_are_two_cards(tmp_path: Path) -> None:
    for node in (0, 1):
        writer = Writer(1, attempt="a1", rank=node, node=node).start()
        writer.end(9.0, memory=[memory(0, "parent", device=(node + 1) * GIB)])
        writer.save(tmp_path, f"{node}.jsonl")
    text = summarise([str(tmp_path)])
    assert "0/0       parent            -           -      ≥1.000" in text
    assert "1/0       parent            -           -      ≥2.000" in text


def test_an_error_is_quoted_with_what_it_means(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1").start()
    writer.add(
        5,
        "error",
        phase="run",
        layer="hook",
        kind="OutOfMemoryError",
        cause="gpu-out-of-memory",
        line="CUDA out of memory. Tried to allocate 2 GiB",
        signature="s",
        message="m",
    )
    writer.end(6.0, outcome="failed", exit_code=1).save(tmp_path)
    text = " ".join(summarise([str(tmp_path)]).split())
    assert "a1 in run: OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB" in text
    assert "The card's memory did not suffice. Compare the peak" in text


def test_an_error_of_an_older_probe_has_its_cause_all_the_same(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1").start()
    writer.add(5, "error", kind="OSError", signature="s", message="No space left on device")
    writer.save(tmp_path)
    assert "The disk is full." in summarise([str(tmp_path)])


def test_an_error_whose_cause_is_unknown_is_quoted_alone(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1").start()
    writer.add(5, "error", kind="E", cause="of-a-newer-probe", line=None, message="said\nmore")
    writer.save(tmp_path)
    assert "a1: E: said\n" in summarise([str(tmp_path)])


def test_an_error_that_every_rank_meets_is_quoted_once(tmp_path: Path) -> None:
    for rank in (0, 1):
        writer = Writer(rank + 1, "hook", attempt="a1", rank=rank)
        writer.add(5, "error", kind="E", cause="disk-full", line=None, message="=====\nfull: x")
        writer.save(tmp_path)
    text = summarise([str(tmp_path)])
    assert "a1: E: full: x (2 times)\n" in text
    assert text.count("The disk is full.") == 1


def test_waits_are_added_up_by_reason_and_an_open_one_is_a_bound(tmp_path: Path) -> None:
    probe = Writer(1)
    probe.add(10, "wait.start", reason="fix").add(25, "wait.end", reason="fix")
    probe.add(30, "wait.start", reason="queue")
    # another wait ends the one before, although nothing says so
    probe.add(40, "wait.start", reason="fix").add(45, "note", text="x")
    probe.save(tmp_path)
    text = summarise([str(tmp_path)])
    # fix: 25 - 10 = 15, and 45 - 40 = 5 at least; queue: 40 - 30 = 10
    assert row(text, "Waits", "fix") == ["fix", "2", "≥20.00"]
    assert row(text, "Waits", "queue") == ["queue", "1", "10.00"]


def test_retries_repetitions_and_what_was_not_seen_are_said(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1")
    writer.start(retry_of="a0", repeat={"number": 2, "of": 3})
    writer.end(5.0, hook="not-loaded", hook_why="env -i takes PYTHONPATH away").save(tmp_path)
    text = " ".join(summarise([str(tmp_path)]).split())
    assert (
        "a1 tries a0 again, is repetition 2 of 3, was not seen from inside (env -i takes "
        "PYTHONPATH away)"
    ) in text


def test_what_was_not_measured_is_a_dash_and_never_0(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1").start(block=None)
    writer.end(5.0, duration_s=None).save(tmp_path)
    text = summarise([str(tmp_path)])
    assert row(text, "Attempt") == ["a1", "-", "ok", "-", "-", "-", "-", "-"]
    assert "0.00" not in text
    assert "-  not recorded, which is not 0" in text


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"a": 1}\n', b"\x00\xff", b"[]"])
def test_a_file_that_is_no_log_is_said_to_be_none_and_the_others_are_shown(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "other.jsonl").write_bytes(content)
    log = Writer(1, attempt="a1").start().end(5.0).save(tmp_path)
    text = summarise([str(tmp_path / "other.jsonl"), str(tmp_path / "missing"), log])
    first, second = text.split("\n\n")[0].split("\n")
    assert "other.jsonl is" in first
    assert second.endswith("missing cannot be read: No such file or directory.")
    assert times(text)[:2] == ["ok", "5.00"]


def test_a_damaged_record_does_not_end_the_summary(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a1").start(block=7, repeat=[], variables="x")
    writer.add(1, "call", duration_s="nan", input_tokens="many", read_by=None)
    writer.add(1, "phase.end", phase=None, layer=None, duration_s=None, memory={"x": 1})
    writer.add(1, "error").add(1, "wait.start").add(1, "attempt.end", memory=[1, None])
    path = Path(writer.save(tmp_path))
    path.write_text(path.read_text() + '{"event":"note","t":7}\n{"event":"heart')
    assert "Session" in summarise([str(path)])


def test_an_empty_folder_holds_no_log(tmp_path: Path) -> None:
    assert summarise([str(tmp_path)]).endswith("the folder holds no log.")
    assert summarise([]) == "There is no log."


def test_no_line_is_longer_than_a_terminal_of_80_columns(tmp_path: Path) -> None:
    writer = Writer(1, attempt="a" * 40).start(block="b" * 40)
    writer.add(
        1, "call", duration_s=1.0, input_tokens=10**12, batch_size=1, read_by="hook:" + "x" * 40
    )
    writer.add(2, "error", kind="E" * 40, line="word " * 60, cause="disk-full")
    writer.add(3, "wait.start", reason="r" * 40)
    writer.phase(1, 100_000, "run", "api", memory=[memory("0:" + "1" * 20, "api", tensor=10**13)])
    writer.end(123_456.7, outcome="interrupted", hook="not-loaded", hook_why="why " * 40)
    writer.save(tmp_path)
    shutil.copy(ROOT / "sample_logs" / "20261201T033947Z-cafe35.jsonl", tmp_path / "real.jsonl")
    text = summarise([str(tmp_path)])
    assert max(len(line) for line in text.split("\n")) <= 80
    assert f"Session {SESSION}: 1 attempt" in text


def test_a_log_that_the_probe_really_wrote_is_summed_up(desk: Desk) -> None:
    desk.probe("wait", "files")
    desk.run("sh", "-c", "exit 3", block="reference")
    desk.run("true", block="reference")
    desk.probe("end")
    text = summarise([str(desk.logs)])
    assert ": 2 attempts" in text
    failed, good = (r["attempt"] for r in desk.records("attempt.start"))
    assert times(text, failed)[0] == "failed"
    assert times(text, good)[0] == "ok"
    assert f"{good} tries {failed} again" in " ".join(text.split())
    assert row(text, "Waits", "files")[:2] == ["files", "1"]
