"""The processes on a card, in the bytes that NVML writes for them."""

from __future__ import annotations

import sys
from typing import Dict, Optional, Sequence, Tuple

# From here up a size is not one: the driver states an unknown size as 2^64 - 1.
UNKNOWN_SIZE = 2**63

# The functions that list processes, newest first, with the bytes that an entry may have: the first
# drivers of branch 535 have a field more in the same version.
PROCESS_LISTS: Tuple[Tuple[str, Tuple[int, ...]], ...] = (
    ("nvmlDeviceGetComputeRunningProcesses_v3", (24, 32)),
    ("nvmlDeviceGetComputeRunningProcesses_v2", (24,)),
    ("nvmlDeviceGetComputeRunningProcesses", (16,)),
)
LONGEST_ENTRY_BYTES = 32
PROCESSES = 64
UNTOUCHED = b"\xa5"


def size_bytes(value: int) -> Optional[int]:
    """A size as NVML states it, or None for an unknown one."""
    return value if value < UNKNOWN_SIZE else None


def processes(content: bytes, count: int, strides: Sequence[int]) -> Dict[int, Optional[int]]:
    """Bytes in use by process id, from `count` entries of one of the lengths `strides`."""
    found: Dict[int, Optional[int]] = {}
    stride = _stride(content, count, strides)
    for begin in range(0, count * stride, stride):
        pid = int.from_bytes(content[begin : begin + 4], sys.byteorder)
        size = size_bytes(int.from_bytes(content[begin + 8 : begin + 16], sys.byteorder))
        # a process on several instances of a card is listed once for each
        before = found.get(pid, 0)
        found[pid] = None if size is None or before is None else before + size
    return found


def _stride(content: bytes, count: int, strides: Sequence[int]) -> int:
    """The bytes of an entry: the shorter ones, unless the library wrote just as far as the longer.

    Their version does not tell; taking one for the other scrambles the list.
    """
    short, long = strides[0], strides[-1]
    between = content[short * count : long * count]
    behind = content[long * count : long * count + 8]
    wrote = between.strip(UNTOUCHED) and not behind.strip(UNTOUCHED)
    return long if wrote else short
