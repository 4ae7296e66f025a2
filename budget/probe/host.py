"""Facts about the host: what `session.start` states."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from typing import Any, Dict, List, Optional

from . import gpus, nvcc
from .cards import Cards
from .log import PROBE_VERSION, SCHEMA
from .secrets import HIDDEN

# The processor flags on which inference code chooses its kernels.
CPU_FLAGS = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "avx512_vnni",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "bf16",
    "i8mm",
    "sve",
    "sve2",
)

# What a scheduler tells a job about itself; never the names of nodes or users.
SCHEDULER_VARIABLES = (
    ("slurm_job", "SLURM_JOB_ID"),
    ("slurm_partition", "SLURM_JOB_PARTITION"),
    ("slurm_end_time", "SLURM_JOB_END_TIME"),
    ("pbs_job", "PBS_JOBID"),
    ("lsf_job", "LSB_JOBID"),
    ("sge_job", "SGE_TASK_ID"),
)

# What identifies neither a job nor its site.
HARMLESS = ("slurm_end_time",)

BOOT_DIGITS = 16


def session_start(
    layer: str, reserved_since: Optional[str] = None, redact: bool = False
) -> Dict[str, Any]:
    """What `session.start` states, read from the host; asks the driver for the cards.

    With `redact` the ids of cards and jobs are replaced.
    """
    return _start(layer, gpus.read_gpus(), reserved_since, redact, nvcc.version())


def session_start_unasked(layer: str, redact: bool = False) -> Dict[str, Any]:
    """The same from inside a measured program, which may start no other process."""
    cards = Cards([], "not asked by the measured program")
    return _start(layer, cards, None, redact, None)


def _start(
    layer: str,
    cards: Cards,
    reserved_since: Optional[str],
    redact: bool,
    compiler: Optional[str],
) -> Dict[str, Any]:
    return {
        "schema": SCHEMA,
        "probe": PROBE_VERSION,
        "layer": layer,
        "host": host_facts(),
        "gpus": [_without_ids(card) for card in cards.cards] if redact else cards.cards,
        "gpus_read_by": cards.read_by,
        "gpus_why": cards.why,
        "driver": cards.driver,
        "driver_cuda": cards.driver_cuda,
        "nvcc": compiler,
        "scheduler": scheduler(redact),
        "boot": boot(),
        "reserved_since": reserved_since,
        "redacted": redact,
    }


def _without_ids(card: Dict[str, Any]) -> Dict[str, Any]:
    instances = [
        {**instance, "uuid": _hidden(instance["uuid"])} for instance in card["mig_devices"]
    ]
    return {**card, "uuid": _hidden(card["uuid"]), "mig_devices": instances}


def _hidden(identifier: Optional[str]) -> Optional[str]:
    return None if identifier is None else HIDDEN


def host_facts() -> Dict[str, Any]:
    """Operating system, processor and memory; None where the host does not say."""
    return {
        "os": "{}-{}".format(_system(), platform.machine()),
        "os_release": _os_release(),
        "cpu": _cpu(),
        "cpu_flags": _cpu_flags(),
        "cpu_count": os.cpu_count(),
        "ram_bytes": _ram_bytes(),
        "glibc": platform.libc_ver()[1] or None if _system() == "linux" else None,
        "python": platform.python_version(),
    }


def scheduler(redacted: bool = False) -> Optional[Dict[str, str]]:
    """The batch job in which this process runs, or None; `redacted`, only when it ends is told."""
    job = {key: os.environ[name] for key, name in SCHEDULER_VARIABLES if os.environ.get(name)}
    if redacted:
        job = {key: text if key in HARMLESS else HIDDEN for key, text in job.items()}
    return job or None


def boot() -> Optional[str]:
    """A hash that stays the same until the host starts again; None if it cannot be read."""
    stated = _read("/proc/sys/kernel/random/boot_id") or _sysctl("kern.boottime")
    if not stated:
        return None
    return hashlib.sha256(stated.strip().encode()).hexdigest()[:BOOT_DIGITS]


def _system() -> str:
    name = platform.system().lower()
    return "macos" if name == "darwin" else name


def _os_release() -> str:
    if _system() == "macos":
        return "macOS {}".format(platform.mac_ver()[0])
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release"), re.MULTILINE)
    return match.group(1) if match else platform.release()


def _cpu() -> Optional[str]:
    match = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    if match:
        return match.group(1).strip()
    return _sysctl("machdep.cpu.brand_string") or platform.processor() or None


def _cpu_flags() -> List[str]:
    match = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    present = set(match.group(1).split()) if match else set()
    return [flag for flag in CPU_FLAGS if flag in present]


def _ram_bytes() -> Optional[int]:
    stated = _sysctl("hw.memsize")
    if stated and stated.isdigit():
        return int(stated)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _sysctl(name: str) -> Optional[str]:
    if _system() != "macos":
        return None
    try:
        return subprocess.check_output(
            ["sysctl", "-n", name], stderr=subprocess.DEVNULL, encoding="utf-8", timeout=10
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return None
