"""Resident memory of a process, and how a measured memory is written."""

from __future__ import annotations

import re
import resource
import sys
from typing import Any, Dict, NamedTuple, Optional

IS_LINUX = sys.platform.startswith("linux")

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


def own_cpu_s() -> float:
    """Processor time that this process has taken, in seconds; its children's is not in it."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round(usage.ru_utime + usage.ru_stime, 6)


def _status_bytes(status: bytes, name: bytes) -> Optional[int]:
    match = re.search(rb"^" + name + rb":\s+(\d+) kB", status, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None
