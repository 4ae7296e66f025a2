"""What the probe costs the command it measures, as ratios and differences within one run.

    python tests/benchmarks/probe_overhead.py nothing     a command that does nothing, and memory
    python tests/benchmarks/probe_overhead.py log         bytes of log per hour, with eight cards
    python tests/benchmarks/probe_overhead.py workload    wrapped against bare, a minute each

`workload` takes over twenty minutes: seven times bare, wrapped and bare again, at least a minute
each; the two bare ones show how far the machine itself repeats a time. Wants a quiet machine; it
is no test.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAIRS = 7
ROUNDS = 25
MB = 10**6

WORKLOAD = [
    *(sys.executable, str(ROOT / "sample_logs" / "workload.py"), "--cache", "full"),
    *("--ratio", "1.0", "--seed", "0", "--input-tokens", "512", "--output-tokens", "32"),
    *("--batch-size", "1"),
]
LEAST_S = 60.0

CARDS = """#!/bin/sh
case "$*" in
*loop*) while :; do
    for card in 0 1 2 3 4 5 6 7; do echo "$card, 40$card MiB, 9$card %, 31$card.25 W"; done
    sleep 1
done ;;
*) exit 9 ;;
esac
"""


@contextlib.contextmanager
def desk(*, cards: bool = False) -> Iterator[tuple[Path, dict[str, str]]]:
    """An empty folder and an environment, without the project on the search path."""
    ours = ("COMPUTE_BUDGET_", "PYTHONPATH")
    with tempfile.TemporaryDirectory() as folder:
        env = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        if cards:
            tool = Path(folder) / "bin" / "nvidia-smi"
            tool.parent.mkdir()
            tool.write_text(CARDS)
            tool.chmod(0o755)
            env["PATH"] = f"{tool.parent}:{env['PATH']}"
        yield Path(folder), env


def seconds(command: list[str], folder: Path, env: dict[str, str]) -> float:
    """The wall time of one process."""
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def records(folder: Path, event: str) -> list[dict]:
    """The records of an event, of all files."""
    lines = [line for path in (folder / "logs").glob("*.jsonl") for line in path.open("rb")]
    return [record for record in map(json.loads, lines) if record["event"] == event]


def nothing() -> None:
    """Print what is added to a command that does nothing, and the parent's memory."""
    with desk() as (folder, env):
        archive = folder / "probe.pyz"
        build = [sys.executable, "-m", "budget.probe", "build", "-o", str(archive)]
        subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        installed = {**env, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", "pass"]
        run = ["run", "--out", "logs", "--", *command]
        forms = {
            "one file": ([sys.executable, str(archive), *run], env),
            "installed": ([sys.executable, "-m", "budget.probe", *run], installed),
        }
        added: dict[str, list[float]] = {name: [] for name in forms}
        for number in range(ROUNDS + 1):
            for name, (wrapped, own) in forms.items():
                bare_s = seconds(command, folder, env)
                wrapped_s = seconds(wrapped, folder, own)
                if number:  # the first one opens the session
                    added[name].append(wrapped_s - bare_s)
        for name, times in added.items():
            print(f"{name}: a command that does nothing takes {statistics.median(times) * 1e3:.0f} "
                  f"ms longer ({min(times) * 1e3:.0f} to {max(times) * 1e3:.0f}), "
                  f"median of {ROUNDS}")  # fmt: skip
        for name, (wrapped, own) in forms.items():
            wrapped = [*wrapped[: wrapped.index("--") + 1], "sleep", "3"]
            process = subprocess.Popen(wrapped, cwd=folder, env=own)
            time.sleep(2.5)
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
            process.wait()
            print(f"{name}: the probe itself held at most {peak / MB:.1f} MB")


def log() -> None:
    """Print how large a log grows: a minute and a half of sleeping, on eight cards."""
    with desk(cards=True) as (folder, env):
        env["PYTHONPATH"] = str(ROOT)
        spans = []
        for length in ("31", "91"):
            out = ["--out", f"logs-{length}"]
            command = [sys.executable, "-m", "budget.probe", "run", *out, "--", "sleep", length]
            subprocess.run(command, cwd=folder, env=env, check=True)
            (path,) = (folder / f"logs-{length}").glob("*.jsonl")
            spans.append(path.stat().st_size)
        per_hour = (spans[1] - spans[0]) * 60
        print(f"a minute adds {spans[1] - spans[0]:,} bytes with 8 cards: "
              f"{per_hour / MB:.2f} MB per hour")  # fmt: skip


def workload() -> None:
    """Print the ratio of wrapped to bare beside that of bare to bare, and the probe's own time."""
    with desk() as (folder, env):
        env["PYTHONPATH"] = f"{ROOT / 'sample_logs'}:{ROOT}"
        command = [*WORKLOAD, "--workdir", str(folder), "--items"]
        seconds([*command, "1"], folder, env)
        one = seconds([*command, "4"], folder, env)
        five = seconds([*command, "8"], folder, env)
        items = str(int(4 + 1.15 * LEAST_S / max(0.05, (five - one) / 4)))
        command.append(items)
        wrapped = [sys.executable, "-m", "budget.probe", "run", "--out", "logs", "--", *command]
        ratios, control = [], []
        for number in range(1, PAIRS + 1):
            first = seconds(command, folder, env)
            between = seconds(wrapped, folder, env)
            second = seconds(command, folder, env)
            ratios.append(between / ((first + second) / 2))
            control.append(second / first)
            print(f"{number}: bare {first:.2f} s, wrapped {between:.2f} s, bare {second:.2f} s, "
                  f"wrapped against bare {ratios[-1]:.4f}, bare against bare {control[-1]:.4f}",
                  flush=True)  # fmt: skip
        print(f"median of {PAIRS}: wrapped against bare {statistics.median(ratios):.4f}, "
              f"bare against bare {statistics.median(control):.4f} "
              f"({min(control):.4f} to {max(control):.4f})")  # fmt: skip
        ends = records(folder, "attempt.end")
        shares = [end["probe_cpu_s"] / end["duration_s"] for end in ends]
        print(f"the probe's own processor time: {statistics.median(shares):.2%} of one core "
              f"(hook: {ends[0]['hook']})")  # fmt: skip


if __name__ == "__main__":
    {"nothing": nothing, "log": log, "workload": workload}[sys.argv[1]]()
