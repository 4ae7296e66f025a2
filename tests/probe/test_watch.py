"""The cards are sampled for the whole reservation, and for no longer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from budget.probe import watch
from tests.probe.desk import PATIENCE_S, Desk, await_that

MIB = 2**20
# 1000 MiB held at 0 %, 90 W, told every 0.1 s
CARD = """#!/bin/sh
case "$*" in
*loop*) while :; do echo '0, 1000 MiB, 0 %, 90.00 W'; sleep 0.1; done ;;
*) echo '0, H100, GPU-1, 81559 MiB, 9.0, 550.54' ;;
esac
"""
BREAKS = CARD.replace("while :; do", "for n in 1 2 3 4 5; do").replace("done ;;", "done; exit 9 ;;")


def with_card(desk: Desk, script: str = CARD) -> None:
    tool = desk.folder / "bin" / "nvidia-smi"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(script)
    tool.chmod(0o755)
    desk.env["PATH"] = f"{tool.parent}:{desk.env['PATH']}"
    desk.env["COMPUTE_BUDGET_PROBE_NVML"] = str(desk.folder / "no-such-library.so")


def pid_of(desk: Desk) -> int:
    return int(json.loads((desk.logs / watch.WATCH).read_text())["pid"])


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_detached_watch_ends_with_its_session_and_leaves_its_windows(desk: Desk) -> None:
    with_card(desk)
    done = desk.probe("watch", "--detach", "--sample-interval", "0.2")
    assert done.returncode == 0, done.stderr
    assert b"until it ends" in done.stdout
    pid = pid_of(desk)
    time.sleep(1.5)
    assert lives(pid)
    assert desk.probe("end").returncode == 0
    await_that(lambda: not lives(pid))
    assert not (desk.logs / watch.WATCH).exists()
    layers = {record["layer"] for record in desk.records("session.start")}
    assert layers == {"parent", "watch"}
    (window,) = desk.records("sample")
    # told is the same every time, so lowest, mean and highest are one value
    used = window["memory_used_bytes"]
    assert {used["min"], used["mean"], used["max"]} == {1000 * MIB}
    assert used["count"] >= 3
    assert window["utilisation_percent"]["max"] == 0
    assert window["power_w"]["mean"] == 90
    assert "attempt" not in window
    assert len(desk.records("heartbeat")) >= 2
    (merged,) = [path for path in desk.logs.glob("*.jsonl") if path.stem.count("-") == 1]
    assert b'"event":"sample"' in merged.read_bytes()


def test_a_second_watch_is_refused_and_the_first_goes_on(desk: Desk) -> None:
    with_card(desk)
    desk.probe("watch", "--detach")
    done = desk.probe("watch", "--detach")
    assert done.returncode == 1
    assert b"watches this session already" in done.stderr
    assert lives(pid_of(desk))
    desk.probe("end")


def test_a_killed_watch_leaves_the_way_free_for_another(desk: Desk) -> None:
    with_card(desk)
    desk.probe("watch", "--detach")
    first = pid_of(desk)
    os.kill(first, signal.SIGKILL)
    await_that(lambda: not lives(first))
    assert desk.probe("watch", "--detach").returncode == 0
    assert pid_of(desk) != first
    assert desk.probe("end").returncode == 0


def test_a_killed_watch_does_not_hold_up_the_end(desk: Desk) -> None:
    with_card(desk)
    desk.probe("watch", "--detach")
    os.kill(pid_of(desk), signal.SIGKILL)
    began = time.monotonic()
    assert desk.probe("end").returncode == 0
    assert time.monotonic() - began < 5


def test_a_watch_in_the_foreground_ends_on_ctrl_c_with_its_last_window(desk: Desk) -> None:
    with_card(desk)
    process = desk.start("watch", "--sample-interval", "0.2", start_new_session=True)
    assert process.stdout is not None
    assert b"Watching" in process.stdout.readline()
    time.sleep(0.8)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 0
    assert len(desk.records("sample")) == 1


def test_a_host_without_a_card_says_why_and_does_not_watch(desk: Desk) -> None:
    desk.env["PATH"] = "/nowhere"
    done = desk.probe("watch", "--detach")
    assert done.returncode == 1
    assert b"nothing to watch: nvidia-smi was not found" in done.stderr
    assert not desk.records("sample")


def test_a_driver_that_fails_ends_the_watch_with_a_note(desk: Desk) -> None:
    with_card(desk, BREAKS)
    process = desk.start("watch", "--sample-interval", "0.2")
    assert process.wait(timeout=PATIENCE_S) == 0
    assert "the watch ended: nvidia-smi failed" in desk.only("note")["text"]
    assert not (desk.logs / watch.WATCH).exists()


def test_an_id_that_went_to_another_process_is_not_the_watch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_card(desk)
    desk.probe("watch", "--detach")
    path = desk.logs / watch.WATCH
    first = pid_of(desk)
    other = subprocess.Popen(["sleep", "30"])
    path.write_text(path.read_text().replace(str(first), str(other.pid)))
    desk.probe("end")
    assert other.poll() is None
    other.kill()
    other.wait()
    # the watch itself sees that its session has ended
    await_that(lambda: not lives(first))
