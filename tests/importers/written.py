"""Logs as the probe writes them, a line at a time, and one good log that tests damage."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from budget import importers
from budget.attempts import ImportedLog
from budget.messages import Message, Problem

START = datetime(2027, 1, 11, 8, tzinfo=UTC)
BOOT_NS = 5_000_000_000_000
GIB = 2**30
HOST = {"os": "linux-x86_64", "cpu": "a CPU", "cpu_count": 16, "ram_bytes": 128 * GIB,
        "python": "3.12.1"}  # fmt: skip
CARD = {"index": 0, "name": "a GPU", "uuid": "GPU-1", "memory_bytes": 80 * GIB,
        "compute_capability": "9.0"}  # fmt: skip
PARENT, CHILD = 10, 11


def at(seconds: float) -> datetime:
    """Return the time of day ``seconds`` after the first record of a test."""
    return START + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    return at(seconds).isoformat(timespec="microseconds").replace("+00:00", "Z")


def line(event: str, second: float, pid: int = PARENT, **more: Any) -> str:
    """Return one record, written ``second`` seconds after the start; ``more`` may replace keys."""
    record = {"event": event, "t": stamp(second), "mono_ns": BOOT_NS + round(second * 1e9),
              "session": "s1", "pid": pid, **more}  # fmt: skip
    return json.dumps(record, ensure_ascii=False)


def opening(second: float, pid: int = PARENT, layer: str = "parent", **more: Any) -> str:
    stated = {"schema": "compute-budget-log/1", "probe": "0.1.0", "layer": layer, "host": HOST,
              "gpus": [CARD], "gpus_why": None, "driver": "550.54.15", "boot": "b1",
              "reserved_since": None}  # fmt: skip
    return line("session.start", second, pid, **{**stated, **more})


def peak(layer: str | None = "api", device: str | int | None = 0, **peaks: Any) -> dict[str, Any]:
    entry = {"device": device, "tensor_peak_bytes": None, "allocator_peak_bytes": None,
             "device_peak_bytes": None, "resident_peak_bytes": None, "baseline_bytes": None,
             "exact": True, "layer": layer, **peaks}  # fmt: skip
    return {key: value for key, value in entry.items() if value is not None or key != "layer"}


def begin(second: float, attempt: str = "a1", pid: int = PARENT, **more: Any) -> str:
    stated = {"block": "reference", "role": "trial", "argv": ["python", "main.py"],
              "code": {"commit": "7d78b34", "dirty": False, "diff_hash": None, "why": None},
              "condition": {"model": "m", "input_tokens": 512, "output_tokens": 32,
                            "batch_size": 1, "parameters": {"ratio": "0.3"}},
              "retry_of": None}  # fmt: skip
    return line("attempt.start", second, pid, attempt=attempt, **{**stated, **more})


def finish(second: float, duration_s: Any, attempt: str = "a1", pid: int = PARENT,
           **more: Any) -> str:  # fmt: skip
    stated = {"outcome": "ok", "exit_code": 0, "signal": None, "memory": []}
    return line("attempt.end", second, pid, attempt=attempt, duration_s=duration_s,
                **{**stated, **more})  # fmt: skip


def inside(event: str, second: float, pid: int = CHILD, attempt: str = "a1", **more: Any) -> str:
    return line(event, second, pid, attempt=attempt, **more)


def moved(text: str, second: float, **more: Any) -> str:
    """Return the record ``text`` as if it had been written at another time."""
    fields = {"t": stamp(second), "mono_ns": BOOT_NS + round(second * 1e9)}
    return json.dumps({**json.loads(text), **fields, **more})


def file(*lines: str) -> bytes:
    return "".join(text + "\n" for text in lines).encode()


def read(*lines: str) -> ImportedLog:
    return importers.read("f.jsonl", file(*lines))


def said(message: Message) -> str:
    """Return a message roughly as people read it."""
    values = {
        key: said(value) if isinstance(value, Message)
        else ", ".join(map(str, value)) if isinstance(value, tuple)
        else value
        for key, value in message.values.items()
    }  # fmt: skip
    return message.text.format(**values)


def told(problem: Problem) -> str:
    return f"{problem.where} {said(problem.what)}"


def whats(log: ImportedLog) -> list[str]:
    return [told(problem) for problem in log.problems]


PARENT_LINES = (
    opening(0.0, reserved_since=stamp(-600)),
    begin(1.0),
    line("heartbeat", 1.1, attempt="a1"),
    line("sample", 9.0, attempt="a1", window_s=8.0, device="host",
         resident_bytes={"min": 1, "mean": 2, "max": 3, "count": 4}),
    finish(21.0, 20.0, memory=[peak("parent", "host", resident_peak_bytes=3 * GIB, samples=20)]),
    line("change", 100.0, kind="code", what="batch loop", **{"from": "1", "to": "2"},
         reason="too slow"),
    line("note", 110.0, text="the fan is loud"),
    line("wait.start", 120.0, reason="decision"),
    line("wait.end", 420.0, reason="decision"),
    line("session.end", 3000.0, released_at=stamp(2940)),
)  # fmt: skip
CHILD_LINES = (
    opening(2.0, CHILD, "api", attempt="a1", gpus=[], gpus_why="not asked"),
    inside("phase.start", 2.0, phase="load", layer="api"),
    inside("phase.end", 7.0, phase="load", layer="api", duration_s=5.0, outcome="ok",
           memory=[peak(tensor_peak_bytes=20 * GIB, allocator_peak_bytes=22 * GIB,
                        device_peak_bytes=24 * GIB)]),
    inside("environment", 7.1, torch="2.9.0", cuda="12.8", arch_list=["sm_90"],
           libraries={"numpy": "2.0.0"}),
    inside("phase.start", 8.0, phase="run", layer="api"),
    inside("call", 12.0, phase="run", duration_s=4.0, input_tokens=512, output_tokens=32,
           batch_size=1, read_by="api"),
    inside("call", 18.0, phase="run", duration_s=6.0, input_tokens=500, output_tokens=32,
           batch_size=1, read_by="api"),
    inside("result", 19.0, name="accuracy", value=71.2, unit="percent", expected=71.0,
           source="Table 2"),
    inside("phase.end", 20.0, phase="run", layer="api", duration_s=12.0, outcome="ok", memory=[]),
)  # fmt: skip
MERGED_LINES = (PARENT_LINES[0], *sorted(
    (*PARENT_LINES[1:], *CHILD_LINES), key=lambda text: json.loads(text)["t"]))  # fmt: skip
