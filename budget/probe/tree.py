"""The processes of a command and their resident memory."""

from __future__ import annotations

import os
import sys
import time
from typing import Dict, List, NamedTuple, Optional, Tuple

IS_LINUX = sys.platform.startswith("linux")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

# A host with thousands of processes takes tens of milliseconds to list. Looking for new ones gets
# at most this share of the time; between two looks the known ones are read.
SEARCH_SHARE = 0.005


class Resident(NamedTuple):
    """The processes that lived, and their resident memory summed in bytes; None if none did."""

    pids: List[int]
    resident_bytes: Optional[int]


class Tree:
    """A process and its descendants.

    Memory that processes share is counted once for each of them, so a sum over forked workers
    is an upper bound. A descendant whose parent ended is no longer in the tree.
    """

    def __init__(self, root: int) -> None:
        self.root = root
        self._pids = [root]
        self._search_at = 0.0

    def read(self) -> Resident:
        """The tree now; raises OSError where the system lists no processes."""
        table: Dict[int, Tuple[int, Optional[int]]] = {}
        began = time.monotonic()
        if began >= self._search_at or not IS_LINUX:
            table = _processes()
            self._pids = _descendants(self.root, table)
            took_s = time.monotonic() - began
            self._search_at = began + took_s / SEARCH_SHARE
        living = []
        total = None
        for pid in self._pids:
            size = _resident(pid) if IS_LINUX else table.get(pid, (0, None))[1]
            if size:
                living.append(pid)
                total = (total or 0) + size
        return Resident(living, total)

    def search(self) -> List[int]:
        """All of its processes now, children after their parents."""
        self._search_at = 0.0
        return self.read().pids


def _descendants(root: int, table: Dict[int, Tuple[int, Optional[int]]]) -> List[int]:
    children: Dict[int, List[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting.extend(children.get(pid, ()))
    return found


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
    import subprocess

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
