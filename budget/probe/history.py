"""What the files of a session hold so far: attempts, and the wait that is open."""

from __future__ import annotations

import glob
import os
import time
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from .log import read, utc

# A running probe writes a heartbeat every 5 s; three missed ones mean that it no longer runs.
SILENT_S = 15.0

WORST_FIRST = ("failed", None, "interrupted", "ok")


class Attempt(NamedTuple):
    """One attempt; `outcome` is None while it runs and when its probe was killed."""

    id: str
    block: Optional[str]
    started: Tuple[str, int]
    outcome: Optional[str]
    running: bool


def raw_files(folder: str, session: str) -> List[str]:
    """Every process's file of a session."""
    return sorted(glob.glob(os.path.join(glob.escape(folder), session + "-*.jsonl")))


def attempts(folder: str, session: str, boot: Optional[str]) -> List[Attempt]:
    """The session's attempts in the order in which they began.

    Tasks of one `srun` step write one attempt: it runs while one of them does, and has ended as
    badly as the worst.
    """
    found: Dict[str, Attempt] = {}
    for path in raw_files(folder, session):
        records = read(path, ["session.start", "attempt.start", "attempt.end"])
        ends = {r.get("attempt"): r.get("outcome") for r in records if r["event"] == "attempt.end"}
        boots = [r.get("boot") for r in records if r["event"] == "session.start"]
        for record in records:
            if record["event"] != "attempt.start":
                continue
            outcome = ends.get(record["attempt"])
            same_boot = boot is not None and boot in boots
            running = outcome is None and _lives(path, record["pid"] if same_boot else None)
            one = Attempt(record["attempt"], record["block"], order(record), outcome, running)
            other = found.get(one.id)
            found[one.id] = one if other is None else _together(one, other)
    return sorted(found.values(), key=lambda attempt: attempt.started)


def begun(folder: str, session: str, rank: Optional[int]) -> Set[str]:
    """The ids of the attempts that a rank's probe has begun."""
    return {
        record["attempt"]
        for path in raw_files(folder, session)
        for record in read(path, ["attempt.start"])
        if record.get("rank") == rank
    }


def _together(one: Attempt, other: Attempt) -> Attempt:
    outcomes = {one.outcome, other.outcome}
    worst = next((outcome for outcome in WORST_FIRST if outcome in outcomes), None)
    started = min(one.started, other.started)
    return Attempt(one.id, one.block, started, worst, one.running or other.running)


def retry_of(block: Optional[str], own: str, past: List[Attempt]) -> Optional[str]:
    """The block's last attempt, if it ended and did not end well; `own` is the one that begins."""
    if block is None:
        return None
    same = [attempt for attempt in past if attempt.block == block and attempt.id != own]
    if not same or same[-1].running or same[-1].outcome == "ok":
        return None
    return same[-1].id


def open_wait(folder: str, session: str) -> Optional[str]:
    """The reason of the wait that has begun and not ended."""
    waits: List[Dict[str, Any]] = []
    for path in raw_files(folder, session):
        waits.extend(read(path, ["wait.start", "wait.end"]))
    if not waits:
        return None
    last = max(waits, key=order)
    return str(last["reason"]) if last["event"] == "wait.start" else None


def order(record: Dict[str, Any]) -> Tuple[str, int]:
    """By what records of several processes are ordered."""
    return str(record.get("t", utc())), int(record.get("mono_ns", 0))


def _lives(path: str, pid: Optional[int]) -> bool:
    """Whether the probe that writes a file still runs; of another host only its silence tells."""
    if pid is not None:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
    return time.time() - os.stat(path).st_mtime < SILENT_S
