"""Phases, calls, results and errors that a measured program records itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import budget.probe
from budget.probe import memory
from budget.probe.inside import counters
from tests.probe.desk import Desk

PHASES = """
from budget.probe import call, phase, result
with phase("prepare"):
    pass
with phase("load"):
    weights = bytearray(60 * 2**20)
with phase("run"):
    call(duration_s=0.5, input_tokens=3, output_tokens=2, batch_size=1)
result("accuracy", 71.2, unit="%", expected=71.4, source="Table 2")
"""

FAILS = """
from budget.probe import phase
with phase("run"):
    with phase("load"):
        raise MemoryError("tried 2.50 GiB for /srv/data/model.bin, token hf_abcdefghijklm")
"""

RETRIES = """
from budget.probe import phase
with phase("run"):
    for _ in range(3):
        try:
            with phase("load"):
                raise MemoryError("no")
        except MemoryError:
            pass
"""

FORKS = """
import os
from budget.probe import call, phase
with phase("run"):
    call(duration_s=1)
    if os.fork() == 0:
        call(duration_s=2)
        os._exit(0)
    os.wait()
"""

STAND_IN_TORCH = """
import sys, types
torch = types.ModuleType("torch")
torch.__version__ = "2.9.0+cu128"
torch.version = types.SimpleNamespace(cuda="12.8")
torch._C = types.SimpleNamespace(_cuda_getArchFlags=lambda: "sm_80 sm_90")
now = {"tensor": 5, "tensor_peak": 9, "reserved": 10, "reserved_peak": 10}
torch.cuda = types.SimpleNamespace(
    is_initialized=lambda: True,
    device_count=lambda: 2,
    memory_allocated=lambda d: now["tensor"] * (d == 0),
    max_memory_allocated=lambda d: now["tensor_peak"] * (d == 0),
    memory_reserved=lambda d: now["reserved"] * (d == 0),
    max_memory_reserved=lambda d: now["reserved_peak"] * (d == 0),
)
sys.modules["torch"] = torch
from budget.probe import phase
with phase("load"):
    now.update(tensor=20, tensor_peak=30, reserved=40, reserved_peak=40)
with phase("run"):
    now.update(tensor=25)
