"""Rank and node, as each launcher says them in the environment."""

from __future__ import annotations

import pytest

from budget.probe.ranks import Place, rank_and_node, shared_attempt

# Two nodes of four processes each: rank 5 is the second process (1) of the second node (1).
TORCHRUN = {
    "RANK": "5",
    "LOCAL_RANK": "1",
    "GROUP_RANK": "1",
    "ROLE_RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "node-a",
}
SRUN = {
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
    "SLURM_NTASKS": "8",
}
# accelerate starts several processes through torchrun's own launcher; one process for itself.
ACCELERATE = {**TORCHRUN, "ACCELERATE_MIXED_PRECISION": "bf16"}
ACCELERATE_ALONE = {"ACCELERATE_MIXED_PRECISION": "bf16", "ACCELERATE_USE_FSDP": "false"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_NODE_RANK": "1",
}
MPICH = {"PMI_RANK": "5", "PMI_SIZE": "8"}
# A batch script runs once on the first node; its step has no number of a step that srun starts.
BATCH = {**SRUN, "SLURM_STEP_ID": "4294967291", "SLURM_PROCID": "0", "SLURM_NODEID": "0"}
BATCH_WITHOUT_STEP = {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_NODEID": "0"}


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        (TORCHRUN, Place(5, 1)),
        (SRUN, Place(5, 1)),
        (ACCELERATE, Place(5, 1)),
        (ACCELERATE_ALONE, Place(None, None)),
        # the node's number is not stated; OMPI_COMM_WORLD_NODE_RANK counts within a node
        (OPEN_MPI, Place(5, None)),
        (MPICH, Place(5, None)),
        (BATCH, Place(None, None)),
        (BATCH_WITHOUT_STEP, Place(None, None)),
        ({}, Place(None, None)),
    ],
)
def test_each_launcher_states_rank_and_node(environ: dict[str, str], place: Place) -> None:
    assert rank_and_node(environ) == place


def test_torchrun_within_a_task_of_srun_has_its_own_ranks() -> None:
    # one task for each node starts torchrun there: rank 6 is the third process of node 1
    environ = {**SRUN, "SLURM_PROCID": "1", **TORCHRUN, "RANK": "6", "LOCAL_RANK": "2"}
    assert rank_and_node(environ) == Place(6, 1)


def test_open_mpi_started_by_srun_has_the_node_of_the_task() -> None:
    assert rank_and_node({**SRUN, **OPEN_MPI, "SLURM_NODEID": "1"}) == Place(5, 1)


def test_rank_0_is_a_rank() -> None:
    assert rank_and_node({**TORCHRUN, "RANK": "0", "GROUP_RANK": "0"}) == Place(0, 0)


@pytest.mark.parametrize("text", ["", " ", "-1", "two", "1.0", "0x1", "\N{SUPERSCRIPT TWO}"])
def test_what_is_no_number_is_no_rank(text: str) -> None:
    assert rank_and_node({"RANK": text, "GROUP_RANK": "1"}) == Place(None, None)
    assert rank_and_node({**TORCHRUN, "GROUP_RANK": text}) == Place(5, None)


def test_a_launcher_with_a_broken_rank_leaves_the_word_to_the_next() -> None:
    assert rank_and_node({**SRUN, "RANK": ""}) == Place(5, 1)


def test_the_tasks_of_one_step_share_an_attempt_and_no_other_does() -> None:
    first = shared_attempt(1, SRUN)
    assert first is not None
    assert len(first) == 12
    other_task = {**SRUN, "SLURM_PROCID": "0", "SLURM_NODEID": "0", "SLURM_LOCALID": "0"}
    assert shared_attempt(1, other_task) == first
    others = (
        shared_attempt(2, SRUN),
        shared_attempt(1, {**SRUN, "SLURM_STEP_ID": "1"}),
        shared_attempt(1, {**SRUN, "SLURM_JOB_ID": "78"}),
    )
    assert len({first, *others}) == 4


@pytest.mark.parametrize(
    "environ", [{}, TORCHRUN, OPEN_MPI, BATCH, {**SRUN, "SLURM_STEP_NUM_TASKS": "1"}]
)
def test_outside_a_step_of_several_tasks_an_attempt_is_its_own(environ: dict[str, str]) -> None:
    assert shared_attempt(1, environ) is None
