"""Kills at random moments lose no complete record and leave every log readable."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from budget import importers
from tests.probe.desk import PATIENCE_S, Desk

KILLS = 50
LONGEST_S = 0.5
# says a number only after the call that it recorded has been written
WRITER = """
import os
from budget.probe import call, phase
number = 0
while True:
    with phase("run"):
        for _ in range(50):
            number += 1
            call(duration_s=1, input_tokens=number, output_tokens=1, batch_size=1)
            os.write(1, b"%d\\n" % number)
"""


def test_fifty_kills_at_random_moments_lose_no_complete_record(desk: Desk) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print("seed", seed)
    chance = random.Random(seed)
    recorded = 0
    for number in range(KILLS):
        logs = desk.folder / f"logs-{number}"
        process = desk.start(
            *("run", "--block", "b", "--out", str(logs), "--", sys.executable, "-c", WRITER),
            start_new_session=True,
            stdout=subprocess.PIPE,
        )
        time.sleep(chance.uniform(0.0, LONGEST_S))
        if chance.random() < 0.5:
            # the probe alone first, then what it measured
            process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        assert b"Traceback" not in stderr, (seed, number)
        complete = stdout.rpartition(b"\n")[0].split(b"\n")
        said = int(complete[-1] or 0)
        recorded += said
        check(logs, said, f"seed {seed}, kill {number}")
    assert recorded > 0


def check(logs: Path, said: int, where: str) -> None:
    """Every line but a last one is a record; every call that was said to be written is there."""
    calls = []
    for path in logs.glob("*.jsonl") if logs.exists() else ():
        *lines, rest = path.read_bytes().split(b"\n")
        for line in lines:
            record = json.loads(line)
            if record["event"] == "call":
                calls.append(record["input_tokens"])
        imported = importers.read(path.name, path.read_bytes())
        assert imported is not None, where
        # a torn last line is the one thing that may be wrong
        assert len(imported.problems) <= (1 if rest else 0), (where, imported.problems)
    assert calls[:said] == list(range(1, said + 1)), where


def test_a_killed_run_counts_up_to_its_last_sign_of_life(desk: Desk) -> None:
    process = desk.start("run", "--block", "b", "--", "sleep", "60", start_new_session=True)
    desk.await_record("heartbeat")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert desk.probe("end").returncode == 0
    (path,) = [path for path in desk.logs.glob("*.jsonl") if path.stem.count("-") == 1]
    imported = importers.read(path.name, path.read_bytes())
    (attempt,) = imported.attempts
    began, beat = desk.only("attempt.start"), desk.records("heartbeat")[-1]
    lived_s = (beat["mono_ns"] - began["mono_ns"]) / 1e9
    assert attempt.outcome is None
    assert attempt.duration_s is not None
    assert attempt.duration_s >= lived_s * 0.999
