"""Moments on both clocks, so that a record can speak of one that has passed."""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime, timezone
from typing import Any, Dict, NamedTuple, Optional

from ..log import utc
from ..session import HELLO_VARIABLE
from .state import state

PRIVATE = "_compute_budget_probe"


class Moment(NamedTuple):
    """Clock of the day and monotonic clock, in ns."""

    wall_ns: int
    mono_ns: int

    def stamp(self) -> Dict[str, Any]:
        """The two keys of a record that was written at this moment."""
        moment = datetime.fromtimestamp(self.wall_ns / 1e9, timezone.utc)
        return {"t": utc(moment), "mono_ns": self.mono_ns}

    def since_s(self, earlier: "Moment") -> float:
        """Seconds since an earlier moment."""
        return round((self.mono_ns - earlier.mono_ns) / 1e9, 6)


def now() -> Moment:
    """This moment."""
    return Moment(time.time_ns(), time.monotonic_ns())


def process_start() -> Moment:
    """When this process started, as the system says; else when the hook ran in it.

    A process that another Python program became by `exec` starts with its hook: what was before is
    in that program's own file.
    """
    if _forked is not None:
        return _forked
    here = now()
    started = getattr(sys.modules.get(PRIVATE), "started", None)
    hooked = Moment(*started) if started else here
    age_ns = _age_ns()
    if age_ns is None or _starts_said() > 1:
        return hooked
    began = Moment(here.wall_ns - age_ns, here.mono_ns - age_ns)
    return min(began, hooked, key=lambda moment: moment.mono_ns)


def _age_ns() -> Optional[int]:
    """Age of this process; Linux counts its start in ticks of the clock since boot."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        ticks = int(fields[19])
        booted_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        # it started within the tick; the end of the tick is not before the start
        age_ns = booted_ns - (ticks + 1) * 1000000000 // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    return max(0, age_ns)


def _after_fork() -> None:
    global _forked
    _forked = now()


_forked: Optional[Moment] = None
state.forked.append(_after_fork)


def _starts_said() -> int:
    """How often a process of this number has said that it started a Python program."""
    try:
        with open(os.environ[HELLO_VARIABLE], "rb") as file:
            return file.read().split(b"\n").count("{} started".format(os.getpid()).encode())
    except (OSError, KeyError):
        return 0
