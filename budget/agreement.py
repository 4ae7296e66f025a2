"""When two stated values of a condition are the same: versions, numbers, memory, machines."""

from __future__ import annotations

import re
from decimal import Decimal

from budget.attempts import Host
from budget.project import Environment

MEMORY_TOLERANCE = 0.02
"""Printed and usable memory of one card differ by up to 2 % between tools (ollama#18201,
vllm#51590), so device memory agrees within this share."""

NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)?(\.[0-9]+|(?<=[0-9])\.)?([eE][+-]?[0-9]{1,3})?")
"""A number as people type it. Digits with a leading zero are a name, not a number."""

SHORTEST_COMMIT = 7
"""Git's default abbreviation; fewer digits name no version."""


def same_code(wanted: str, found: str) -> bool:
    """Compare versions: commits by their common digits, dirty trees by the hash of their diff."""
    wanted_commit, _, wanted_diff = wanted.partition("+")
    commit, _, diff = found.partition("+")
    if min(len(wanted_commit), len(commit)) < SHORTEST_COMMIT:
        return wanted == found
    if min(len(wanted_diff), len(diff)) < SHORTEST_COMMIT:
        return _same_start(wanted_commit, commit) and wanted_diff == diff
    return _same_start(wanted_commit, commit) and _same_start(wanted_diff, diff)


def _same_start(a: str, b: str) -> bool:
    length = min(len(a), len(b))
    return a[:length].lower() == b[:length].lower()


def same_text(wanted: str, found: str) -> bool:
    """Compare as numbers where both are numbers: 0.30 is 0.3."""
    if wanted == found:
        return True
    numbers = [NUMBER.fullmatch(text) and any(map(str.isdigit, text)) for text in (wanted, found)]
    return all(numbers) and Decimal(wanted) == Decimal(found)


def same_release(wanted: str, found: str) -> bool:
    """Compare major.minor: 2.13.0+cpu is 2.13."""

    def release(text: str) -> list[str]:
        return text.partition("+")[0].split(".")[:2]

    return release(wanted) == release(found)


def near(wanted: int, found: int) -> bool:
    """Compare memory within what tools differ for one device."""
    return abs(wanted - found) <= MEMORY_TOLERANCE * max(wanted, found)


def same_machine(environment: Environment, host: Host) -> bool:
    """Return whether a probed host is a machine of this type: GPUs, partition and memory agree."""
    if host.gpu_count is None or environment.gpu_count != host.gpu_count:
        return False
    if not host.gpus:
        mine, theirs = environment.ram_bytes, host.ram_bytes
        return mine == theirs or (mine is not None and theirs is not None and near(mine, theirs))
    return all(
        gpu.name == environment.gpu
        and (gpu.mig_profile or None) == (environment.mig_profile or None)
        and (
            (size := host.size_of(gpu)) is None
            or environment.gpu_memory_bytes is None
            or near(environment.gpu_memory_bytes, size)
        )
        for gpu in host.gpus
    )
