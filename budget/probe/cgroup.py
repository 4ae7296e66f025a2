"""Whether the system killed a process of this control group for want of memory."""

from __future__ import annotations

import os
import re
from typing import Optional

ROOT = "/sys/fs/cgroup"


def oom_kills(root: str = ROOT, own: str = "/proc/self/cgroup") -> Optional[int]:
    """How many processes of this group the out-of-memory killer has ended; None if not counted.

    Version 2 counts them as `oom_kill` in `memory.events`, version 1 (since Linux 4.13) in
    `memory.oom_control` (Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst).
    """
    for line in _read(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # a container sees its own group at the root, under whatever name the host gave it
        for below in (path.strip("/"), ""):
            if not controllers:
                text = _read(os.path.join(root, below, "memory.events"))
            elif "memory" in controllers.split(","):
                text = _read(os.path.join(root, "memory", below, "memory.oom_control"))
            else:
                continue
            match = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
            if match:
                return int(match.group(1))
    return None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
