"""Logs written by hand: each record with the keys that every record has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "20261201T000000Z-abcdef"
BOOT = "19cb43bab633b507"


class Writer:
    """One process's records; moments are seconds since the start of the day and of the host."""

    def __init__(self, pid: int = 1, layer: str = "parent", **common: Any):
        self.common = {"session": SESSION, "pid": pid, **common}
        self.records: list[dict[str, Any]] = []
        self.add(
            0.0,
            "session.start",
            schema="compute-budget-log/1",
            probe="0.1.0",
            layer=layer,
            host={},
            gpus=[],
            boot=BOOT,
        )

    def add(self, at_s: float, event: str, step_s: float = 0.0, **fields: Any) -> Writer:
        """Append a record; `step_s` is by how far the clock of day was set before it."""
        day_s = at_s + step_s
        hours, rest = divmod(day_s, 3600)
        moment = f"2026-12-01T{int(hours):02}:{int(rest // 60):02}:{rest % 60:09.6f}Z"
        self.records.append(
            {
                "event": event,
                "t": moment,
                "mono_ns": int(at_s * 1_000_000_000),
                **self.common,
                **fields,
            }
        )
        return self

    def phase(self, start_s: float, end_s: float, name: str, layer: str, **fields: Any) -> Writer:
        """Append a phase."""
        self.add(start_s, "phase.start", phase=name, layer=layer)
        length_s = end_s - start_s
        stated = {"duration_s": length_s, "outcome": "ok", "memory": [], **fields}
        return self.add(end_s, "phase.end", phase=name, layer=layer, **stated)

    def start(self, at_s: float = 0.0, **fields: Any) -> Writer:
        """Append the start of an attempt."""
        stated = {"block": "b", "role": "trial", "argv": ["x"], "variables": {}, **fields}
        return self.add(at_s, "attempt.start", **stated)

    def end(self, at_s: float, **fields: Any) -> Writer:
        """Append the end of an attempt that began at 0."""
        stated = {"outcome": "ok", "exit_code": 0, "duration_s": at_s, "memory": [], **fields}
        return self.add(at_s, "attempt.end", **stated)

    @property
    def lines(self) -> list[str]:
        """The lines of its file."""
        return [json.dumps(record, separators=(",", ":")) for record in self.records]

    def save(self, folder: Path, name: str | None = None) -> str:
        """Write its file and return the path."""
        pid = self.common["pid"]
        path = folder / (name or f"{SESSION}-{pid}-1.jsonl")
        path.write_text("\n".join(self.lines) + "\n")
        return str(path)


def merged(folder: Path, *writers: Writer) -> str:
    """Write the file that `probe end` writes of several processes."""
    ordered = sorted(
        (record["event"] != "session.start", record["t"], record["mono_ns"], line)
        for writer in writers
        for record, line in zip(writer.records, writer.lines, strict=True)
    )
    path = folder / f"{SESSION}.jsonl"
    path.write_text("".join(line + "\n" for _, _, _, line in ordered))
    return str(path)


def memory(
    device: object, layer: str, /, exact: bool = False, **peaks: int | None
) -> dict[str, Any]:
    """One entry of a `memory` list."""
    kinds = ("tensor", "allocator", "device", "resident")
    sizes = {f"{kind}_peak_bytes": peaks.get(kind) for kind in kinds}
    return {"device": device, **sizes, "exact": exact, "layer": layer}
