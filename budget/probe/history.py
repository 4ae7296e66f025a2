"""What the files of a session hold so far: attempts, and the wait that is open."""

from __future__ import annotations

import glob
import os
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .log import read, utc

# A running probe writes a heartbeat every 5 s; three missed ones mean that it no longer runs.
SILENT_S = 15.0


class Attempt(NamedTuple):
    """One attempt; `outcome` is None while it runs and when its probe was killed."""

    id: str
    block: str
    started: Tuple[str, int]
    outcome: Optional[str]
    running: bool


def raw_files(folder: str, session: str) -> List[str]:
    """Every process's file of a session."""
    return sorted(glob.glob(os.path.join(glob.escape(folder), session + "-*.jsonl")))


def attempts(folder: str, session: str, boot: Optional[str]) -> List[Attempt]:
    """The session's attempts in the order in which they began."""
    found = []
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
            found.append(
                Attempt(record["attempt"], record["block"], order(record), outcome, running)
            )
    return sorted(found, key=lambda attempt: attempt.started)


def retry_of(block: str, past: List[Attempt]) -> Optional[str]:
    """The block's last attempt, if it ended and did not end well."""
    same = [attempt for attempt in past if attempt.block == block]
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
