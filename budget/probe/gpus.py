"""The graphics cards of the host, as `nvidia-smi` states them."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .secrets import clean

FIELDS: Tuple[str, ...] = (
    "index",
    "name",
    "uuid",
    "memory.total",
    "compute_cap",
    "driver_version",
)
OLD_FIELDS = ("index", "name", "uuid", "memory.total", "driver_version")

# A reader takes these two, and no other reason, to mean that the host has no card.
NONE = "nvidia-smi was not found"
NONE_ON_MACOS = "macOS has no driver for NVIDIA GPUs"

# Any of these shows a card, or a driver that may have one, without nvidia-smi: of NVIDIA, of AMD,
# and of Windows below WSL.
TRACES = (
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/proc/driver/nvidia/version",
    "/dev/kfd",
    "/dev/dxg",
)

# Starting the driver of a host with eight cards and no persistence mode takes many seconds.
TIMEOUT_S = 60.0

MIB = 2**20
# The driver states an unknown size as the largest integer.
UNKNOWN_SIZE = 2**63


class Cards(NamedTuple):
    """`cards` is empty only with a reason in `why`; `driver` is the driver's version."""

    cards: List[Dict[str, Any]]
    why: Optional[str]
    driver: Optional[str]


def read_gpus() -> Cards:
    """Ask `nvidia-smi` once; an absent or failing one is a reason, not an error."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return Cards([], _why_without_tool(), None)
    try:
        done = _ask(program, FIELDS)
        fields = FIELDS
        if done.returncode != 0 and "compute_cap" in done.stdout + done.stderr:
            # drivers before 510 do not know this field and then answer nothing at all
            done = _ask(program, OLD_FIELDS)
            fields = OLD_FIELDS
    except (OSError, subprocess.SubprocessError) as problem:
        return Cards([], "nvidia-smi did not answer ({})".format(type(problem).__name__), None)
    if done.returncode != 0:
        said = (done.stdout.strip() or done.stderr.strip()).split("\n")[0]
        return Cards([], clean("nvidia-smi failed: {}".format(said))[:200], None)
    return parse(done.stdout, fields)


def _why_without_tool() -> str:
    if sys.platform == "darwin":
        return NONE_ON_MACOS
    for trace in TRACES:
        if os.path.exists(trace):
            return "nvidia-smi is missing, but {} shows a GPU".format(trace)
    return NONE


def parse(text: str, fields: Tuple[str, ...] = FIELDS) -> Cards:
    """The cards in a query's answer; what a card does not state is None, never 0."""
    cards: List[Dict[str, Any]] = []
    driver = None
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        if len(row) != len(fields):
            continue
        pairs = ((field, row[place]) for place, field in enumerate(fields))
        values = {field: _stated(value) for field, value in pairs}
        index = values["index"]
        cards.append(
            {
                "index": int(index) if index is not None and index.isdigit() else len(cards),
                "name": values["name"],
                "uuid": values["uuid"],
                "memory_bytes": _memory_bytes(values["memory.total"]),
                "compute_capability": values.get("compute_cap"),
            }
        )
        driver = driver or values["driver_version"]
    if cards:
        return Cards(cards, None, driver)
    said = text.strip().split("\n")[0]
    return Cards([], clean("nvidia-smi names no card: {}".format(said or "nothing"))[:200], driver)


def _ask(program: str, fields: Tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, "--query-gpu=" + ",".join(fields), "--format=csv,noheader"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )


def _stated(value: str) -> Optional[str]:
    value = value.strip()
    if value.startswith("[") or value in ("", "-", "N/A", "Unknown", "Unknown Error"):
        return None
    return value


def _memory_bytes(value: Optional[str]) -> Optional[int]:
    words = (value or "").split()
    if not words or not words[0].isdigit() or (len(words) > 1 and words[1] != "MiB"):
        return None
    size = int(words[0])
    return size * MIB if 0 < size * MIB < UNKNOWN_SIZE else None
