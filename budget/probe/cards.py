"""The cards of the host as `nvidia-smi` names them, once."""

from __future__ import annotations

import contextlib
import re
import subprocess
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .secrets import clean
from .smi import UNSUPPORTED, size_bytes, stated

FIELDS: Tuple[str, ...] = (
    "index",
    "name",
    "uuid",
    "memory.total",
    "compute_cap",
    "driver_version",
    "ecc.mode.current",
    "persistence_mode",
    "mig.mode.current",
)
# A driver that does not know a field answers nothing at all, and names it.
UNKNOWN_FIELD = re.compile(r'Field "([\w.]+)" is not a valid field')

INSTANCE = re.compile(r"\s+MIG\s+(\S+)\s+Device\s+(\d+):\s+\(UUID:\s*([^)\s]+)\)")
CARD = re.compile(r"GPU\s+(\d+):")
CUDA_VERSION = re.compile(r"CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)")

# Starting the driver of a host with eight cards and no persistence mode takes many seconds.
TIMEOUT_S = 60.0


class Cards(NamedTuple):
    """`cards` is empty only with a reason in `why`; `driver` is the driver's version.

    `driver_cuda` is the newest CUDA version that the driver serves, `read_by` what named the
    cards: `nvml` or `nvidia-smi`.
    """

    cards: List[Dict[str, Any]]
    why: Optional[str]
    driver: Optional[str] = None
    read_by: Optional[str] = None
    driver_cuda: Optional[str] = None


def ask_tool(program: str) -> Cards:
    """Ask `nvidia-smi` for the cards; what it fails with is a reason."""
    fields = FIELDS
    try:
        done = _ask(program, "--query-gpu=" + ",".join(fields), "--format=csv,noheader")
        while done.returncode != 0:
            unknown = UNKNOWN_FIELD.search(done.stdout + done.stderr)
            if unknown is None or unknown.group(1) not in fields[1:]:
                break
            fields = tuple(field for field in fields if field != unknown.group(1))
            done = _ask(program, "--query-gpu=" + ",".join(fields), "--format=csv,noheader")
    except (OSError, subprocess.SubprocessError) as problem:
        return Cards([], "nvidia-smi did not answer ({})".format(type(problem).__name__))
    if done.returncode != 0:
        said = (done.stdout.strip() or done.stderr.strip()).split("\n")[0]
        return Cards([], clean("nvidia-smi failed: {}".format(said))[:200])
    named = parse(done.stdout, fields)
    if not named.cards:
        return named
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if any(card["mig"] for card in named.cards):
            instances = parse_instances(_ask(program, "-L").stdout)
            for card in named.cards:
                card["mig_devices"] = instances.get(card["index"], [])
        version = CUDA_VERSION.search(_ask(program, "--version").stdout)
        named = named._replace(driver_cuda=version.group(1) if version else None)
    return named


def parse(text: str, fields: Tuple[str, ...] = FIELDS) -> Cards:
    """The cards in a query's answer; what a card does not state is None, never 0."""
    import csv

    cards: List[Dict[str, Any]] = []
    driver = None
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        if len(row) != len(fields):
            continue
        raw = {field: row[place].strip() for place, field in enumerate(fields)}
        values = {field: stated(value) for field, value in raw.items()}
        index = values["index"]
        cards.append(
            {
                "index": int(index) if index is not None and index.isdigit() else len(cards),
                "name": values["name"],
                "uuid": values["uuid"],
                "memory_bytes": size_bytes(values["memory.total"]) or None,
                "compute_capability": values.get("compute_cap"),
                "unified": _is_unified(raw["memory.total"]),
                "ecc": _is_enabled(values.get("ecc.mode.current")),
                "persistence": _is_enabled(values.get("persistence_mode")),
                "mig": _is_enabled(values.get("mig.mode.current")),
                "mig_devices": [],
            }
        )
        driver = driver or values["driver_version"]
    if cards:
        return Cards(cards, None, driver, "nvidia-smi")
    said = text.strip().split("\n")[0]
    return Cards([], clean("nvidia-smi names no card: {}".format(said or "nothing"))[:200], driver)


def parse_instances(text: str) -> Dict[int, List[Dict[str, Any]]]:
    """The instances by card in the answer of `nvidia-smi -L`, which states no memory."""
    found: Dict[int, List[Dict[str, Any]]] = {}
    card: Optional[int] = None
    for line in text.splitlines():
        head, instance = CARD.match(line), INSTANCE.match(line)
        if head:
            card = int(head.group(1))
        elif instance and card is not None:
            profile, number, uuid = instance.groups()
            found.setdefault(card, []).append(
                {
                    "index": "{}:{}".format(card, number),
                    "uuid": uuid,
                    "profile": profile,
                    "memory_bytes": None,
                }
            )
    return found


def _ask(program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )


def _is_enabled(value: Optional[str]) -> Optional[bool]:
    return {"Enabled": True, "Disabled": False}.get(value or "")


def _is_unified(memory: str) -> Optional[bool]:
    if size_bytes(memory):
        return False
    return True if memory in UNSUPPORTED else None
