"""One block's estimate as a whole: what it rests on, GPUs, memory, and what never matters."""

import pytest
from factory import (
    CPU_HOST,
    GIB,
    GPU_HOST,
    H100,
    RENTED,
    STEADY,
    assess,
    at,
    attempt,
    block,
    estimated,
    project,
    replace,
    runs,
    session,
    words,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from budget.attempts import Memory
from budget.figures import State


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(len(STEADY))))
def test_the_order_of_the_attempts_in_the_log_never_matters(order):
    items = runs(*STEADY)
    one = estimated(project(), *items).remaining_h
    other = estimated(project(), *(items[index] for index in order)).remaining_h
    assert (one.n, one.k) == (other.n, other.k)
    assert one.value == pytest.approx(other.value)
    assert one.high == pytest.approx(other.high)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(1, 1e6), max_size=4), st.sampled_from(["batch_size", "input_tokens"]))
def test_attempts_of_a_foreign_condition_change_nothing_of_what_is_to_come(durations, field):
    items = runs(*STEADY)
    intended = replace(items[0].intended, **{field: 7})
    foreign = runs(*(("s9", value) for value in durations), prefix="x", intended=intended)
    alone, crowded = estimated(project(), *items), estimated(project(), *items, *foreign)
    assert alone.remaining == crowded.remaining
    assert (alone.serving, alone.peak_bytes) == (crowded.serving, crowded.peak_bytes)


def test_sessions_of_one_boot_within_an_hour_count_as_one():
    near = (session("s1", 1.0, boot="b"), session("s2", 1.0, 1.5, boot="b"))
    far = (session("s1", 1.0, boot="b"), session("s2", 1.0, 2.5, boot="b"))
    items = (attempt("a1"), attempt("a2", session="s2", started_at=at(3)))
    counts = [
        estimated(project(), *items, sessions=held).remaining["run"].k for held in (near, far)
    ]
    assert counts == [1, 2]


def test_used_and_billed_gpus_are_two_figures_on_a_host_of_eight():
    # 10 h: 1 GPU used, 8 billed
    host = replace(GPU_HOST, gpus=(H100,) * 8)
    plan = project(environments=(replace(RENTED, gpu_count=8),))
    found = estimated(plan, attempt(host=host, load_s=0.0, duration_s=3600.0))
    assert (found.gpu_hours_used.value, found.gpu_hours_billed.value) == (10.0, 80.0)


def test_gpu_hours_do_not_apply_without_a_gpu():
    found = estimated(project(block(environment="cpu", gpus=0)), attempt(host=CPU_HOST))
    assert found.gpu_hours_used.state is State.NOT_APPLICABLE
    assert found.gpu_hours_billed.state is State.NOT_APPLICABLE


def test_the_peak_is_the_highest_of_the_attempts_less_the_baseline_of_the_device():
    def with_peaks(name, *peaks):
        memory = tuple(
            Memory(device=str(i), layer="parent", device_peak_bytes=peak, baseline_bytes=GIB)
            for i, peak in enumerate(peaks)
        )
        return attempt(name, memory=memory)

    found = estimated(project(), with_peaks("a1", 30 * GIB, 41 * GIB), with_peaks("a2", 20 * GIB))
    assert (found.peak_bytes.value, found.peak_bytes.n, found.peak_bytes.k) == (40 * GIB, 2, 1)


def test_a_peak_without_a_baseline_says_what_is_in_it():
    memory = (Memory(device="0", layer="parent", device_peak_bytes=30 * GIB),)
    found = estimated(project(), attempt(memory=memory)).peak_bytes
    assert found.value == 30 * GIB
    assert words(found.why) == "no memory was read before the start: what others used is in it"


def test_resident_memory_never_stands_for_the_memory_of_a_gpu():
    memory = (Memory(device="host", layer="parent", resident_peak_bytes=GIB),)
    found = estimated(project(), attempt(memory=memory)).peak_bytes
    assert (found.state, "no device layer" in words(found.why)) == (State.MISSING, True)


def test_a_block_without_runs_or_attempts_has_missing_figures_and_no_zero():
    found = estimated(project(block(planned_runs=None)))
    assert (found.units.value, found.remaining_h.value, found.total_h.value) == (None, None, None)


def test_an_attempt_that_a_person_excluded_is_left_out():
    from budget.project import Assignment

    items = runs(*STEADY)
    plan = project(attempts={items[0].id: Assignment(reason="machine was shared")})
    assert estimated(plan, *items).remaining["run"].n == 4


def test_every_block_is_estimated_in_the_order_of_the_plan():
    found = assess(project(block("b"), block("a", state="dropped"))).estimates
    assert [item.block for item in found] == ["b", "a"]
