"""Resident memory of a process and of a tree of processes, in bytes."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

IS_LINUX = sys.platform.startswith("linux")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

# `ru_maxrss` is in KiB on Linux and in bytes on macOS.
MAXRSS_BYTES = 1024 if IS_LINUX else 1


class Resident(NamedTuple):
    """Now, and the highest since the process's program started; None where unknown."""

    now_bytes: Optional[int]
    peak_bytes: Optional[int]


def entry(device: Any, layer: str, exact: bool, **measured: Optional[int]) -> Dict[str, Any]:
    """One element of a `memory` list; what is not given was not measured."""
    keys = (
        "tensor_peak_bytes",
        "allocator_peak_bytes",
        "device_peak_bytes",
        "resident_peak_bytes",
        "baseline_bytes",
    )
    values: Dict[str, Any] = {key: measured.get(key) for key in keys}
    return {"device": device, **values, "exact": exact, "layer": layer}


def own() -> Resident:
    """Resident memory of this process.

    On Linux the peak is VmHWM: `ru_maxrss` may still hold the peak of the program that started
    this one. Elsewhere the current value would need another process and stays None.
    """
    if not IS_LINUX:
        return Resident(None, own_maxrss_bytes())
    with open("/proc/self/status", "rb") as file:
        status = file.read()
    return Resident(_status_bytes(status, b"VmRSS"), _status_bytes(status, b"VmHWM"))


def own_maxrss_bytes() -> int:
    """The highest resident memory that the system counts for this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES


def tree(root: int) -> Optional[int]:
    """Resident memory of a process and its descendants now, summed; None if all have ended.

    Memory that processes share is counted once for each of them, so a sum over forked workers
    is an upper bound. A descendant whose parent ended is no longer in the tree.
    """
    table = _processes()
    children: Dict[int, List[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    total = None
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        waiting.extend(children.get(pid, ()))
        size = _resident(pid) if IS_LINUX else table.get(pid, (0, None))[1]
        if size:
            total = (total or 0) + size
    return total


def _processes() -> Dict[int, Tuple[int, Optional[int]]]:
    """Parent and, where it comes for free, resident bytes of every process by its id."""
    return _from_proc() if IS_LINUX else _from_ps()


def _from_proc() -> Dict[int, Tuple[int, Optional[int]]]:
    table: Dict[int, Tuple[int, Optional[int]]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/{}/stat".format(name), "rb") as file:
                # the program's name stands in parentheses and may hold spaces and parentheses
                table[int(name)] = (int(file.read().rpartition(b")")[2].split()[1]), None)
        except (OSError, IndexError, ValueError):
            continue
    return table


def _from_ps() -> Dict[int, Tuple[int, Optional[int]]]:
    table: Dict[int, Tuple[int, Optional[int]]] = {}
    for line in subprocess.check_output(["ps", "-axo", "pid=,ppid=,rss="]).splitlines():
        pid, parent, kib = (int(word) for word in line.split())
        table[pid] = (parent, kib * 1024)
    return table


def _resident(pid: int) -> Optional[int]:
    try:
        with open("/proc/{}/statm".format(pid), "rb") as file:
            return int(file.read().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return None


def _status_bytes(status: bytes, name: bytes) -> Optional[int]:
    match = re.search(rb"^" + name + rb":\s+(\d+) kB", status, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None
