"""Repetitions, retries, time limits, phases from outside, and what an attempt states."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.probe.desk import PATIENCE_S, Desk, await_that

FAILS_TWICE = """
import pathlib, sys
tries = pathlib.Path("tries")
count = len(tries.read_text()) if tries.exists() else 0
tries.write_text("x" * (count + 1))
sys.exit(0 if count >= 2 else 1)
"""
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("ready", "w").close()
time.sleep(60)
"""


def test_a_repetition_is_an_attempt_of_its_own_and_says_which_it_is(desk: Desk) -> None:
    assert desk.probe("run", "--block", "b", "--repeat", "3", "--", "true").returncode == 0
    starts = desk.records("attempt.start")
    assert [start["repeat"] for start in starts] == [{"number": n, "of": 3} for n in (1, 2, 3)]
    assert len({start["attempt"] for start in starts}) == 3
    assert [start["retry_of"] for start in starts] == [None, None, None]


def test_the_first_repetition_that_fails_is_the_last(desk: Desk) -> None:
    done = desk.probe("run", "--repeat", "3", "--", "sh", "-c", "exit 4")
    assert done.returncode == 4
    assert desk.only("attempt.end")["exit_code"] == 4


def test_a_retry_names_what_it_tries_again_and_a_success_ends_it(desk: Desk) -> None:
    """Fails, fails, succeeds: three of the four tries allowed, and the exit code of the last."""
    done = desk.probe("run", "--retries", "3", "--", sys.executable, "-c", FAILS_TWICE)
    assert done.returncode == 0
    starts = desk.records("attempt.start")
    first, second, third = starts
    assert [start["retry_of"] for start in starts] == [None, first["attempt"], second["attempt"]]
    assert [end["outcome"] for end in desk.records("attempt.end")] == ["failed", "failed", "ok"]
    assert third["block"] is None