"""


def test_phases_calls_and_results_are_recorded_with_their_attempt(desk: Desk) -> None:
    desk.python(PHASES)
    attempt = desk.only("attempt.start")["attempt"]
    ends = desk.records("phase.end")
    assert [end["phase"] for end in ends] == ["prepare", "load", "run"]
    assert len(desk.records("phase.start")) == 3
    assert all(end["outcome"] == "ok" and end["attempt"] == attempt for end in ends)
    assert all(0 <= end["duration_s"] < 20 for end in ends)
    call = desk.only("call")
    assert (call["phase"], call["duration_s"], call["read_by"]) == ("run", 0.5, "api")
    assert (call["input_tokens"], call["output_tokens"], call["batch_size"]) == (3, 2, 1)
    result = desk.only("result")
    assert "phase" not in result
    assert (result["name"], result["value"], result["expected"]) == ("accuracy", 71.2, 71.4)


def test_a_phase_in_which_memory_rose_has_an_exact_peak_and_the_next_a_lower_bound(
    desk: Desk,
) -> None:
    desk.python(PHASES)
    _, load, run = (end["memory"][0] for end in desk.records("phase.end"))
    assert load["exact"] is True
    assert load["resident_peak_bytes"] > 60 * 2**20
    assert run["exact"] is False
    assert run["resident_peak_bytes"] > 60 * 2**20
    assert load["tensor_peak_bytes"] is load["device_peak_bytes"] is load["baseline_bytes"] is None


def test_a_failed_phase_has_an_error_without_secrets_and_the_exception_passes(desk: Desk) -> None:
    done = desk.python(FAILS)
    assert done.returncode == 1
    assert b"MemoryError: tried 2.50 GiB for /srv/data/model.bin" in done.stderr
    assert [end["outcome"] for end in desk.records("phase.end")] == ["failed", "failed"]
    error = desk.only("error")
    assert (error["kind"], error["phase"]) == ("MemoryError", "load")
    assert error["message"] == "tried 2.50 GiB for …/model.bin, token ***"
    assert error["signature"] == "MemoryError: tried # GiB for …/model.bin, token ***"


def test_each_failure_of_a_retried_phase_is_recorded(desk: Desk) -> None:
    assert desk.python(RETRIES).returncode == 0
    assert len(desk.records("error")) == 3


@pytest.mark.parametrize(
    ("statement", "errors"),
    [
        ("raise KeyboardInterrupt", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(3)", 1),
    ],
)
def test_a_person_or_a_regular_exit_is_no_error(desk: Desk, statement: str, errors: int) -> None:
    desk.python(f"from budget.probe import phase\nwith phase('run'): {statement}")
    written = [error for error in desk.records("error") if error["layer"] != "parent"]
    assert len(written) == errors
    assert len(desk.records("phase.end")) == 1


def test_a_long_message_is_cut(desk: Desk) -> None:
    desk.python("from budget.probe import phase\nwith phase('run'): raise ValueError('x' * 9000)")
    assert len(desk.only("error")["message"]) == 500


def test_a_forked_child_writes_its_own_file(desk: Desk) -> None:
    assert desk.python(FORKS).returncode == 0
    mother, child = sorted(desk.records("call"), key=lambda call: call["duration_s"])
    assert mother["pid"] != child["pid"]
    assert child["phase"] == "run"
    starts = {start["pid"]: start["layer"] for start in desk.records("session.start")}
    assert starts[child["pid"]] == "api"


def test_the_rank_of_a_distributed_run_is_in_every_record(desk: Desk) -> None:
    desk.env["RANK"] = "3"
    desk.python(PHASES)
    assert {record["rank"] for record in desk.records()} == {3}


def test_the_counters_of_torch_are_read_and_never_reset(desk: Desk) -> None:
    done = desk.python(STAND_IN_TORCH)
    assert done.stderr == b""
    load, run = (end["memory"][1:] for end in desk.records("phase.end"))
    (card,) = load
    assert (card["device"], card["layer"], card["exact"]) == (0, "api", True)
    assert (card["tensor_peak_bytes"], card["allocator_peak_bytes"]) == (30, 40)
    (card,) = run
    assert (card["tensor_peak_bytes"], card["allocator_peak_bytes"]) == (25, 40)
    assert card["exact"] is False
    assert desk.only("environment")["libraries"] == {"torch": "2.9.0+cu128"}
    assert desk.only("environment")["cuda"] == "12.8"
    assert desk.only("environment")["arch_list"] == ["sm_80", "sm_90"]


def test_a_card_is_named_by_the_drivers_index(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.env["CUDA_VISIBLE_DEVICES"] = "4,6"
    desk.python(STAND_IN_TORCH)
    assert desk.records("phase.end")[0]["memory"][1]["device"] == 4
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1f,GPU-2f")
    assert counters.driver_index(1) == 1


def test_values_that_json_cannot_hold_are_written_as_text(desk: Desk) -> None:
    code = "from budget.probe import result\nresult('loss', float('nan'), expected=float('inf'))"
    desk.python(code)
    assert (desk.only("result")["value"], desk.only("result")["expected"]) == ("nan", "inf")


def test_a_program_outside_the_probe_is_left_alone(desk: Desk) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PHASES + "import sys; print('budget.probe.api' in sys.modules)"],
        cwd=desk.folder,
        env=desk.env,
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"False\n", b"")
    assert list(desk.folder.iterdir()) == []


def test_a_misspelt_phase_never_stops_the_program_and_is_not_recorded(desk: Desk) -> None:
    with budget.probe.phase("zzz"):
        pass
    code = """
from budget.probe import phase
with phase("run"):
    for _ in range(3):
        with phase("zzz"):
            pass
print("done")
"""
    done = desk.python(code)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert done.stderr == (
        b"compute-budget probe: phase zzz is not one of prepare, load, run: not recorded\n"
    )
    assert desk.only("phase.end")["phase"] == "run"


def test_a_value_that_cannot_be_written_loses_only_its_own_record(desk: Desk) -> None:
    code = """
from budget.probe import phase, result
class Broken:
    def __str__(self): raise OSError("no text")
endless = []
endless.append(endless)
with phase("run"):
    result("a", endless)
    result("b", Broken())
    result("c", 3)
"""
    done = desk.python(code)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        b"compute-budget probe: a record of the measured program cannot be written and is left"
        b" out (" + kind + b")"
        for kind in (b"RecursionError", b"OSError")
    ]
    assert desk.only("result")["name"] == "c"
    assert desk.only("phase.end")["outcome"] == "ok"


def test_a_log_that_cannot_be_written_does_not_break_the_program(desk: Desk) -> None:
    code = "import shutil, os\nos.chmod('compute-budget-logs', 0o500)\n" + PHASES + "print('done')"
    code = code.replace("import shutil", "import resource, signal").replace(
        "os.chmod('compute-budget-logs', 0o500)",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))",
    )
    done = desk.python(code)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert done.stderr.count(b"\n") == 1
    assert b"own records are lost" in done.stderr
    assert desk.probe("end").returncode == 0


def test_memory_of_this_process_is_known() -> None:
    resident = memory.own()
    assert resident.now_bytes is not None
    assert resident.peak_bytes is not None
    assert 2**20 < resident.now_bytes <= resident.peak_bytes


def test_importing_the_probe_loads_nothing_else_of_it(desk: Desk, tmp_path: Path) -> None:
    code = "import sys, budget.probe; print([m for m in sys.modules if m.startswith('budget.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=desk.env, capture_output=True, check=True
    )
    assert done.stdout == b"['budget.probe']\n"
