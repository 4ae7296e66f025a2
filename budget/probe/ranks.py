"""Which process of a distributed run this one is, as its launcher says in the environment."""

from __future__ import annotations

import os
from typing import Mapping, NamedTuple, Optional

# Launchers name the rank over all nodes: torchrun and accelerate, then Open MPI, MPICH and Slurm.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")

# The tasks of one step share these three; nothing else that runs in the job does.
STEP = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS")

ATTEMPT_DIGITS = 12


class Place(NamedTuple):
    """Rank over all nodes and number of the node; None where no launcher says so."""

    rank: Optional[int]
    node: Optional[int]


def rank_and_node(environ: Mapping[str, str] = os.environ) -> Place:
    """This process's place. A batch script runs once, whatever the job's size: it has no rank."""
    rank = None
    for name in RANKS:
        if name == "SLURM_PROCID" and not _is_task(environ):
            continue
        rank = _number(environ.get(name))
        if rank is not None:
            break
    if rank is None:
        return Place(None, None)
    node = _number(environ.get("GROUP_RANK"))
    if node is None and _is_task(environ):
        node = _number(environ.get("SLURM_NODEID"))
    return Place(rank, node)


def shared_attempt(number: int, environ: Mapping[str, str] = os.environ) -> Optional[str]:
    """The id that all tasks of one `srun` step give to the `number`-th attempt of each.

    None outside a step of several tasks: an attempt then is one probe's own.
    """
    if not _is_task(environ) or (_number(environ.get("SLURM_STEP_NUM_TASKS")) or 1) < 2:
        return None
    import hashlib

    text = "/".join(environ.get(name, "") for name in STEP) + "/{}".format(number)
    return hashlib.sha256(text.encode()).hexdigest()[:ATTEMPT_DIGITS]


def _is_task(environ: Mapping[str, str]) -> bool:
    # a step's id is a number; `batch`, `extern` and `interactive` steps have one from 2^32 - 5 up
    step = _number(environ.get("SLURM_STEP_ID"))
    return step is not None and step < 2**32 - 16


def _number(text: Optional[str]) -> Optional[int]:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() else None
