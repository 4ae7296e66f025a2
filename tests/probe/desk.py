"""Runs the probe as people do: as a process of its own, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROBE = [sys.executable, "-m", "budget.probe"]
PATIENCE_S = 20.0


class Desk:
    """A working folder with its log folder, and the probe's command line."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.logs = folder / "compute-budget-logs"
        ours = ("COMPUTE_BUDGET_", "RANK", "SLURM_", "HF_TOKEN")
        self.env = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        self.env["PYTHONPATH"] = str(ROOT)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start the probe without waiting for it."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*PROBE, *words], cwd=self.folder, env=self.env, **options)

    def probe(
        self, *words: str, patience_s: float = PATIENCE_S, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the probe to its end."""
        return subprocess.run(
            [*PROBE, *words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            timeout=patience_s,
            **options,
        )

    def run(self, *command: str, block: str = "b") -> subprocess.CompletedProcess[bytes]:
        """Measure a command."""
        return self.probe("run", "--block", block, "--", *command)

    def python(self, code: str, block: str = "b") -> subprocess.CompletedProcess[bytes]:
        """Measure a Python program."""
        return self.run(sys.executable, "-c", code, block=block)

    def records(self, event: str | None = None) -> list[dict[str, Any]]:
        """The records of all raw files, ordered as a reader orders them."""
        records = []
        for path in self.logs.glob("*Z-*-*-*.jsonl"):
            text = path.read_bytes()
            lines = text.split(b"\n")
            records += [json.loads(line) for line in lines[:-1]]
        records.sort(key=lambda record: (record["t"], record["mono_ns"]))
        return [record for record in records if event in (None, record["event"])]

    def only(self, event: str) -> dict[str, Any]:
        """The one record of an event."""
        (record,) = self.records(event)
        return record

    def await_record(self, event: str) -> None:
        """Wait until a record of an event is in the log."""
        await_that(lambda: bool(self.logs.exists() and self.records(event)))


def await_that(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
