"""Environments and blocks proposed from a log: only what it states, and nothing twice."""

from factory import (
    AS_OF,
    COMMIT,
    CPU_HOST,
    GPU_HOST,
    H100_BYTES,
    RENTED,
    attempt,
    block,
    condition,
    log,
    project,
    replace,
    runs,
)

from budget import workflow
from budget.attempts import Code, Measurements
from budget.project import Condition, Project

EMPTY = Project(title="t")


def proposed(plan, *attempts):
    return workflow.propose(plan, Measurements(sessions=log(attempts).sessions, attempts=attempts))


def test_one_block_and_one_machine_come_from_attempts_of_one_condition():
    found = proposed(EMPTY, *runs(("s1", 1.0), ("s1", 2.0), ("s2", 3.0)))
    assert [item.id for item in found.blocks] == ["reference"]
    plan = found.blocks[0]
    assert (plan.status, plan.kind, plan.gpus) == ("chosen", "reference", 1)
    assert plan.condition == condition()
    machine = found.environments[0]
    assert (machine.gpu, machine.gpu_count, machine.gpu_memory_bytes, machine.cuda) == (
        "NVIDIA H100 80GB HBM3", 1, H100_BYTES, "12.6",
    )  # fmt: skip


def test_what_no_log_knows_stays_missing():
    plan = proposed(EMPTY, attempt()).blocks[0]
    assert (plan.planned_runs, plan.sessions, plan.waits_h, plan.protocol_ref) == (
        None, None, {}, None,
    )  # fmt: skip


def test_the_proposed_block_is_served_by_the_attempts_it_came_from():
    items = runs(("s1", 1.0), ("s1", 2.0))
    result = workflow.assess(proposed(EMPTY, *items), [log(items)], AS_OF)
    assert [service.block for service in result.services] == ["reference", "reference"]


def test_each_condition_becomes_a_block_with_a_name_of_its_own():
    wide = replace(attempt("b"), intended=replace(attempt().intended, batch_size=8))
    unlabelled = replace(wide, id="c", block=None, intended=replace(wide.intended, model="x"))
    found = proposed(EMPTY, attempt(), wide, unlabelled)
    assert [item.id for item in found.blocks] == ["reference", "reference-2", "block"]


def test_logs_that_state_too_little_to_match_still_make_one_block():
    items = tuple(
        replace(item, code=Code()) for item in runs(("s1", 1.0), ("s1", 2.0), ("s1", 3.0))
    )
    found = proposed(EMPTY, *items)
    assert [(item.id, item.condition.code) for item in found.blocks] == [("reference", None)]


def test_a_block_that_exists_is_never_changed_and_its_label_proposes_nothing():
    own = block(condition=Condition(model="typed by hand"))
    plan = project(own)
    assert proposed(plan, attempt()) == plan


def test_attempts_that_failed_propose_nothing():
    assert proposed(EMPTY, attempt(outcome="failed")) == EMPTY


def test_a_machine_that_the_plan_has_is_not_proposed_again_even_where_two_are_alike():
    twins = (RENTED, replace(RENTED, id="q-h100"))
    plan = replace(project(environments=twins), blocks=())
    found = proposed(plan, attempt())
    assert found.environments == twins
    assert [item.environment for item in found.blocks] == [None]


def test_a_host_without_a_gpu_is_proposed_as_such():
    machine = proposed(EMPTY, attempt(host=CPU_HOST)).environments[0]
    assert (machine.id, machine.gpu_count, machine.ram_bytes) == (
        "cpu-host", 0, CPU_HOST.ram_bytes,
    )  # fmt: skip


def test_a_host_that_does_not_say_why_it_lists_no_gpu_has_an_unknown_number():
    host = replace(CPU_HOST, gpus_why=None)
    found = proposed(EMPTY, attempt(host=host))
    assert (found.environments[0].gpu_count, found.blocks[0].gpus) == (None, None)


def test_a_dirty_tree_is_proposed_with_its_difference():
    code = Code(commit=COMMIT, dirty=True, diff_hash="abcdef123456789")
    found = proposed(EMPTY, attempt(code=code, host=GPU_HOST))
    assert found.blocks[0].condition.code == f"{COMMIT}+abcdef123456"