def test_retries_run_out(desk: Desk) -> None:
    done = desk.probe("run", "--retries", "1", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert len(desk.records("attempt.start")) == 2


def test_what_cannot_be_started_is_not_tried_again(desk: Desk) -> None:
    done = desk.probe("run", "--retries", "3", "--", "no-such-command")
    assert done.returncode == 127
    error = desk.only("error")
    assert (error["kind"], error["layer"]) == ("not-started", "parent")
    assert "no-such-command" in error["message"]


def test_an_interrupted_repetition_is_the_last(desk: Desk) -> None:
    code = "open('ready', 'w').close(); import time; time.sleep(30)"
    process = desk.start(
        *("run", "--repeat", "5", "--retries", "5", "--", sys.executable, "-c", code)
    )
    await_that((desk.folder / "ready").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGTERM
    assert desk.only("attempt.end")["outcome"] == "interrupted"


def test_every_repetition_gets_its_signals(desk: Desk) -> None:
    """The second command must not inherit what the probe held back during the first."""
    show = "grep SigBlk /proc/self/status"
    done = desk.probe("run", "--repeat", "2", "--", "sh", "-c", show)
    first, second = done.stdout.splitlines()
    assert first == second == subprocess.run(["sh", "-c", show], capture_output=True,
                                             check=True).stdout.strip()  # fmt: skip


def test_a_command_whose_time_is_over_is_ended_and_has_failed(desk: Desk) -> None:
    began = time.monotonic()
    done = desk.probe("run", "--block", "b", "--timeout", "0.5", "--", "sleep", "30")
    assert done.returncode == 124
    assert time.monotonic() - began < 15
    end = desk.only("attempt.end")
    assert (end["outcome"], end["timed_out"], end["signal"]) == ("failed", True, "SIGTERM")
    assert 0.5 <= end["duration_s"] < 10
    error = desk.only("error")
    assert (error["kind"], error["cause"]) == ("timed-out", "timed-out")
    assert error["message"] == "the time limit of 0.5 s passed"


def test_the_time_limit_reaches_the_processes_below_a_shell(desk: Desk) -> None:
    child = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    done = desk.probe(
        *("run", "--timeout", "2", "--", "sh", "-c", f'{sys.executable} -c "{child}"; true')
    )
    assert done.returncode == 124
    pid = int((desk.folder / "pid").read_text())
    await_that(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_command_within_its_time_keeps_its_exit_code(desk: Desk) -> None:
    assert desk.probe("run", "--timeout", "30", "--", "sh", "-c", "exit 9").returncode == 9
    assert desk.only("attempt.end")["timed_out"] is False
    assert not desk.records("error")


def test_a_kill_from_outside_is_recorded_as_an_error(desk: Desk) -> None:
    desk.run("sh", "-c", "kill -KILL $$")
    error = desk.only("error")
    assert (error["kind"], error["layer"], error["cause"]) == ("killed", "parent", "killed")
    assert "SIGKILL" in error["message"]


def test_a_signal_that_was_asked_for_is_no_error(desk: Desk) -> None:
    process = desk.start(
        *("run", "--", sys.executable, "-c", "open('ready','w'); import time; time.sleep(30)")
    )
    await_that((desk.folder / "ready").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert not desk.records("error")


def test_a_run_needs_no_block(desk: Desk) -> None:
    assert desk.probe("run", "--", "true").returncode == 0
    assert desk.only("attempt.start")["block"] is None


def test_what_the_paper_states_is_kept_as_given(desk: Desk) -> None:
    desk.probe("run", "--expect", "accuracy=71.2", "--expect", "memory=9.5 GB", "--", "true")
    assert desk.only("attempt.start")["expected"] == {"accuracy": "71.2", "memory": "9.5 GB"}


def test_variables_that_steer_libraries_are_logged_and_secrets_among_them_are_not(
    desk: Desk,
) -> None:
    desk.env.update(
        CUDA_VISIBLE_DEVICES="1", HF_TOKEN="hf_abcdefghijklmnop", PYTORCH_ALLOC_CONF="a:True"
    )
    desk.run("true")
    known = desk.only("attempt.start")["variables"]
    assert known["CUDA_VISIBLE_DEVICES"] == "1"
    assert known["HF_TOKEN"] == "***"
    assert known["PYTORCH_ALLOC_CONF"] == "a:True"
    assert "PATH" not in known


def test_a_phase_within_a_run_is_written_into_its_attempt(desk: Desk) -> None:
    """Two phases of one script, each a command; sleeping 0.4 s is at least 0.4 s of prepare."""
    probe = f"{sys.executable} -m budget.probe"
    script = f"{probe} phase prepare -- sleep 0.4; {probe} phase run -- sh -c 'exit 3'; exit 5"
    assert desk.run("sh", "-c", script).returncode == 5
    attempt = desk.only("attempt.start")["attempt"]
    prepare, run = desk.records("phase.end")
    assert (prepare["phase"], prepare["outcome"], prepare["layer"]) == ("prepare", "ok", "parent")
    assert 0.4 <= prepare["duration_s"] < 5
    assert (run["phase"], run["outcome"]) == ("run", "failed")
    assert {prepare["attempt"], run["attempt"]} == {attempt}
    assert prepare["memory"][0]["layer"] == "parent"


def test_a_phase_within_a_run_keeps_exit_code_and_takes_no_block(desk: Desk) -> None:
    probe = f"{sys.executable} -m budget.probe"
    done = desk.run(
        "sh", "-c", f"{probe} phase run --block x -- true; exec {probe} phase run -- sh -c 'exit 8'"
    )
    assert done.returncode == 8
    assert b"--block belongs to the `run` around this phase" in done.stderr
    assert len(desk.records("phase.end")) == 1


def test_a_phase_alone_is_an_attempt_with_that_one_phase(desk: Desk) -> None:
    assert desk.probe("phase", "prepare", "--block", "b", "--", "true").returncode == 0
    assert desk.only("attempt.start")["block"] == "b"
    assert desk.only("phase.end")["phase"] == "prepare"
    assert desk.only("attempt.end")["outcome"] == "ok"


def test_a_result_goes_to_the_last_run_that_ended(desk: Desk) -> None:
    desk.run("true")
    desk.run("true")
    words = ("result", "accuracy", "71.2", "--unit", "%", "--expected", "71.4")
    assert desk.probe(*words, "--source", "Table 2").returncode == 0
    result = desk.only("result")
    assert result["attempt"] == desk.records("attempt.start")[1]["attempt"]
    assert (result["value"], result["expected"], result["unit"]) == (71.2, 71.4, "%")


@pytest.mark.parametrize(
    ("text", "value"), [("71.2", 71.2), ("3", 3), ("true", True), ("n/a", "n/a"), ("nan", "nan")]
)
def test_a_result_keeps_its_kind(desk: Desk, text: str, value: object) -> None:
    desk.run(*f"{sys.executable} -m budget.probe result x {text}".split())
    result = desk.only("result")
    assert result["value"] == value
    assert isinstance(result["value"], type(value))
    assert result["attempt"] == desk.only("attempt.start")["attempt"]


def test_a_run_without_the_hook_says_so(desk: Desk) -> None:
    desk.probe("run", "--no-hook", "--", sys.executable, "-c", "pass")
    end = desk.only("attempt.end")
    assert (end["hook"], end["hook_why"]) == ("not-loaded", "it was switched off with --no-hook")


def test_the_hook_leaves_nothing_in_the_log_folder(desk: Desk) -> None:
    desk.python("pass")
    assert not list(desk.logs.glob("*.hello"))


def test_tasks_of_one_slurm_step_write_one_attempt(desk: Desk) -> None:
    """Two tasks of step 0, each of two runs: two attempts, each of ranks 0 and 1."""
    desk.probe("start")
    desk.env.update(SLURM_JOB_ID="7", SLURM_STEP_ID="0", SLURM_STEP_NUM_TASKS="2")
    for rank in ("0", "1"):
        desk.env.update(SLURM_PROCID=rank, SLURM_NODEID=rank)
        desk.run("true")
        desk.run("sh", "-c", f"exit {rank}")
    starts = desk.records("attempt.start")
    ids = list(dict.fromkeys(start["attempt"] for start in starts))
    assert len(ids) == 2
    assert sorted((start["attempt"], start["rank"], start["node"]) for start in starts) == sorted(
        (identifier, rank, rank) for identifier in ids for rank in (0, 1)
    )
    for name in list(desk.env):
        if name.startswith("SLURM_"):
            del desk.env[name]
    done = desk.probe("end")
    # rank 1 failed in the second one, so that attempt has failed
    assert b"2 attempts (1 failed, 1 ok)" in done.stdout


def test_probe_output_is_not_lost_in_a_pipe_that_closes(desk: Desk) -> None:
    code = "import os, sys; os.close(2); sys.stdout.write('on'); sys.stdout.flush()"
    done = desk.python(code)
    assert (done.returncode, done.stdout) == (0, b"on")


def test_two_hundred_megabytes_of_output_pass(desk: Desk) -> None:
    size = 200 * 2**20
    code = f"import os; block = b'x' * 2**20\nfor _ in range({size // 2**20}): os.write(1, block)"
    process = desk.start("run", "--block", "b", "--", sys.executable, "-c", code)
    assert process.stdout is not None
    seen = 0
    while True:
        block = process.stdout.read(2**20)
        if not block:
            break
        seen += len(block)
    process.wait(timeout=PATIENCE_S)
    assert seen == size
    assert os.stat(next(desk.logs.glob("*Z-*-*-*.jsonl"))).st_size < 100_000
