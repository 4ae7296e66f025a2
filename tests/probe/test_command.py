"""The measured command keeps its exit code, signals, streams and terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from tests.probe.desk import PATIENCE_S, PROBE, Desk, await_that

SLEEP = "import time; open('ready', 'w').close(); time.sleep(30)"
KEEPS_GOING = """
import signal, sys, time
def stop(number, frame):
    print("stopped by", signal.Signals(number).name)
    sys.exit(7)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGUSR1, lambda number, frame: print("checkpoint", flush=True))
open("ready", "w").close()
time.sleep(30)
"""


def end_of(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    return process.communicate(timeout=PATIENCE_S)


def started(desk: Desk, code: str, **options: object) -> subprocess.Popen[bytes]:
    process = desk.start("run", "--block", "b", "--", sys.executable, "-c", code, **options)
    await_that((desk.folder / "ready").exists)
    return process


@pytest.mark.parametrize("code", [0, 1, 3, 200])
def test_the_exit_code_is_kept(desk: Desk, code: int) -> None:
    assert desk.run("sh", "-c", f"exit {code}").returncode == code
    end = desk.only("attempt.end")
    assert end["exit_code"] == code
    assert end["signal"] is None
    assert end["outcome"] == ("failed" if code else "ok")


@pytest.mark.parametrize(
    ("name", "outcome"), [("KILL", "interrupted"), ("TERM", "interrupted"), ("SEGV", "failed")]
)
def test_the_probe_ends_by_the_signal_that_ended_the_command(
    desk: Desk, name: str, outcome: str
) -> None:
    done = desk.run("sh", "-c", f"kill -{name} $$")
    assert done.returncode == -getattr(signal, f"SIG{name}")
    end = desk.only("attempt.end")
    assert (end["exit_code"], end["signal"], end["outcome"]) == (None, f"SIG{name}", outcome)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_probe_ends_the_command_and_the_end_is_written(
    desk: Desk, number: signal.Signals
) -> None:
    # a test run under nohup hands on an ignored hangup, which a command would ignore too
    defaults = partial(signal.signal, number, signal.SIG_DFL)
    process = started(desk, SLEEP, start_new_session=True, preexec_fn=defaults)
    process.send_signal(number)
    end_of(process)
    assert process.returncode == -number
    end = desk.only("attempt.end")
    assert (end["outcome"], end["signal"]) == ("interrupted", number.name)
    assert end["signals_received"] == [number.name]


def test_a_command_that_stops_in_its_own_way_keeps_its_exit_code(desk: Desk) -> None:
    process = started(desk, KEEPS_GOING)
    process.send_signal(signal.SIGTERM)
    stdout, _ = end_of(process)
    assert process.returncode == 7
    assert stdout == b"stopped by SIGTERM\n"
    assert desk.only("attempt.end")["outcome"] == "interrupted"


def test_a_schedulers_warning_signal_reaches_the_command_and_does_not_end_the_probe(
    desk: Desk,
) -> None:
    process = started(desk, KEEPS_GOING)
    process.send_signal(signal.SIGUSR1)
    assert process.stdout is not None
    assert process.stdout.readline() == b"checkpoint\n"
    process.send_signal(signal.SIGTERM)
    end_of(process)
    assert desk.only("attempt.end")["signals_received"] == ["SIGUSR1", "SIGTERM"]


def test_ctrl_c_in_a_terminal_reaches_the_command_once(desk: Desk) -> None:
    code = (
        "import signal, sys, time, os\n"
        "count = []\n"
        "signal.signal(signal.SIGINT, lambda *_: count.append(1))\n"
        "print('terminal', os.isatty(0), os.isatty(1), flush=True)\n"
        "while not count: time.sleep(0.02)\n"
        "time.sleep(0.5)\n"
        "print('interrupts', len(count), flush=True)\n"
        "sys.exit(5)\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(desk.folder)
        command = [*PROBE, "run", "--block", "b", "--", sys.executable, "-c", code]
        os.execve(command[0], command, desk.env)
    seen = read_until(terminal, b"terminal True True")
    os.write(terminal, b"\x03")
    seen += read_until(terminal, b"interrupts")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.WEXITSTATUS(status) == 5
    assert b"interrupts 1" in seen
    assert desk.only("attempt.end")["signals_received"] == ["SIGINT"]


def read_until(terminal: int, text: bytes) -> bytes:
    seen = b""
    deadline = time.monotonic() + PATIENCE_S
    while text not in seen or not seen.endswith(b"\n"):
        assert time.monotonic() < deadline, seen
        with contextlib.suppress(OSError):
            seen += os.read(terminal, 1000)
    return seen


def test_a_program_that_ignores_hang_ups_is_measured_to_its_end(desk: Desk) -> None:
    code = "import os, signal; os.kill(os.getppid(), signal.SIGHUP); print('on')"
    ignore = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    process = desk.start("run", "--block", "b", "--", sys.executable, "-c", code, preexec_fn=ignore)
    stdout, _ = end_of(process)
    assert (process.returncode, stdout) == (0, b"on\n")


def test_output_and_input_pass_unchanged(desk: Desk) -> None:
    payload = os.urandom(2**20)
    done = desk.probe("run", "--block", "b", "--", "cat", input=payload)
    assert done.stdout == payload
    assert done.stderr == b""


def test_stderr_of_the_command_is_its_own(desk: Desk) -> None:
    done = desk.run("sh", "-c", "printf 'a\\r\\377' >&2")
    assert (done.stdout, done.stderr) == (b"", b"a\r\xff")


def test_the_command_inherits_no_held_signal_and_no_descriptor(desk: Desk) -> None:
    show = ["sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd"]
    direct = subprocess.run(show, capture_output=True, check=True).stdout
    assert _seen(desk.run(*show).stdout) == _seen(direct)


def _seen(text: bytes) -> tuple[list[int], list[bytes]]:
    """Masks without signals 32 and 33, which glibc keeps for itself, and open descriptors."""
    blocked, ignored, *descriptors = text.splitlines()
    internal = 1 << 31 | 1 << 32
    return [int(line.split()[1], 16) & ~internal for line in (blocked, ignored)], descriptors


def test_a_command_that_does_not_exist_ends_as_in_a_shell(desk: Desk) -> None:
    done = desk.run("no-such-command")
    assert done.returncode == 127
    assert done.stderr.count(b"\n") == 1
    assert desk.only("attempt.end")["outcome"] == "failed"


def test_a_killed_probe_leaves_complete_lines_and_a_heartbeat(desk: Desk) -> None:
    process = started(desk, SLEEP)
    desk.await_record("heartbeat")
    child = children(process.pid)
    process.kill()
    end_of_killed = process.wait(timeout=PATIENCE_S)
    for pid in child:
        os.kill(pid, signal.SIGKILL)
    assert end_of_killed == -signal.SIGKILL
    assert [record["event"] for record in desk.records()][:3] == [
        "session.start",
        "attempt.start",
        "heartbeat",
    ]
    assert not desk.records("attempt.end")
    assert desk.probe("end").returncode == 0


def children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, check=True
    )
    return [int(word) for word in listed.stdout.split()]


def test_without_a_log_folder_the_command_still_runs(desk: Desk) -> None:
    (desk.folder / "compute-budget-logs").write_text("a file is in the way")
    done = desk.run("sh", "-c", "echo out; exit 6")
    assert (done.returncode, done.stdout) == (6, b"out\n")
    assert done.stderr.startswith(b"compute-budget probe: this run is not measured")
    assert done.stderr.count(b"\n") == 1


def test_on_a_full_disk_the_command_still_runs_to_its_end(desk: Desk) -> None:
    desk.probe("start")
    (started_file,) = desk.logs.glob("*Z-*-*-*.jsonl")
    # a limit on the size of files stands in for the disk: the header fits, the attempt does not
    limit = started_file.stat().st_size + 60
    process = desk.start(
        "run",
        "--block",
        "b",
        "--",
        "sh",
        "-c",
        "echo out; exit 6",
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit)),
    )
    stdout, stderr = end_of(process)
    assert (process.returncode, stdout) == (6, b"out\n")
    assert stderr.count(b"\n") == 1
    assert b"not measured" in stderr


def test_memory_of_the_process_tree_is_sampled(desk: Desk) -> None:
    held = 80 * 2**20
    code = f"held = bytearray({held}); import time; time.sleep(0.7)"
    desk.run("sh", "-c", f"{sys.executable} -c '{code}'; true")
    (host,) = desk.only("attempt.end")["memory"]
    assert host["resident_peak_bytes"] > held
    assert host["samples"] >= 2
    assert (host["device"], host["layer"], host["exact"]) == ("host", "parent", False)
    assert host["tensor_peak_bytes"] is None
    sizes = desk.only("sample")["resident_bytes"]
    assert sizes["min"] <= sizes["mean"] <= sizes["max"]
    assert sizes["max"] > held


def test_a_peak_between_two_samples_is_not_missed(desk: Desk) -> None:
    held = 90 * 2**20
    desk.python(f"bytearray({held})")
    (host,) = desk.only("attempt.end")["memory"]
    assert host["resident_peak_bytes"] > held


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["bogus"],
        ["run", "--block", "b"],
        ["run", "--block", "b", "--"],
        ["run", "--block", " ", "--", "true"],
        ["run", "--repeat", "0", "--", "true"],
        ["run", "--timeout", "inf", "--", "true"],
        ["run", "--expect", "accuracy", "--", "true"],
        ["phase", "cooking", "--", "true"],
        ["phase", "prepare"],
        ["note", "x", "--", "true"],
        ["result", "accuracy", "71.2"],
        ["result", "accuracy"],
        ["run", "--block", "b", "--batch-size", "0", "--", "true"],
        ["run", "--block", "b", "--param", "ratio", "--", "true"],
        ["run", "--block", "b", "--sample-interval", "nan", "--", "true"],
        ["wait", "lunch"],
        ["resume"],
        ["end"],
        ["start", "--reserved-since", "yesterday"],
        ["start", "--reserved-since", "2027-01-11T09:00:00"],
        ["start", "--reserved-since", "2999-01-11T09:00:00Z"],
        ["change", "--kind", "parameter"],
    ],
)
def test_bad_use_gets_one_sentence_and_opens_no_session(desk: Desk, words: list[str]) -> None:
    done = desk.probe(*words)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"compute-budget probe: ")
    assert done.stderr.count(b"\n") == 1
    assert not desk.logs.exists()


def test_a_large_program_that_starts_the_probe_does_not_hide_a_peak(desk: Desk) -> None:
    """A launcher of 200 MiB starts the probe; the command's 90 MiB still count."""
    held = 90 * 2**20
    code = (
        "import subprocess, sys; big = bytearray(200 * 2**20); "
        "subprocess.run([sys.executable, '-m', 'budget.probe', 'run', '--block', 'b', '--out', "
        f"sys.argv[1], '--', sys.executable, '-c', 'bytearray({held})'], check=True)"
    )
    subprocess.run([sys.executable, "-c", code, str(desk.logs)], cwd=desk.folder, env=desk.env,
                   check=True)  # fmt: skip
    (host,) = desk.only("attempt.end")["memory"]
    assert host["resident_peak_bytes"] > held
